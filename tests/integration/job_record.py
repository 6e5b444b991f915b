#!/usr/bin/env python3
"""job_record.py - what a finished step says to the fleet: one line of docs/job.schema.json, however large the step; it lies in the outbox
whole, as its user's file, when the site's policy names one; users and directories are left out before it is written."""
import glob
import hashlib
import hmac
import json
import os
import pwd
import shutil
import stat
import subprocess
import tempfile

import contract
from trace import ENV, FLAVOURS, MPITRACE, PROGRAMS, Tests

NOBODY = pwd.getpwnam('nobody')
KEY = b'sixteen bytes or more\n'
BYTES_MAX = 8192


def make(directory, pattern='halo', ranks=8, nodes=4, events=40):
    subprocess.run([os.environ['GENERATE'], '--pattern', pattern, '--ranks', str(ranks), '--nodes', str(nodes), '--events-per-rank', str(events),
                    '-o', directory], check=True, stdout=subprocess.DEVNULL)


def record(mpix, *options):
    return subprocess.run([MPITRACE, 'record', mpix, *options], capture_output=True, check=True).stdout


def schema(t, place):
    for name, shape in (('small', {}), ('one node', {'nodes': 1}), ('of 1,200 nodes', {'ranks': 1200, 'nodes': 1200, 'events': 40})):
        step = '%s/%s' % (place, name.replace(' ', '-'))
        os.mkdir(step)
        make(step, **shape)
        subprocess.run([MPITRACE, 'analyze', step, '-o', step + '/job.mpix'], check=True, stderr=subprocess.DEVNULL)
        line = record(step + '/job.mpix', '--user', 'alice')
        made = json.loads(line)
        t.equal('%s: keeps its schema' % name, contract.errors(made, name='job'), [])
        t.check('%s: is one line of at most 8 KiB' % name, len(line) <= BYTES_MAX and line.count(b'\n') == 1, len(line))
        nodes = shape.get('nodes', 4)
        t.equal('%s: says how many nodes it leaves out' % name, len(made.get('deviation', [])) + made.get('nodes_left_out', nodes), nodes)
        t.check('%s: deviations are of the mean' % name, nodes == 1 or abs(sum(made['deviation'])) < 0.01 * nodes, made.get('deviation'))
        t.check('%s: tells versions of a program apart' % name, made['build_id'] and int(made['build_id'], 16), made['build_id'])
        t.equal('%s: the same step has the same id' % name, json.loads(record(step + '/job.mpix'))['id'], made['id'])
        if made.get('nodelist') and nodes == 4:
            t.check('%s: a list of nodes as Slurm writes it' % name, made['nodelist'] == 'n[00000-00003]', made['nodelist'])
        shutil.rmtree(step)


def hidden(t, place):
    step = place + '/hidden'
    os.mkdir(step)
    make(step)
    subprocess.run([MPITRACE, 'analyze', step, '-o', step + '/job.mpix'], check=True, stderr=subprocess.DEVNULL)
    with open(place + '/key', 'wb') as f:
        f.write(KEY)
    made = json.loads(record(step + '/job.mpix', '--user', 'alice', '--site-key', place + '/key'))
    t.equal('a user is a keyed hash of the name', made['user'], 'h:' + hmac.new(KEY, b'alice', hashlib.sha256).hexdigest()[:32])
    for flavour in FLAVOURS[:1]: # a program that has directories
        subprocess.run(['mpicc.' + flavour, '-g', '-o', place + '/ring', PROGRAMS + '/slurm_ring.c'], check=True)
        subprocess.run([MPITRACE, 'run', '-n', '2', '--out', place, '--name', 'ring', '--', place + '/ring'], env=ENV, check=True, capture_output=True)
        told = record(place + '/ring.mpix').decode()
        t.check('directories are told with the name', place in told and PROGRAMS in told, told)
        told = record(place + '/ring.mpix', '--site-key', place + '/key').decode()
        t.check('and are not without it', place not in told and PROGRAMS not in told and '"slurm_ring.c"' in told and '"ring"' in told, told)
    os.chmod(place + '/key', 0o666)
    failed = subprocess.run([MPITRACE, 'record', step + '/job.mpix', '--site-key', place + '/key'], capture_output=True, text=True)
    t.check('a key that others may write is refused, and how to mend it', failed.returncode == 3 and 'chmod' in failed.stderr, failed.stderr)


