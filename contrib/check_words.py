#!/usr/bin/env python3
"""check_words.py: every sentence that the product can print stands in docs/sentences.txt, which is read like a book before a release:
from the tables in format/, from the texts of C and from those of the viewer. Says which sentences the catalogue has not, or has
and nobody prints, and which are written as they should not be; exit code 1 when there is any. --update writes the catalogue."""
import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
CATALOGUE = 'docs/sentences.txt'
ROOMS = ('base', 'format', 'spank', 'pmpi', 'collect', 'topology', 'postproc', 'reports', 'fleet', 'cli')

# What no sentence has, and what it has instead.
FORBIDDEN = (
    (r'\bfindings?\b', 'issue'),
    (r'\bmend(ed|s)?\b', 'correct, repair'),
    (r'\b(for ever|forever)\b', 'deadlock'),
    (r'\badded up\b', 'total over ranks'),
    (r'\babove all\b', 'mainly'),
    (r'\bdearest\b', 'most costly'),
    (r'\bpassed over\b', 'ignored, skipped'),
    (r'\bwho runs this (cluster|site)\b', 'administrators'),
    (r'\bholds to\b', 'fits'),
    (r'\b(bigger|biggest)\b', 'larger, largest, main'),
    (r'\bto repair first\b', 'fix first'),
    (r'\bnobody (waited|advanced|was late)\b', 'no rank ...'),
    (r'(?<!there )\bis no (?!longer)[a-z]+', 'is not a ...'),
    (r'\bworth a word\b', 'say how much'),
    (r'\bgo(es)? on\b(?! processors)', 'continue'),
    (r'\bcame? to MPI_Finalize\b', 'reach'),
    (r'\b(without|needs?) a processor all the time\b', 'polling keeps a processor busy'),
    (r'(?<![\d,.])1 (ranks|nodes|messages|calls|steps|jobs|processes)\b', 'fmt_many()'),
)
# Counts that are never 1, or are limits: the rest uses fmt_many(), "plural" or "%s" for the ending.
PLURAL = re.compile(r'(?:%[-0-9.*]*(?:ll?|z)?[sduf]) (?:ranks|nodes|messages|calls|steps|processes|windows|files|events|bytes|barriers|collectives|iterations|jobs|records|rules|states|errors)\b')
PLURAL_TS = re.compile(r'\$\{count\([^{}]*\)\} (?:ranks|nodes|calls|messages|rows|links|processes|threads|iterations|chunks|samples)\b')
NEVER_ONE = re.compile(r'limit|more than|longer than|larger than|not a name: 1 to|too few|no intact|or cut|not one|ranks in a|at most|at least|out of memory|too (many|large)|over the|of %|choose smaller|each:|'
                       r'mean of|about %|and %s more|repeat|compared|in the mean|add up|on a node|do not fit|exchange messages|connect all|'
                       r'have finished|All %|only %u|as many there|In total|for a free core|as one|complete after|speedup|most time first|From totals')

SPARE = re.compile(r'^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|PRAGMA|COMMIT|WITH|FROM|WHERE|GROUP|DROP|JOIN|ORDER|\.text|\.symver |\t\.|total\(|mrs |#version)|'
                   r'sans-serif|gl_Position|INTEGER NOT NULL|^ *(FROM|WHERE|JOIN|GROUP) |\b(je|b\.eq) [01]f')
TAG = re.compile(r'<[^<>]*>')
WORD = re.compile(r'[A-Za-z’\']{2,}')


def sources():
    out = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '--', *ROOMS], cwd=ROOT, capture_output=True, check=True, text=True)
    return [p for p in out.stdout.splitlines() if os.path.exists(os.path.join(ROOT, p))]


C_STRING = r'"(?:[^"\\\n]|\\.)*"'
C_TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|\'(?:[^\'\\\n]|\\.)+\'|' + C_STRING + r'(?:\s*(?:PRI\w+\s*)?' + C_STRING + ')*', re.S)


def of_c(text):
    text = re.sub(r'^\s*#\s*include[^\n]*', '', text, flags=re.M)
    for run in C_TEXT.findall(text):
        if run.startswith('"'):
            yield bytes(''.join(s[1:-1] for s in re.findall(C_STRING, run)), 'utf-8').decode('unicode_escape').encode('latin-1', 'replace').decode('utf-8', 'replace')


