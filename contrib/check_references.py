#!/usr/bin/env python3
"""check_references.py: every file that a comment or a page names is there, every link and its #anchor leads somewhere, every
page's number or title behind its name ("XYZ, Waiting") is a section of that page, and every test exists that docs/THREATS.md and
tests/slurm/CLAIMS.md name.
Prints what leads nowhere, a line each; exit code 1 when there is any.

A name is looked for from the root of the repository, from the folder of the file that names it, and as the end of any path,
so that `match.c` and `format/sig.h` are both found."""
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
ENDS = 'c|h|cc|f|f90|py|sh|md|ts|mjs|js|css|html|json|tab|txt|build|svg|png|frag|vert|map'

# Names of files that are not ours, or that a program makes.
NOT_OURS = {
    'mpi.h': 'of the MPI library', 'mpif.h': 'of the MPI library', 'plugstack.conf': 'of Slurm', 'libfoo.so': 'an example',
    'report.html': 'made for a step', 'log.txt': 'made for a step', 'first.html': 'made in the README', 'FILE.html': 'an argument', 'SCHEMA.json': 'an argument', 'PAGE.md': 'an argument', 'FILE.md': 'an argument',
    'PAGE.html': 'an argument', 'ANALYSIS.json': 'an argument', 'testlog.json': "meson's", 'build.ninja': "meson's",
    'compile_commands.json': "meson's", 'index.html': 'made by the viewer', 'viewer.html': 'made by reports/viewer/build.mjs',
    'energy.c': 'an example of a how-to', 'x.c': 'an example of a how-to', 'sec_energy.c': 'an example of a how-to',
    'cmd_energy.c': 'an example of a how-to', 'dot.c': 'an example of a how-to', 'job.sh': 'an example', 'NAME.html': 'an argument', 'STYLE.css': 'an argument', 'DIFF.json': 'an argument',
    'spank.h': "Slurm's", 'slurm_version.h': "Slurm's", 'OUT.c': 'an argument', 'slurm.h': "Slurm's", 'wrappers_openmpi.c': 'made by pmpi/generate.py', 'Node.js': 'a program',
}
COMMENTS = {
    'c': re.compile(r'/\*.*?\*/|//[^\n]*', re.S), 'py': re.compile(r'#[^\n]*|""".*?"""', re.S), 'sh': re.compile(r'(?:^|\s)#[^\n]*', re.M),
}
KIND = {'.c': 'c', '.h': 'c', '.cc': 'c', '.ts': 'c', '.mjs': 'c', '.css': 'c', '.py': 'py', '.sh': 'sh', '.build': 'sh', '.tab': 'sh'}
NAME = re.compile(r'(?<![\w/.<>$*{}%%-])((?:[\w.-]+/)*[\w-]+\.(?:%s))\b(?![\w*(=/-])' % ENDS)
PLACE = (r'(?<![\w/.<>$*{}%%~-])((?:%s)/(?:[\w.-]+/)*[\w-]+/?)(?![\w.*({<$/]|-\w)')
LINK = re.compile(r'\]\(([^)\s]+)\)')
SECTION = re.compile(r'\b([A-Z]\w*)\.md,? (?:§ ?|section )?(\d+)\b')
PROOF = re.compile(r'`((?:unit|integration|slurm|fuzz)/[\w./-]+): ?([^`]*)`')
TITLE = re.compile(r'\b([A-Z]\w*)\.md, ([A-Z][\w -]*?)(?=[.,;:)|"]|$)', re.M)


def tracked():
    # -co: also what is not committed yet
    out = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard'], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    return [p for p in out.splitlines() if os.path.exists(os.path.join(ROOT, p))]


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8', errors='replace') as f:
        return f.read()


def prose(path, text):
    """(position, text) of what people read in a file."""
    kind = KIND.get(os.path.splitext(path)[1])
    if path.endswith('.md'):
        yield 0, text
    elif kind or text.startswith('#!'):
        pattern = COMMENTS[kind or ('py' if 'python' in text.split('\n', 1)[0] else 'sh')]
        for found in pattern.finditer(text):
            yield found.start(), found.group()


def headings(text):
    return [h.strip('# ').strip() for h in re.findall(r'^#+ .*$', re.sub(r'```.*?```', '', text, flags=re.S), re.M)]


def topics(text):
    """What a page can be cited for: its headings, and what it sets in bold."""
    return headings(text) + [b.rstrip('.') for b in re.findall(r'\*\*([^*\n]+)\*\*', text)]


def anchor(heading):
    return re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')