def library(t, place):
    """What it was run with, of each MPI library that is here."""
    for flavour in FLAVOURS:
        subprocess.run(['mpicc.' + flavour, '-g', '-o', place + '/lib', PROGRAMS + '/slurm_ring.c'], check=True)
        subprocess.run([MPITRACE, 'run', '-n', '2', '--out', place, '--name', flavour, '--', place + '/lib'], env=ENV, check=True, capture_output=True)
        made = json.loads(record('%s/%s.mpix' % (place, flavour)))
        name, version = {'openmpi': ('Open MPI', 'v'), 'mpich': ('MPICH', '')}[flavour], made['mpi']['version']
        t.check('%s: the MPI library has a name and a version' % flavour, made['mpi']['implementation'] == name[0] and version and version[0].isdigit() and
                name[1] + version in made['versions']['mpi'], (made['mpi'], made['versions']))
        t.check('%s: what carries its messages is named' % flavour, made['transports'] and any(x.startswith(('btl ', 'ch4:', 'ch3')) for x in made['transports']), made['transports'])
        t.equal('%s: nobody asked for environment modules' % flavour, (made['modules'], made['modules_left_out']), (None, None))
        t.equal('%s: keeps its schema' % flavour, contract.errors(made, name='job'), [])


def finish(step, policy, text, user, before=()):
    with open(policy, 'w') as f:
        f.write('[defaults]\n' + text)
    as_user = {'user': user.pw_uid, 'group': user.pw_gid, 'extra_groups': []} if os.geteuid() == 0 and user else {}
    return subprocess.run([*before, MPITRACE, 'finish', step, '--policy', policy], capture_output=True, text=True, **as_user)


def step_of(place, name, user):
    step = '%s/%s' % (place, name)
    os.mkdir(step)
    make(step)
    if os.geteuid() == 0 and user:
        for path in [step] + glob.glob(step + '/*'):
            os.chown(path, user.pw_uid, user.pw_gid)
    return step