TS_TEXT = re.compile(r'/\*.*?\*/|(?<!:)//[^\n]*|\'((?:[^\'\\\n]|\\.)*)\'|`((?:[^`\\]|\\.)*)`|"((?:[^"\\\n]|\\.)*)"', re.S)


def of_ts(text):
    for texts in TS_TEXT.findall(text):
        yield from filter(None, texts)


def of_tab(text):
    for line in re.sub(r'\n\t+', ' ', text).splitlines():
        key, _, value = line.partition(' = ')
        if key in ('phrase', 'title', 'meaning', 'good', 'low', 'formula'):
            yield value


READERS = {'.c': of_c, '.h': of_c, '.ts': of_ts, '.js': of_ts, '.tab': of_tab}


def sentence(text):
    """As a reader sees it, or None for what is none: names, markup, SQL, protocols."""
    text = re.sub(r'[\n\t]+', ' ', text)
    if SPARE.search(text) or '\x00' in text or text.startswith('HTTP/'):
        return None
    shown = re.sub(r' {2,}', ' ', TAG.sub(' ', text)).strip()
    plain = re.sub(r'\$\{[^}]*\}|%[-0-9.*]*(?:ll?|z)?[a-z]', ' ', shown)
    return shown if len(WORD.findall(plain)) >= 3 and ' ' in shown else None


def texts():
    """(file, text) of all that stands in quotes."""
    for path in sources():
        reader = READERS.get(os.path.splitext(path)[1])
        if reader is None or path.endswith('.d.ts') or '/tests/' in path:
            continue
        with open(os.path.join(ROOT, path), encoding='utf-8') as f:
            yield from ((path, text) for text in reader(f.read()))


def sentences():
    """{sentence: the first file that has it}"""
    found = {}
    for path, text in texts():
        shown = sentence(text)
        if shown and not (path.endswith('.ts') and re.fullmatch(r'[-a-z0-9 :.,#()]+', shown) and re.search(r'--|px|wrap|stage|table ', shown)):
            found.setdefault(shown, path)
    return found


def catalogue(found):
    lines, room = [], None
    for text, path in sorted(found.items(), key=lambda x: (ROOMS.index(x[1].split('/')[0]), os.path.dirname(x[1]), x[1], x[0])):
        if path != room:
            lines += ['', path]
            room = path
        lines.append('\t' + text)
    return '\n'.join(['Every sentence that mpitrace can print, by the file that has it. Made by contrib/check_words.py --update; %s stands for what is',
                      'filled in. The rules are in contrib/check_words.py, the words of the field in docs/SEMANTICS.md.', *lines, ''])


def defects(found):
    for text, path in found.items():
        for pattern, instead in FORBIDDEN:
            if re.search(pattern, text, re.I):
                yield '%s: "%s": not "%s"; say: %s' % (path, text, re.search(pattern, text, re.I).group(0), instead)


def plurals():
    """Texts that would say "1 ranks", however short they are."""
    for path, text in sorted(set(texts())):
        text = TAG.sub(' ', text)
        if PLURAL.search(text) and not NEVER_ONE.search(text):
            yield '%s: "%s": may be one: fmt_many()' % (path, text)
        if PLURAL_TS.search(text):
            yield '%s: "%s": may be one: plural()' % (path, text)


def main():
    found = sentences()
    made = catalogue(found)
    path = os.path.join(ROOT, CATALOGUE)
    if sys.argv[1:] == ['--update']:
        with open(path, 'w', encoding='utf-8') as f:
            f.write(made)
    with open(path, encoding='utf-8') as f:
        kept = f.read()
    wrong = list(defects(found)) + list(plurals())
    if kept != made:
        old, new = ({line[1:] for line in text.splitlines() if line.startswith('\t')} for text in (kept, made))
        wrong += ['not in %s: "%s"' % (CATALOGUE, s) for s in sorted(new - old)] + ['nobody prints: "%s"' % s for s in sorted(old - new)]
        wrong.append('%s is not what the sources print: read what changed, then contrib/check_words.py --update' % CATALOGUE)
    print('\n'.join(wrong), end='\n' if wrong else '')
    sys.exit(1 if wrong else 0)


if __name__ == '__main__':
    main()
