#!/usr/bin/env python3
"""manpages.py MPITRACE - each subcommand has a page with what its --help says: the same synopsis, the same sentence, a text for each
option, and no option more. Pages are sound, and name the pages that there are."""
import glob
import os
import re
import shutil
import subprocess
import sys

MPITRACE = sys.argv[1]
MAN = sys.argv[2]
REPO = os.path.join(MAN, '..', '..')
failed = count = 0


def check(claim, holds, said=''):
    global failed, count
    count += 1
    failed += not holds
    print('%s %d - %s' % ('ok' if holds else 'not ok', count, claim))
    for line in str(said).splitlines() if not holds else []:
        print('#', line)


def helped(*words):
    return subprocess.run([MPITRACE, *words, '--help'], capture_output=True, check=True, text=True).stdout


def lines_of(page):
    with open(page) as f:
        return [line.rstrip('\n') for line in f if not line.startswith('.\\"')]


def section(lines, name):
    start = lines.index('.Sh ' + name) + 1
    end = next((i for i in range(start, len(lines)) if lines[i].startswith('.Sh ')), len(lines))
    return lines[start:end]


def flags(words):
    """.Fl Fl json Ar N as --json N; ."""
    text = re.sub(r'\bFl Fl (?=\S)', '--', words)
    text = re.sub(r'\bFl Fl$', '--', text)
    return re.sub(r'\b(Ar|Cm|No) ', '', re.sub(r'\bFl ', '-', text))


def plain(lines):
    """A synopsis as --help writes it, but for blanks."""
    text = ''
    for line in lines:
        text += {'.Oo': '[', '.Oc': ']', '.Nm mpitrace': ''}.get(line, flags(line.lstrip('.')))
    return squeezed(text.replace('\\(ba', '|'))


def squeezed(text):
    return re.sub(r'[\s"]', '', text)


def options_of(page):
    """As in "--threads N"."""
    return {flags(line[4:]).strip() for line in page if line.startswith('.It Fl ')}


def options_in(usage):
    found = re.findall(r'(?<![\w-])(--?[a-z][\w-]*)(?: ("[^"]*"|(?!--|-\w)[^\s\[\]]+))?', usage)
    return {(name + ' ' + argument.strip('"')).strip() for name, argument in found}


def compare(command):
    usage, sentence = helped(command).strip().split('\n\n', 1)
    usage = re.sub(r'\n *mpitrace ', '\n', usage.split('mpitrace ', 1)[1]) # some have two
    path = '%s/mpitrace-%s.1' % (MAN, command)
    if not os.path.exists(path):
        check('%s has a page' % command, False, 'docs/man/mpitrace-%s.1 is missing, and its row in docs/man/meson.build' % command)
        return
    page = lines_of(path)
    said = next(line[4:] for line in page if line.startswith('.Nd '))
    check('%s: the page says what it is for as --help does' % command, said == sentence, (said, sentence))
    check('%s: the same synopsis' % command, plain(section(page, 'SYNOPSIS')) == squeezed(usage), (plain(section(page, 'SYNOPSIS')), usage))
    usage = usage.split(' -- ')[0] if command == 'run' else usage
    check('%s: each option has its text, and no other' % command, options_of(page) == options_in(usage),
          'only in the page: %s, only in --help: %s' % (options_of(page) - options_in(usage), options_in(usage) - options_of(page)))


def keys_of_the_plugin():
    """What the plugin's two lists of keys say."""
    text = ' '.join(lines_of(MAN + '/spank_mpitrace.8'))
    known = set(re.findall(r'\bCm (\w+)', text))
    with open(os.path.join(REPO, 'spank', 'config.h')) as f:
        keys = ' '.join(re.findall(r'"([^"]*)"', f.read().split('#define CONFIG_KEYS', 1)[1].split('\n\n', 1)[0]))
    rows = requests()
    for file, wanted in (('config.h', set(re.findall(r'(?:^|[ ,])([a-z_]+)(?=[=, ]|$)', keys))), ('request.h', set(rows))):
        check('spank_mpitrace(8) has the keys of spank/%s' % file, wanted <= known and wanted, wanted - known)
    with open(os.path.join(REPO, 'docs', 'USER.md')) as f:
        told = re.findall(r'^\| (`[^|]*) \|', f.read(), re.M)
    check('the user\'s guide has a row for each', set(re.findall(r'`(\w+)', ' '.join(told))) >= set(rows), told)
    check('mpitrace run has every one that says how to trace', {key for key in rows if rows[key]} ==
          set(rows) - {'on', 'off', 'report'}, rows)


def requests():
    """The table of what can be asked for: by key, what `mpitrace run` has of it."""
    with open(os.path.join(REPO, 'spank', 'request.h')) as f:
        return dict(re.findall(r'^\tX\((\w+), +"[^"]*", +"([^"]*)"\)', f.read(), re.M))


def sound(page):
    name = os.path.basename(page)
    if shutil.which('mandoc'):
        said = subprocess.run(['mandoc', '-T', 'lint', '-W', 'warning', page], capture_output=True, text=True).stdout
    else:
        said = subprocess.run(['groff', '-mdoc', '-ww', '-z', page], capture_output=True, text=True).stderr
    check('%s is sound' % name, said == '', said)
    named = re.findall(r'^\.Xr ((?:mpi|spank_mpi)\S+) (\d)', open(page).read(), re.M)
    there = {os.path.basename(p) for p in glob.glob(MAN + '/*.[0-9]')} | {'mpitrace.conf.5'}
    check('%s names pages that are there' % name, {'%s.%s' % x for x in named} <= there, named)


def main():
    commands = re.findall(r'^  (\w+) ', helped(), re.M)
    for command in commands:
        compare(command)
    with open(MAN + '/mpitrace.1') as f:
        listed = set(re.findall(r'^\.It Cm (\w+)$', f.read(), re.M))
    check('mpitrace(1) lists every subcommand', listed == set(commands), listed ^ set(commands))
    keys_of_the_plugin()
    with open(MAN + '/meson.build') as f:
        installed = set(re.findall(r"'([\w.-]+\.\d)'", f.read()))
    pages = glob.glob(MAN + '/*.[0-9]')
    check('every page is installed', installed == {os.path.basename(p) for p in pages}, installed ^ {os.path.basename(p) for p in pages})
    if shutil.which('mandoc') or shutil.which('groff'):
        for page in sorted(pages):
            sound(page)
    print('1..%d' % count)
    sys.exit(failed > 0)


main()
