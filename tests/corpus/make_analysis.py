#!/usr/bin/env python3
"""make_analysis.py BUILD: make analysis/*.json anew, by tracing a real program and analysing what was recorded.

In: a built tree; Open MPI's mpirun.  Out: halo_issues.json (two nodes, a rank that is late, windows, files),
partial.json (the same step without the second node's file, and with events switched off before its end), nothing_to_fix.json, and
hostile.json: halo_issues.json with every text replaced by one that tries to break out. Times differ from run to run;
tests/unit/html.c reads from the files what it expects of their pages."""
import json
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__))
os.environ.update(MPITRACE=BUILD + '/cli/mpitrace', TRACER=BUILD + '/pmpi/libmpitrace.so', PROGRAMS=TESTS + '/programs')
sys.path.insert(0, TESTS + '/integration')
import contract # noqa: E402
from trace import Place, two_nodes # noqa: E402

HOSTILE = ('</script><script>alert(1)</script>', '<img src=x onerror=alert(1)>', '"><svg onload=alert(1)>', "' onmouseover='alert(1)",
           '\x1b[31m\u202egnp.exe', '<!--', ']]>', '&lt;b&gt;&amp;', 'javascript:alert(1)', '//example.org/x.js', '%s%n%s%n',
           'a\nb\tc\rd\x7f\x9b', '\ufeff\u2028\u2029', '../../etc/passwd', '{{constructor}}', 'x' * 3000)


JOB = dict(cluster='hilbert', job_id=48213, step_id=0, slurm='22.05.8', program='./report', argv='["./report"]')


def on_two_nodes(place, program, *args, leave_out=None):
    step = two_nodes(place, program, place.dir, *args, **JOB)
    if leave_out:
        os.remove('%s/%s.mpic' % (step.out, leave_out))
    analysis = step.analysis()
    shutil.rmtree(step.out)
    for i in (1, 2):
        shutil.rmtree('%s/step-n%d' % (place.dir, i))
    return analysis


def even(place, program):
    run = place.traced(2, program, 'even')
    assert run.returncode == 0, run.stderr
    return place.analysis()


def hostile(value, texts):
    if isinstance(value, str):
        return next(texts)
    if isinstance(value, list):
        return [hostile(x, texts) for x in value]
    if isinstance(value, dict):
        return {k: hostile(v, texts) for k, v in value.items()}
    return value


def endless():
    while True:
        yield from HOSTILE


def dump(value):
    return json.dumps(value, ensure_ascii=True, separators=(',', ':'))


def write(name, analysis, place=None):
    """A member a line, and a row a line."""
    def member(key, value):
        rows = isinstance(value, list) and value and isinstance(value[0], dict)
        return dump(key) + ':' + ('[\n' + ',\n'.join(map(dump, value)) + '\n]' if rows else dump(value))
    text = '{\n' + ',\n'.join(member(k, v) for k, v in analysis.items()) + '\n}\n'
    if place:
        text = text.replace(place.dir, '/home/ada/halo').replace(dump(os.uname().nodename), '"n1"')
    with open('%s/analysis/%s.json' % (HERE, name), 'w', encoding='ascii') as f:
        f.write(text)


def main():
    with Place('openmpi') as place:
        program = place.compile('report.c', '-ffile-prefix-map=%s=/home/ada/halo' % os.environ['PROGRAMS'])
        halo = on_two_nodes(place, program)
        assert [i['issue'] for i in halo['issues']][:1] == ['load_imbalance'], halo['issues']
        write('halo_issues', halo, place)
        attacked = hostile(halo, endless())
        assert not contract.errors(attacked, texts=False)
        write('hostile', attacked)
        partial = on_two_nodes(place, program, 'paused', leave_out='n2')
        assert partial['coverage']['nodes_missing'] == ['n2'] and partial['coverage']['events_lost'] > 0, partial['coverage']
        write('partial', partial, place)
        nothing = even(place, program)
        assert not nothing['issues'], nothing['issues']
        write('nothing_to_fix', nothing, place)


main()
