#!/usr/bin/env python3
"""layout.py - where ranks ran: `mpitrace topology` agrees with what the launcher says it did, names what is odd about it, and
reads Slurm's files and captures of other machines."""
import json
import os
import re
import subprocess

from trace import FLAVOURS, MPITRACE, Place, Tests, whole

CORES = len(os.sched_getaffinity(0))
BIND = {'openmpi': {'core': '--bind-to core --map-by core --report-bindings', 'none': '--bind-to none --report-bindings',
                    'overload': '--map-by core --bind-to core:overload-allowed'},
        'mpich': {'core': '-bind-to core', 'none': '-bind-to none', 'overload': '-bind-to user:0,0,1,1'}}
CONF = 'SwitchName=leaf1 Nodes=%s,x[1-3]\nSwitchName=leaf2 Nodes=y[1-3]\nSwitchName=core Switches=leaf[1-2]\n'
YAML = '''- topology: other
  flat: true
- topology: racks
  cluster_default: true
  block:
    block_sizes: [4, 8]
    blocks:
    - block: b1
      nodes: %s,x[1-3]
    - block: b2
      nodes: y[1-4]
'''


def topology(*words):
    return subprocess.run([MPITRACE, 'topology', *words], capture_output=True, text=True)


def objects(*words):
    return json.loads(topology(*words, '--json').stdout)


def misbindings(t):
    return {m['kind']: m for m in t['misbindings']}


def run(t, place, flavour, how, ranks):
    program = place.compile('shapes.c')
    r = whole([MPITRACE, 'run', '-n', str(ranks), '--mpirun', BIND[flavour][how], '--out', place.dir + '/out', '--name', how, '--',
               program, 'alltoall'], place.env, place.dir)
    t.equal('%s, %s: the program runs' % (flavour, how), r.returncode, 0)
    analysis = place.analysis(how)['topology'] # keeps its schema, or this fails
    shown = objects('%s/out/%s.mpix' % (place.dir, how))
    t.equal('%s, %s: it has a schema of its own' % (flavour, how), shown.pop('schema'), 'mpitrace/topology/1')
    t.equal('%s, %s: the command shows what the analysis says' % (flavour, how), shown, analysis)
    return r.stderr.decode(), analysis


def reported(text):
    """Cores of each rank as Open MPI's --report-bindings says them."""
    return {int(rank): [int(c) for c in re.findall(r'core (\d+)', rest)]
            for rank, rest in re.findall(r'MCW rank (\d+) bound to (.*?): \[', text)}


def bindings(t, place, flavour):
    said, core = run(t, place, flavour, 'core', 2)
    ranks = {r['rank']: r for n in core['nodes'] for r in n['ranks']}
    t.equal('%s: each rank has one core' % flavour, [len(ranks[r]['cores']) for r in sorted(ranks)], [1, 1])
    if flavour == 'openmpi':
        t.equal('openmpi: it is the core that mpirun says', {r: ranks[r]['cores'] for r in ranks}, reported(said))
    t.equal('%s: nothing is odd about that' % flavour, core['misbindings'], [])
    text = topology(place.dir + '/out/core.mpix').stdout
    t.check('%s: the text says so' % flavour, 'All bindings are as they should be' in text and re.search(r'cores 0-\d+ .*\b0 +1\b', text), text)
    t.check('%s: it fits into 80 columns' % flavour, all(len(line) <= 80 for line in text.splitlines()), text)
    t.check('%s: what carries messages is named' % flavour, any(w in str(core['transports']) for w in ('pml ', 'ch4:', 'ch3:')),
            core['transports'])
    t.equal('%s: the raw record says the same' % flavour, objects(place.dir + '/out/core.mpic')['nodes'], core['nodes'])