class Repository:
    def __init__(self):
        self.files = tracked()
        self.ends = set()
        for path in self.files:
            parts = path.split('/')
            self.ends.update('/'.join(parts[i:]) for i in range(len(parts)))
        self.made = set(re.findall(r"output: '([\w.]+)'", ' '.join(read(p) for p in self.files if p.endswith('meson.build'))))
        self.pages = {os.path.basename(p)[:-3]: topics(read(p)) for p in self.files if p.endswith('.md')}
        self.folders = {'/'.join(p.split('/')[:i]) for p in self.files for i in range(1, p.count('/') + 1)}
        tops = '|'.join(sorted(p for p in self.folders if '/' not in p and p[0] != '.'))
        self.place = re.compile(PLACE % tops)
        self.wrong = []

    def say(self, path, text, at, what):
        self.wrong.append('%s:%d: %s' % (path, text.count('\n', 0, at) + 1, what))

    def names(self, path, text):
        for start, piece in prose(path, text):
            for found in NAME.finditer(piece):
                name = found.group(1)
                base = os.path.basename(name)
                beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
                if not (name in self.ends or beside in self.files or base in NOT_OURS or base in self.made):
                    self.say(path, text, start + found.start(), '%s is not in the repository' % name)

    def places(self, path, text):
        """Folders, and files without an ending."""
        for start, piece in prose(path, text):
            for found in self.place.finditer(piece):
                name = found.group(1).rstrip('/')
                if not (name in self.files or name in self.folders or name in self.ends):
                    self.say(path, text, start + found.start(), '%s is not in the repository' % name)

    def links(self, path, text):
        if not path.endswith('.md'):
            return
        for found in LINK.finditer(text):
            target, _, section = found.group(1).partition('#')
            if re.match(r'\w+:', target):
                continue
            to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not os.path.exists(os.path.join(ROOT, to)):
                self.say(path, text, found.start(), 'link to %s, which is not there' % target)
            elif section and section not in map(anchor, headings(read(to))):
                self.say(path, text, found.start(), '%s has no heading #%s' % (to, section))

    def sections(self, path, text):
        pieces = [(0, text)] if path.endswith('.json') else prose(path, text)
        for start, piece in pieces:
            for found in SECTION.finditer(piece):
                if not any(h.startswith(found.group(2) + '. ') for h in self.pages.get(found.group(1), [])):
                    self.say(path, text, start + found.start(), '%s.md has no section %s' % found.groups())
            for found in TITLE.finditer(piece):
                if found.group(1) in self.pages and not any(
                        re.sub(r'^\d+\. ', '', h).lower() == found.group(2).lower() for h in self.pages[found.group(1)]):
                    self.say(path, text, start + found.start(), '%s.md has no section "%s"' % found.groups())

    def proofs(self, path, text):
        """The last cell of each row of THREATS.md and of CLAIMS.md names tests, or says that there is none yet."""
        if os.path.basename(path) not in ('THREATS.md', 'CLAIMS.md'):
            return
        for row in re.finditer(r'^\|(?!---| threat \|.*test \|$|.* claim \|$).*\|$', text, re.M):
            cell = row.group().split(' | ')[-1]
            found = list(PROOF.finditer(cell))
            if not found and '**open**' not in cell:
                self.say(path, text, row.start(), 'a row without a test, and not open')
            for proof in found:
                test = 'tests/' + proof.group(1)
                if test not in self.files:
                    self.say(path, text, row.start(), '%s is not in the repository' % test)
                elif not self.has_test(test, proof.group(2)):
                    self.say(path, text, row.start(), '%s has no test "%s"' % (test, proof.group(2)))

    @staticmethod
    def has_test(path, name):
        """A test's name in C; of a script a claim, a part of it, or a case's name; without a name the file is the test."""
        if not name:
            return True
        text = read(path)
        if path.startswith('tests/unit/'):
            return re.search(r'\bTest\(\w+, %s[,)]' % re.escape(name), text) is not None
        return name in re.sub(r'\s+(?:\* )?', ' ', text)

    def check(self):
        for path in self.files:
            if path.startswith('tests/corpus/') or path.endswith('package-lock.json') or not os.path.isfile(os.path.join(ROOT, path)):
                continue
            text = read(path)
            self.names(path, text)
            self.places(path, text)
            self.links(path, text)
            self.sections(path, text)
            self.proofs(path, text)
        return self.wrong


def main():
    wrong = Repository().check()
    print('\n'.join(wrong))
    sys.exit(1 if wrong else 0)


main()
