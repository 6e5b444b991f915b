#!/usr/bin/env python3
"""whatif.py - `mpitrace whatif` on a traced program: what is asked is answered, what cannot be is one line. How near predictions come
is for tests/unit/replay.c, where times are known, and for tests/bench/whatif.py."""
import json
import os
import re
import subprocess
import tempfile
import threading

from trace import FLAVOURS, MPITRACE, Place, Tests


def whatif(*words):
    return subprocess.run([MPITRACE, 'whatif', *words], capture_output=True, text=True)


def answer(*words):
    said = whatif(*words, '--json')
    return json.loads(said.stdout) if said.returncode == 0 else {'failed': said.stderr}


def refused(t, what, code, text, *words):
    said = whatif(*words)
    t.check(what + ' is refused in a line', said.returncode == code and text in said.stderr and not said.stdout, said)


def died(t, place):
    """Of one that died its calls are a small part: nothing that is asked shortens what came behind them."""
    place.traced(4, place.compile('deaths.c'), 'hang', name='died')
    mpix, a = place.dir + '/out/died.mpix', place.analysis('died')
    said, text = answer(mpix), whatif(mpix).stdout
    t.check('of a run that died the whole is its region', abs(said['recorded_s'] - a['efficiency']['region_s']) < 0.1 and said['recorded_s'] > 1, (said, a['efficiency']))
    t.check('which calls are a part of', said['calls_s'] < said['recorded_s'] / 2 and abs(said['covered'] - said['calls_s'] / said['recorded_s']) < 1e-9, said)
    t.check('no gain is more than that', all(abs(c['gain']) <= said['covered'] for c in said['choices']) and said['choices'], said)
    t.check('as it is said', re.search(r'^Calls end after .* of it, [\d.]+ %: ', text, re.MULTILINE), text)


def generated(place, ranks):
    raw, mpix = '%s/raw%d' % (place, ranks), '%s/of%d.mpix' % (place, ranks)
    subprocess.run([os.environ['GENERATE'], '--pattern', 'halo', '--ranks', str(ranks), '--nodes', '2', '--events-per-rank', '600', '-o', raw],
                   check=True, capture_output=True)
    subprocess.run([MPITRACE, 'analyze', raw, '-o', mpix], check=True, capture_output=True)
    return mpix


def replaced(t):
    """It is opened once for each thread, and each time there may be another trace by that name."""
    with tempfile.TemporaryDirectory() as place:
        mpix, over = [generated(place, ranks) for ranks in (4, 64)], threading.Event()
        wanted = [whatif(path, '--balance').stdout for path in mpix]

        def swap():
            for i in range(1 << 30):
                if over.is_set():
                    break
                os.symlink(mpix[i % 2], place + '/next')
                os.replace(place + '/next', place + '/one.mpix')
        os.symlink(mpix[0], place + '/one.mpix')
        other = threading.Thread(target=swap)
        other.start()
        said = [whatif(place + '/one.mpix', '--balance') for _ in range(40)]
        over.set()
        other.join()
        t.equal('a trace that is replaced while it is read: either the one or the other', [x for x in said if x.returncode != 0 or x.stdout not in wanted], [])


def meanwhile(t, flavour):
    """Of four ranks one computes longer before it completes what all have started, and others wait for it: both replays are the run."""
    with Place(flavour) as place:
        program = place.compile('mended.c')
        for case in 'ibarrier', 'iallreduce', 'ialltoall':
            for i in range(6): # whoever spins is at times late on a machine that others have, and the next is not by as much
                place.traced(4, program, case, name=case + str(i))
                said = answer('%s/out/%s%d.mpix' % (place.dir, case, i), '--balance')
                if said['error'] < 0.1 and 0.1 < said['gain_low']:
                    break
            t.check('%s under %s: the replay by the model is the run' % (case, flavour), said['error'] < 0.1, said)
            t.check('%s under %s: balanced, it is shorter' % (case, flavour), 0.1 < said['gain_low'] and said['gain_high'] < 0.7, said)