def outbox(t, place):
    box, policy = place + '/outbox', place + '/mpitrace.conf'
    os.mkdir(box)
    os.chmod(box, 0o3733)
    os.chmod(place, 0o755)
    with open(place + '/good', 'wb') as f:
        f.write(KEY)
    os.chmod(place + '/good', 0o644)
    done = finish(step_of(place, 's1', NOBODY), policy, '', NOBODY)
    t.equal('without an outbox nothing is left', (done.returncode, done.stderr, os.listdir(box)), (0, '', []))
    done = finish(step_of(place, 's2', NOBODY), policy, 'outbox = %s\n' % box, NOBODY)
    left = os.listdir(box)
    t.check('a finished step leaves one record', done.returncode == 0 and len(left) == 1 and left[0].endswith('.job.json'), (done, left))
    path = '%s/%s' % (box, left[0])
    with open(path) as f:
        text = f.read()
        made = json.loads(text)
    who = NOBODY if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    t.equal('which keeps its schema', contract.errors(made, name='job'), [])
    t.equal('and is of its user, also on the disk', (made['user'], os.stat(path).st_uid, stat.S_IMODE(os.stat(path).st_mode)), (who.pw_name, who.pw_uid, 0o640))
    t.check('and says where the report is', made['report'].endswith('/s2/report.html') and os.path.exists(made['report']), made['report'])
    again = finish(place + '/s2', policy, 'outbox = %s\n' % box, NOBODY)
    t.check('a second finisher, which finds the report made, leaves no other', again.returncode == 0 and os.listdir(box) == left, (again, os.listdir(box)))
    if shutil.which('strace'): # its only alarm is that of who writes the record
        killing = ('strace', '-f', '-o', '/dev/null', '-e', 'trace=alarm', '-e', 'inject=alarm:signal=KILL')
        done = finish(step_of(place, 's0', NOBODY), policy, 'outbox = %s\n' % box, NOBODY, killing)
        t.check('who is ended while it writes one leaves the report, and a line that says so',
                done.returncode == 0 and os.path.exists(place + '/s0/report.html') and 'the step has none: who wrote it was ended by signal 9' in done.stderr and
                os.listdir(box) == left, (done, os.listdir(box)))
    os.unlink(path)
    os.mkdir(path) # somebody else is there first
    again = finish(place + '/s2', policy, 'outbox = %s\n' % box, NOBODY)
    other = [x for x in os.listdir(box) if x != left[0]]
    t.check('whose name somebody has taken has another one', again.returncode == 0 and len(other) == 1 and open('%s/%s' % (box, other[0])).read() == text, (again, other))
    os.rmdir(path)
    os.unlink('%s/%s' % (box, other[0]))
    finish(step_of(place, 's3', NOBODY), policy, 'outbox = %s\nrecord_users = hash\nsite_key = %s/good\n' % (box, place), NOBODY)
    text = ''.join(open(x).read() for x in glob.glob(box + '/*.json'))
    t.check('with hashed users the name is nowhere in the record', '"user":"h:' in text and who.pw_name not in text and place not in text, text[:600])
    for x in glob.glob(box + '/*.json'):
        os.unlink(x)
    done = finish(step_of(place, 's4', NOBODY), policy, 'outbox = %s\nrecord_users = hash\nsite_key = %s/none\n' % (box, place), NOBODY)
    t.check('a key that is not there: no record, the report all the same, and it is said',
            done.returncode == 0 and os.listdir(box) == [] and 'site_key' in done.stderr and os.path.exists(place + '/s4/report.html'), (done, os.listdir(box)))
    done = finish(step_of(place, 's5', NOBODY), policy, 'outbox = %s/missing\n' % place, NOBODY)
    t.check('an outbox that is not there changes nothing', done.returncode == 0 and 'outbox' in done.stderr, done)
    if os.geteuid() == 0:
        done = finish(step_of(place, 's6', None), policy, 'outbox = %s\n' % box, None)
        t.check('root leaves none', done.returncode == 0 and os.listdir(box) == [] and 'root' in done.stderr, (done, os.listdir(box)))


def full(t, place):
    """An outbox whose file system is nearly full; needs root."""
    mount, policy = place + '/full', place + '/mpitrace.conf'
    os.mkdir(mount)
    if os.geteuid() != 0 or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m,mode=3733', 'none', mount], capture_output=True).returncode != 0:
        return
    try:
        with open(mount + '/.filler', 'wb') as f:
            f.write(b'x' * (1000 << 10))
        done = finish(step_of(place, 's7', NOBODY), policy, 'outbox = %s\n' % mount, NOBODY)
        left = [x for x in os.listdir(mount) if x != '.filler']
        t.check('an outbox that is nearly full gets an empty file that is counted, the step its report all the same, and it is said', done.returncode == 0 and len(left) == 1
                and left[0].endswith('.job.full') and os.stat(mount + '/' + left[0]).st_size == 0 and 'nearly full' in done.stderr and os.path.exists(place + '/s7/report.html'), (done, left))
        finish(place + '/s7', policy, 'outbox = %s\n' % mount, NOBODY)
        t.equal('once, however often it is finished', [x for x in os.listdir(mount) if x != '.filler'], left)
        os.unlink(mount + '/.filler')
        finish(step_of(place, 's8', NOBODY), policy, 'outbox = %s\n' % mount, NOBODY)
        t.equal('with room again there is a record', sum(x.endswith('.job.json') for x in os.listdir(mount)), 1)
    finally:
        subprocess.run(['umount', mount], check=True)


def main():
    t = Tests()
    with tempfile.TemporaryDirectory() as place:
        schema(t, place)
        hidden(t, place)
        library(t, place)
        outbox(t, place)
        full(t, place)
    t.end()


main()
