#!/usr/bin/env python3
"""protocol.py - real programs whose messages have a known order: their epochs, a protocol that they obey and one that they
violate; and traces of other tools, read whole, damaged and by nobody's hand."""
import gzip
import json
import os
import random
import struct
import subprocess

import contract
from trace import ENV, FLAVOURS, MPITRACE, PROGRAMS, Place, Tests, shown

STEPS = 50
RANKS = 4
CORPUS = os.path.join(os.path.dirname(os.path.realpath(__file__)), '../corpus/pyrite')
EXAMPLE = '0:E=0:S:1:1; 1:E=0:R:0:1; 1:E=1:R:2:2; 2:E=0:S:1:2;'


def command(*words):
    return subprocess.run([MPITRACE, *words], capture_output=True, text=True, errors='replace', timeout=60, env=ENV)


def epochs(path, *words):
    return json.loads(command('show', path, '--epochs', '--json', *words).stdout)['epochs']


def line_of(text):
    with open(PROGRAMS + '/protocol.c', encoding='utf-8') as f:
        return [n for n, line in enumerate(f, 1) if text in line][0]


def check(place, mpix, rules, level=0):
    path = place.dir + '/rules'
    with open(path, 'w', encoding='utf-8') as f:
        f.write(rules)
    run = command('check', mpix, '--protocol', path, '--level', str(level), '--json')
    return run.returncode, json.loads(run.stdout) if run.stdout else run.stderr


# ---- epochs of real programs ----