def nonblocking(t, place, program):
    """A receive that others need not wait for: the sender computes 8 ms a step, its receiver 6 behind it."""
    place.traced(4, program, 'blocking_recv', name='receives')
    mpix, a = place.dir + '/out/receives.mpix', place.analysis('receives')
    lines = {s['op']: 'mended.c:%d' % s['line'] for s in a['callsites'] if s['function'] == 'blocking_recv'}
    said, text = answer(mpix, '--nonblocking', lines['MPI_Recv']), whatif(mpix, '--nonblocking', lines['MPI_Recv']).stdout
    t.equal('each receive is completed later', said['completed_later'], 80)
    t.check('which gains what its rank computes meanwhile', 0.2 < said['gain'] < 0.5, said)
    t.equal('in words', said['what'], [lines['MPI_Recv'] + ' nonblocking'])
    t.check('what is taken for granted is said', '80 calls start there' in text and 'at most so much is gained' in text, text)
    refused(t, 'a call that waits for nobody', 3, 'no call at these places', mpix, '--nonblocking', lines['MPI_Send'])
    refused(t, 'a line that is not there', 3, 'no call of MPI', mpix, '--nonblocking', 'mended.c:1')


def main():
    t = Tests()
    for flavour in FLAVOURS:
        t.at_last(3, lambda t, attempt, flavour=flavour: meanwhile(t, flavour))
    with Place('openmpi') as place:
        nonblocking(t, place, place.compile('mended.c'))
        died(t, place)
        run = place.traced(4, place.compile('mended.c'), 'barrier')
        t.check('the program runs', run.returncode == 0, run.stderr)
        mpix, a = place.dir + '/out/trace.mpix', place.analysis()
        line = next(s['line'] for s in a['callsites'] if s['function'] == 'barrier')
        as_it_was = answer(mpix)
        t.equal('the schema', as_it_was.get('schema'), 'mpitrace/whatif/1')
        t.check('unchanged nothing is gained', abs(as_it_was['gain']) < 1e-6 and as_it_was['given_up'] == 0 and as_it_was['covered'] == 1,
                as_it_was)
        t.check('the replay says how far it is off', abs(as_it_was['replayed_s'] / as_it_was['recorded_s'] - 1) - as_it_was['error'] < 1e-9,
                as_it_was)
        t.check('each issue with a gain is a choice', {'without ' + i['issue'] for i in a['issues'] if 'gain' in i and i['issue'] != 'load_imbalance'}
                <= {c['what'] for c in as_it_was['choices']}, as_it_was)
        balanced, less = answer(mpix, '--balance'), answer(mpix, '--rank', '1=0.5x')
        t.check('balance gains, half of the heaviest rank too', 0 < balanced['gain'] < 1 and 0 < less['gain'] < 1, (balanced, less))
        t.check('the range holds the gain', balanced['gain_low'] <= balanced['gain'] <= balanced['gain_high'], balanced)
        longer = whatif(mpix, '--rank', '0=3x', '--network', '0.1x').stdout
        said = re.search(r' ([\d.]+) % longer  \((-?[\d.]+) to (-?[\d.]+)\)', longer)
        t.check('what is longer has a range of what is longer', float(said[2]) <= float(said[1]) <= float(said[3]) if said else ' longer  (' not in longer, longer)
        t.check('twice the work loses', answer(mpix, '--rank', '1=2x')['gain'] < 0)
        t.check('the line before which it computes', abs(answer(mpix, '--site', 'mended.c:%d=0.5x' % line)['gain']) > 0.1)
        t.equal('what is otherwise, in words', answer(mpix, '--balance', '--rank', '2=0.5')['what'],
                ['computing balanced between the ranks', 'rank 2 computing 0.5 times as long'])
        gaining = [i for i in a['issues'] if 'gain' in i]  # on a machine that others have, not always of the same
        t.check('an issue gains what the analysis says', gaining and all(
            abs(answer(mpix, '--without', i['issue'])['gain'] - i['gain']['share']) < 1e-3 for i in gaining[:3]), gaining)
        text = whatif(mpix).stdout
        t.check('text for people', text.startswith('Recorded ') and 'shorter' in text and max(map(len, text.splitlines())) <= 100, text)
        refused(t, 'a rank that is not there', 3, 'no such rank', mpix, '--rank', '4=2x')
        refused(t, 'a line that is not there', 3, 'no call of MPI', mpix, '--site', 'mended.c:1=2x')
        refused(t, 'an issue that is not there', 3, 'no such issue', mpix, '--without', 'death')
        refused(t, 'no number', 2, 'a factor is a number', mpix, '--network', 'fast')
        refused(t, 'a network of nothing', 2, 'above 0', mpix, '--network', '0x')
        refused(t, 'no file', 3, 'cannot open', place.dir + '/none.mpix')
        refused(t, 'a file that is none', 3, 'mended', place.dir + '/mended')
    replaced(t)
    t.end()


if __name__ == '__main__':
    main()