def oddities(t, place, flavour):
    _, none = run(t, place, flavour, 'none', 2)
    t.equal('%s: ranks that are not bound are named' % flavour, misbindings(none).get('unbound', {}).get('ranks'), [0, 1])
    t.equal('%s: and nothing else' % flavour, list(misbindings(none)), ['unbound'])
    _, many = run(t, place, flavour, 'overload', 2 * CORES if flavour == 'openmpi' else 4)
    shared = misbindings(many).get('shared_pu') or misbindings(many).get('shared_core')
    t.check('%s: ranks that share a core are named' % flavour, shared and shared['ranks_total'] == sum(len(n['ranks']) for n in many['nodes']),
            many['misbindings'])
    text = topology(place.dir + '/out/overload.mpix').stdout
    t.check('%s: the text shows it' % flavour, 'x2' in text and '! Ranks ' in text and '->' in text, text)


def write(place, name, text):
    with open('%s/%s' % (place.dir, name), 'w') as f:
        f.write(text)
    return '%s/%s' % (place.dir, name)


def slurm_files(t, place):
    mpix, host = place.dir + '/out/core.mpix', objects(place.dir + '/out/core.mpix')['nodes'][0]['name']
    path = objects(mpix, '--slurm', write(place, 'topology.conf', CONF % host))['nodes'][0]['switches']
    t.equal('topology.conf places the node', (path['path'], path['kinds']), (['core', 'leaf1'], ['switch', 'switch']))
    yaml = topology(mpix, '--slurm', write(place, 'topology.yaml', YAML % host), '--json')
    if 'built without libyaml' in yaml.stderr:
        t.equal('without libyaml that is said', yaml.returncode, 3)
    else:
        path = json.loads(yaml.stdout)['nodes'][0]['switches']
        t.equal('topology.yaml places the node', (path['path'], path['kinds']), (['b1..b2', 'b1'], ['block', 'block']))
    text = topology(mpix, '--slurm', place.dir + '/topology.conf').stdout
    t.check('the text has the switches above the node', re.search(r'^switch core\n  switch leaf1\n    \S', text, re.M), text)
    r = topology(mpix, '--slurm', write(place, 'other.conf', 'SwitchName=s Nodes=nobody\n'))
    t.check('a file without the node is said to be that', r.returncode == 0 and '1 node is not in ' in r.stderr, r.stderr)
    r = topology(mpix, '--slurm', write(place, 'broken.conf', '# 1\nSwitchName=s Nodes=n[1-\n'))
    t.check('a broken file is refused with its line', r.returncode == 3 and 'broken.conf:2: ' in r.stderr and r.stdout == '', r.stderr)
    r = topology(mpix, '--slurm', write(place, 'hostile.conf', 'SwitchName=s\x1b[2J Nodes=%s\n' % host))
    t.check('names cannot reach the terminal', r.returncode == 0 and '\x1b' not in r.stdout and 's?[2J' in r.stdout, r.stdout)


def machines(t, place):
    here = objects()
    t.check('without a step it shows this machine', len(here['nodes']) == 1 and here['nodes'][0]['pus'] >= CORES, here)
    r = topology('--capture', os.environ['MACHINES'] + '/two_sockets.xml')
    if 'built without hwloc' in r.stderr:
        return
    t.check('a capture is shown as it is', 'NIC mlx5_0 ib0' in r.stdout.split('socket 1')[1] and 'GPU' in r.stdout.split('socket 1')[0],
            r.stdout)
    r = topology('--capture', place.dir + '/topology.conf')
    t.check('what is no capture is refused', r.returncode == 3 and 'not a capture' in r.stderr, r.stderr)


def wrong_words(t, place):
    for words, code in ((['a', 'b'], 2), (['--slurm'], 2), (['x', '--capture', 'y'], 2), ([place.dir + '/absent.mpix'], 3),
                        ([place.dir + '/shapes.c'], 3), ([place.dir + '/bin'], 3)):
        r = topology(*words)
        t.check('topology %s: code %d and a line' % (' '.join(words).replace(place.dir, ''), code),
                r.returncode == code and r.stderr.startswith('mpitrace topology: '), r.stderr)


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            if CORES >= 2:
                bindings(t, place, flavour)
                oddities(t, place, flavour)
                slurm_files(t, place)
            machines(t, place)
            wrong_words(t, place)
    t.end()


main()