def known_epochs(t, place, program, what, count, messages, most, barrier=()):
    who = '%s under %s: ' % (what, place.flavour)
    run = place.traced(RANKS, program, what, str(STEPS), *barrier, name=what + ''.join(barrier))
    t.check(who + 'the program runs', run.returncode == 0, run.stderr.decode())
    path = place.dir + '/out/%s.mpix' % (what + ''.join(barrier))
    x = epochs(path, '--buffers', '1,1000')
    t.equal(who + 'what is printed keeps the contract', contract.errors(dict(shown(path), epochs=x)), [])
    t.equal(who + 'epochs, messages, collectives', (x['count'], x['messages'], x['collectives']), (count + len(barrier), messages, len(barrier)))
    t.equal(who + 'messages of each epoch', {e['messages'] for e in x['list'] if e['collectives'] == 0}, {messages // count})
    t.equal(who + 'ranks of each', {e['ranks'] for e in x['list'] if e['collectives'] == 0}, {most})
    t.check(who + 'no more in flight than there are', all(1 <= e['buffers']['total'] <= e['messages'] for e in x['list'] if e['messages']), x)
    spans = {}
    for e in x['list']:
        for s in e['events']:
            spans.setdefault(s['rank'], []).append((s['first'], s['last']))
    t.check(who + 'events of each rank stand one after the other, from 0', all(
        s[0][0] == 0 and all(b[0] == a[1] + 1 for a, b in zip(s, s[1:])) for s in spans.values()), spans)
    tight, wide = x['super']
    t.equal(who + 'with buffers for all, all are one super epoch', wide['runs'], [[1, x['count']]])
    t.check(who + 'super epochs are all epochs in order', [e for a, b in tight['runs'] for e in range(a, b + 1)] == list(range(1, x['count'] + 1)), tight)
    return path


def same_with_threads(t, place):
    """Not for one thread or another: neither the trace nor its epochs."""
    texts = []
    for n in ('1', '2', '5'):
        out = place.dir + '/threads%s.mpix' % n
        command('analyze', place.dir + '/out/ring.mpic', '-o', out, '--threads', n)
        texts.append(command('show', out, '--epochs', '--json', '--buffers', '3').stdout)
    t.check('epochs under %s: the same for 1, 2 and 5 threads' % place.flavour, texts[0] and len(set(texts)) == 1, texts)


# ---- protocols ----

def obeyed(t, place, ring, star):
    who = 'a protocol that the program obeys, under %s: ' % place.flavour
    for level in range(4):
        code, r = check(place, ring, 'P(i,*) -> P((i+1)%n,*);', level)
        t.equal(who + 'all is green at level %d' % level, (code, r['colours']), (0, {'green': STEPS * RANKS, 'red': 0, 'orange': 0, 'blue': 0}))
    send, receive = line_of('MPI_Isend('), line_of('MPI_Irecv(')
    code, r = check(place, ring, 'P(i,%d) -> P(m,%d) :: forall m: m == (i+1)%%n;' % (send, receive), 3)
    t.equal(who + 'source lines are those of the calls', (code, r['unknown_lines'], {(x['send_line'], x['recv_line']) for x in r['results']}),
            (0, 0, {(send, receive)}))
    t.equal(who + 'each message has its event numbers', sorted((x['src'], x['send_event']) for x in r['results']),
            sorted((rank, 2 * step) for rank in range(RANKS) for step in range(STEPS)))
    code, r = check(place, star, 'P(i,*)->P(0,*)::forall i:i>0; P(0,*)->P(m,*)::forall m:m>0;', 3)
    t.equal(who + 'rules apply where their sender does', [(x['applied'], x['matched']) for x in r['lines']], [(STEPS * 3, STEPS * 3)] * 2)


def unreceived(t, place, program):
    """Half of what rank 0 sends is never received: nobody can tell by which line it would be, and that it conforms is not said."""
    who = 'messages that nobody receives, under %s: ' % place.flavour
    run = place.traced(RANKS, program, 'deaf', str(STEPS), name='deaf')
    t.check(who + 'the program runs', run.returncode == 0, run.stderr.decode())
    mpix = place.dir + '/out/deaf.mpix'
    code, r = check(place, mpix, 'P(0,*)->P(1,*);', 2)
    t.equal(who + 'they are counted, and the exit code says that not all was checked',
            (code, r['messages'], r['unreceived'], r['colours']['green']), (4, STEPS, STEPS, STEPS))
    text = command('check', mpix, '--protocol', place.dir + '/rules', '--level', '2').stdout
    t.check(who + 'so does the text', '%d more messages sent and not received' % STEPS in text and 'The trace conforms' not in text, text)
    t.equal(who + 'what was received and does not conform comes first', check(place, mpix, 'P(0,*)->P(2,*);', 2)[0], 1)


def never_sent(t, place, program):
    """Rank 0 ends in a send that nobody receives."""
    place.traced(RANKS, program, 'stuck', str(STEPS), 'barrier', name='stuck')
    mpix = place.dir + '/out/stuck.mpix'
    code, r = check(place, mpix, 'P(0,*)->P(1,*);', 2)
    t.equal('a send that a rank never came back from, under %s: is counted, and that all conforms is not said' % place.flavour,
            (code, r['messages'], r['unreceived'], shown(mpix)['coverage']['unmatched']['sends_open']), (4, STEPS, 1, 1))


def partly(t, place):
    """One of two nodes is not there: what is in the trace conforms, and that is not all."""
    subprocess.run([os.environ['GENERATE'], '--pattern', 'halo', '--ranks', '16', '--nodes', '2', '--events-per-rank', '50', '-o', place.dir + '/two'],
                   check=True, stdout=subprocess.DEVNULL)
    rules = place.dir + '/rules'
    with open(rules, 'w', encoding='utf-8') as f:
        f.write('P(*,*) -> P(j,*) :: forall j: j >= 0;')
    said = []
    for name, files in (('whole', ['n00000.mpic', 'n00001.mpic']), ('part', ['n00000.mpic'])):
        mpix = '%s/%s.mpix' % (place.dir, name)
        command('analyze', *('%s/two/%s' % (place.dir, x) for x in files), '-o', mpix)
        run = command('check', mpix, '--protocol', rules)
        said.append((run.returncode, 'The trace conforms.' in run.stdout, '8 of 16 ranks not in the record' in run.stdout))
    t.equal('a trace that lacks ranks conforms as far as it goes', said, [(0, True, False), (4, False, True)])


def many_members(t, place):
    """A communicator is listed whole, or not at all: who reads it takes the list for all members."""
    subprocess.run([os.environ['GENERATE'], '--pattern', 'halo', '--ranks', '1600', '--nodes', '2', '--events-per-rank', '20', '-o', place.dir + '/many'],
                   check=True, stdout=subprocess.DEVNULL)
    mpix = place.dir + '/many.mpix'
    command('analyze', place.dir + '/many', '-o', mpix)
    a = json.loads(command('show', mpix, '--json').stdout)
    collectives = sum(o['calls'] for o in a['operations'] if o['op'] == 'MPI_Allreduce') // 1600
    t.equal('1,600 members are in the list, and make one collective', ([len(c['ranks']) - c['size'] for c in a['communicators']],
            json.loads(command('show', mpix, '--epochs', '--json').stdout)['epochs']['collectives']), ([0] * len(a['communicators']), collectives))


def violated(t, place, ring, star):
    who = 'a protocol that the program violates, under %s: ' % place.flavour
    code, r = check(place, ring, '# no ring\nP(i,*) -> P(i+1,*);')
    t.equal(who + 'the last rank sends to the first', (code, r['colours']['red'], r['colours']['green']), (1, STEPS, STEPS * (RANKS - 1)))
    t.equal(who + 'violations come first and name their line', {(x['src'], x['dst'], x['colour'], x['lines'][0]['line'], x['lines'][0]['verdict'])
                                                                for x in r['results'][:STEPS]}, {(3, 0, 'red', 2, 'violation')})
    code, r = check(place, star, 'P(2,*)->P(0,*);', 2)
    t.equal(who + 'what no rule is about is orange at level 2', (code, r['colours']['orange'], r['colours']['green']), (1, 5 * STEPS, STEPS))
    code, r = check(place, star, 'P(2,*)->P(0,*);', 1)
    t.equal(who + 'and blue at level 1', (code, r['colours']['blue'], r['colours']['green']), (0, 5 * STEPS, STEPS))
    code, r = check(place, ring, 'P(i,%d)->P(,);' % line_of('MPI_Send('), 2)
    t.equal(who + 'another source line is another call', (code, r['colours']['orange']), (1, STEPS * RANKS))
    for what, rules, reason in (('no rule allows', 'P(2,*)→P(0,*);', 'no rule allows it'), ('two rules allow', 'P(i,*)->P(m,*); P(*,*)->P(*,*);', '2 rules allow it, not one'),
                                ('a rule forbids', 'P(i,*)->P(i+5,*);', 'violates line 1')):
        check(place, star, rules, 3)
        text = command('check', star, '--protocol', place.dir + '/rules', '--level', '3').stdout.split('Messages that do not conform')[1]
        t.check(who + 'the text says of a message that %s why it is orange' % what, reason in text.split('\n')[1], text)


def mistakes(t, place, mpix):
    for what, rules, where in (('a missing comma', 'P(0,*)->P(1,*);\nP(i *)->P(1,*);', 'rules:2:6: '), ('an unknown name', 'P(0,*)->P(k+1,*);', 'rules:1:11: '),
                               ('a division by zero', 'P(i,*)->P(m,*)::forall i: 4/(i-1) > 9;', 'rules:1:28: ')):
        code, text = check(place, mpix, rules)
        t.check('%s is shown with its place' % what, code == 2 and where in text and text.rstrip().endswith('^'), (code, text))
    for words in (['check', mpix], ['check', mpix, '--protocol', '/nonexistent'], ['check', mpix, '--protocol', __file__, '--level', '4'],
                  ['show', mpix, '--buffers', '1'], ['show', mpix, '--epochs', '--buffers', '1,x'], ['import', mpix, '-o', 'x'], ['import', '--from', 'mprov', mpix]):
        run = command(*words)
        t.check('mpitrace %s: wrong use' % ' '.join(words[:1] + words[2:]), run.returncode == 2 and run.stderr and not run.stdout, run.stderr)


# ---- imports ----

def import_text(place, text, name='import'):
    path, out = place.dir + '/%s.txt' % name, place.dir + '/%s.mpix' % name
    with open(path, 'wb') as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    if os.path.exists(out):
        os.unlink(out)
    return command('import', '--from', 'mprov', path, '-o', out), out


def mprov(t, place):
    run, out = import_text(place, EXAMPLE)
    t.check('MPROV: the example is read', run.returncode == 0, run.stderr)
    a, x = shown(out), epochs(out)
    t.equal('MPROV: it has two epochs', (x['count'], [e['events'] for e in x['list']]),
            (2, [[{'rank': 0, 'first': 0, 'last': 0}, {'rank': 1, 'first': 0, 'last': 0}], [{'rank': 1, 'first': 1, 'last': 1}, {'rank': 2, 'first': 0, 'last': 0}]]))
    t.equal('MPROV: what it does not record is not known', (a['job']['elapsed_s'], a['summary']['bytes'], a['operations'][0]['time_s'],
                                                            a['per_rank'][0]['useful_s'], a['job']['imported']), (None, None, None, None, 'mprov'))
    code, r = check(place, out, 'P(0,1)->P(1,1); P(2,2)->P(1,2);', 3)
    t.equal('MPROV: its source lines are known to rules', (code, r['colours']['green']), (0, 2))
    run, out = import_text(place, '0:E=1:R:1:3;\n0:E=0:S:1:4; 1:E=1:R:0:5; 1:E=0:S:0:6;')
    t.equal('MPROV: entries in any order; what crosses is one epoch', (run.returncode, epochs(out)['count']), (0, 1))
    run, out = import_text(place, '0:E=0:S:1:1;')
    coverage = shown(out)['coverage']
    t.equal('MPROV: a send that nobody receives is counted', (run.returncode, coverage['unmatched']['sends']), (0, 1))
    t.equal('MPROV: what else is missing is not known', {coverage[k] for k in ('events_lost', 'calls_before_init')} |
            {v for k, v in coverage['unmatched'].items() if k not in ('sends', 'receives')}, {None})
    report = command('report', out, '-o', place.dir + '/mprov.html')
    t.check('MPROV: there is a report', report.returncode == 0 and os.path.getsize(place.dir + '/mprov.html') > 1000, report.stderr)
    text = command('show', out).stdout
    t.check('MPROV: the summary does not make up times', 'not known' in text and 'nothing to fix' not in text, text)


def bad_mprov(t, place):
    for what, text, says in (('a letter', '0:E=0:S:1:1;\n0:E=x', ':2: '), ('no end', '0:E=0:S:1:1', 'ends'), ('no entry', ' \n', 'no entry'),
                             ('a kind that is none', '0:E=0:T:1:1;', "'T'"), ('a number that is too large', '0:E=0:S:99999999999999999999:1;', 'limit'),
                             ('an event twice', '0:E=0:S:1:1;\n0:E=0:S:1:1;', ':2: event 0 of process 0 is there twice'),
                             ('a gap', '0:E=0:S:1:1; 0:E=2:S:1:1;', 'no event 1'), ('a zero byte', '0:E=0:S\0', 'byte 0x00'),
                             ('a process far from all others', '0:E=0:S:1048575:1;', 'process 1048575 in a file of 1 event'),
                             ('receives before all sends', '0:E=0:R:1:1; 0:E=1:S:1:2; 1:E=0:R:0:1; 1:E=1:S:0:2;', 'no order')):
        run, out = import_text(place, text)
        t.check('MPROV with %s: one line says what and where' % what, run.returncode == 3 and says in run.stderr and run.stderr.count('\n') == 1
                and not os.path.exists(out), run.stderr)


def pyrite(t, place):
    for name, ranks, messages, count in (('late_blocking', 2, 50, 100), ('coll4', 4, 200, 350)):
        out = place.dir + '/%s.mpix' % name
        run = command('import', '--from', 'pyrite', '%s/%s.mpic' % (CORPUS, name), '-o', out)
        t.check('Pyrite %s: it is read' % name, run.returncode == 0, run.stderr)
        a, x = shown(out), epochs(out)
        t.equal('Pyrite %s: ranks, messages, all matched' % name, (a['job']['ranks'], a['summary']['transfers'], a['coverage']['unmatched']['sends'],
                                                                 a['coverage']['unmatched']['receives']), (ranks, messages, 0, 0))
        t.equal('Pyrite %s: epochs are messages, rings and collectives' % name, x['count'], count)
        t.check('Pyrite %s: durations are not known, and that is said' % name, all(o['time_s'] is None for o in a['operations']) and
                'not known' in ' '.join(a['coverage']['reasons']) and a['efficiency']['parallel'] is None, a['coverage'])


def with_handles(data, handle):
    """A file of Pyrite, version 2, whose small messages have the handle that handle(rank, tag, kind) says."""
    data, ranks = bytearray(data), struct.unpack_from('<i', data, 12)[0]
    at = 1104 + ranks * (1040 + 24)
    while at < len(data):
        rank, n = struct.unpack_from('<i24xi', data, at)
        at += 32
        for i in range(n):
            kind, tag = struct.unpack_from('<i4xi', data, at + 40 * i + 12)
            if 13 <= kind <= 22:
                struct.pack_into('<i', data, at + 40 * i + 16, handle(rank, tag, kind))
        at += 40 * n
        at += 28 + 64 * struct.unpack_from('<i', data, at + 24)[0]
    return data


def pyrite_handles(t, place):
    """What was sent with one handle and received with another is one communicator, if nothing else can be."""
    with gzip.open(CORPUS + '/halo8x200.mpic.gz') as f:
        good = f.read()
    def one(rank, tag): # of two communicators of all ranks, each rank's first is the other's second
        return 5 + ((tag in (1, 2)) ^ (rank % 2))

    cases = (('as they are', lambda r, tag, kind: 3, (0, 0, [8]), None),
             ('in another order on odd ranks', lambda r, tag, kind: one(r, tag), (0, 0, [8, 8, 8]),
              '16 handles matched by messages with the same tags, 0 handles left apart'),
             ('that are each rank\'s own', lambda r, tag, kind: 100 * (tag in (1, 2)) + 10 + r, (0, 0, [8, 8, 8]), '16 handles matched'),
             ('of which a rank has two for one', lambda r, tag, kind: 9 if (r, tag, kind) == (0, 3, 22) else one(r, tag), (3200, 3200, [1] * 9 + [8, 8]),
              '8 handles matched by messages with the same tags, 9 handles left apart'))
    for what, handle, truth, said in cases:
        path, out = place.dir + '/handles.mpic', place.dir + '/handles.mpix'
        with open(path, 'wb') as f:
            f.write(with_handles(good, handle))
        run = command('import', '--from', 'pyrite', path, '-o', out)
        a = shown(out)
        un, reasons = a['coverage']['unmatched'], ' '.join(a['coverage']['reasons'])
        t.equal('Pyrite, handles %s: messages and members' % what, (un['sends'], un['receives'], sorted(c['size'] for c in a['communicators'])), truth)
        t.check('Pyrite, handles %s: how sure that is, is said' % what, said in reasons if said else truth[0] or 'The same handle' not in reasons, reasons)


def survived(run):
    return run.returncode == 0 or (run.returncode == 3 and run.stderr.count('\n') == 1)


def damaged(t, place):
    chance = random.Random(4711)
    with open(CORPUS + '/late_blocking.mpic', 'rb') as f:
        good = f.read()
    path, out, wrong = place.dir + '/damaged.mpic', place.dir + '/damaged.mpix', []
    for i in range(120):
        data = bytearray(good)
        for _ in range(1 + i % 4):
            at = chance.choice((chance.randrange(20), 1104 + chance.randrange(2200), chance.randrange(len(data)))) # headers more often
            data[at] = chance.choice((0, 1, 0x7f, 0x80, 0xff, chance.randrange(256)))
        with open(path, 'wb') as f:
            f.write(data[:chance.randrange(len(data))] if i % 3 == 0 else data)
        run = command('import', '--from', 'pyrite', path, '-o', out)
        if not survived(run) or (run.returncode == 0 and command('show', out, '--epochs').returncode != 0):
            wrong.append((i, run.returncode, run.stderr))
    t.equal('damaged Pyrite files are refused in one line, or read', wrong, [])
    for i in range(120):
        data = bytearray((EXAMPLE * 4).encode())
        for _ in range(1 + i % 3):
            data[chance.randrange(len(data))] = chance.choice(b'0123456789:;ESR= \n\xff\0')
        run, out = import_text(place, bytes(data))
        if not survived(run) or (run.returncode == 0 and command('show', out, '--epochs').returncode != 0):
            wrong.append((i, run.returncode, run.stderr))
    t.equal('damaged MPROV files are refused in one line, or read', wrong, [])


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            program = place.compile('protocol.c')
            ring = known_epochs(t, place, program, 'ring', STEPS, STEPS * RANKS, RANKS)
            star = known_epochs(t, place, program, 'star', 6 * STEPS, 6 * STEPS, 2)
            known_epochs(t, place, program, 'pairs', 2 * STEPS, 2 * STEPS, 2, ('b',))
            same_with_threads(t, place)
            obeyed(t, place, ring, star)
            violated(t, place, ring, star)
            unreceived(t, place, program)
            never_sent(t, place, program)
            if flavour == FLAVOURS[0]:
                mistakes(t, place, ring)
    with Place(FLAVOURS[0] if FLAVOURS else 'none') as place:
        partly(t, place)
        many_members(t, place)
        mprov(t, place)
        bad_mprov(t, place)
        pyrite(t, place)
        pyrite_handles(t, place)
        damaged(t, place)
    t.end()


main()
