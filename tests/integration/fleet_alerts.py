#!/usr/bin/env python3
"""fleet_alerts.py - alerts of steps that hang, in an outbox: in the database and its metrics until the record of the step comes, at a webhook once,
and no more of them than names allow, whoever writes what. Environment: MAKE_FLEET, MPITRACE."""
import http.server
import json
import os
import pwd
import subprocess
import tempfile
import threading
import time

import contract
from publishing import Site, records
from trace import MPITRACE, Tests, until

NOBODY = pwd.getpwnam('nobody').pw_uid
DAY = time.strftime('%Y%m%d', time.gmtime())


def stamp(seconds_ago):
    return time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() - seconds_ago))


def alert_of(record, **other):
    """As the step of that record would have left it."""
    return {'schema': 'mpitrace/alert/1', **{k: record[k] for k in ('id', 'cluster', 'job_id', 'step_id', 'restart', 'user', 'account', 'partition', 'program')},
            'nodes': 2, 'ranks': 4, 'time': stamp(30), 'since': stamp(90), 'what': 'deadlock', 'core_ranks': 2, 'core': [
                {'rank': 0, 'op': 'MPI_Recv', 'callsite': 'a.c:7', 'since_s': 60.5, 'needs': 1, 'until': 'a message from rank 1 with tag 9'}],
            'why': 'rank 0 in MPI_Recv from rank 1, tag 9', 'version': '0', **other}


def leave(site, alert, number=0, uid=None, day=DAY, owner=None, text=None):
    uid = os.geteuid() if uid is None else uid
    path = '%s/alert-%s-u%d-%d.alert.json' % (site.outbox, day, uid, number)
    with open(path, 'w') as f:
        f.write(text if text is not None else json.dumps(alert) + '\n')
    if owner is not None and os.geteuid() == 0:
        os.chown(path, owner, -1)
    return path


def ingest(site, *more):
    return subprocess.run([MPITRACE, 'fleet', 'ingest', site.outbox, '--db', site.place + '/f.db', *more], capture_output=True, text=True, timeout=120)


def ask(site, sql):
    run = subprocess.run([MPITRACE, 'fleet', 'query', '--db', site.place + '/f.db', '--json', sql], capture_output=True, text=True, timeout=120, check=True)
    return [tuple(row.values()) for row in json.loads(run.stdout)]


def hanging(site):
    """What the metrics say, asked as the server asks."""
    from urllib.request import urlopen
    serve = subprocess.Popen([MPITRACE, 'fleet', 'serve', '--db', site.place + '/f.db'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = next(line for line in serve.stdout if 'http' in line).split()[-1].rstrip('/') + '/metrics'
        text = urlopen(url, timeout=60).read().decode()
    finally:
        serve.terminate()
        serve.communicate()
    return [line for line in text.splitlines() if line.startswith('mpitrace_fleet_hanging_')]


def in_the_database(t, place):
    site = Site(place, 'database')
    a, b, c = records(3)
    t.equal('an alert keeps its schema', contract.errors(alert_of(a), name='alert'), [])
    leave(site, alert_of(a), 0)
    file_of_b = leave(site, alert_of(b, partition='other'), 1)
    run = ingest(site)
    t.check('alerts are taken', run.returncode == 0 and '2 alerts of steps that hang' in run.stdout, run)
    t.check('once', 'alerts' not in ingest(site).stdout, None)
    lines = hanging(site)
    want = ['{cluster="%s",partition="%s"} 1' % (x['cluster'], x['partition']) for x in (a, dict(b, partition='other'))]
    t.check('they are in the metrics, without users', all('mpitrace_fleet_hanging_jobs' + w in lines for w in want) and len(lines) == 4
            and all(x['user'] not in line for x in (a, b) for line in lines), (lines, want))
    site.leave(a)
    ingest(site)
    t.equal('until the record of the step comes', ask(site, 'select id from alerts'), [(b['id'],)])
    ingest(site)
    t.equal('and not again, though its file is there', ask(site, 'select id from alerts'), [(b['id'],)])
    site.leave(dict(b, user='mallory'))
    ingest(site)
    t.equal('a record of somebody else ends nobody\'s alert', ask(site, 'select id from alerts'), [(b['id'],)])
    run = subprocess.run([MPITRACE, 'fleet', 'forget', '--user', b['user'], '--db', site.place + '/f.db'], capture_output=True, text=True)
    t.equal('who is forgotten has none', (run.returncode, ask(site, 'select id from alerts')), (0, []))
    os.remove(file_of_b)
    leave(site, alert_of(c, time=stamp(8 * 86400), since=stamp(8 * 86400 + 60)), 2)
    ingest(site)
    t.equal('after a week without a record nobody knows that it still hangs', (len(ask(site, 'select id from alerts')), hanging(site)), (1, []))


def of_whom(t, place):
    site = Site(place, 'names')
    a = records(1)[0]
    for n, (what, how) in enumerate([('number', {'number': 8}), ('day', {'day': '20260101'}), ('form', {'day': DAY + '0'}), ('uid', {'uid': NOBODY + 1, 'owner': NOBODY})]):
        path = leave(site, alert_of(a, id='x:%d.0:0' % n), **how)
        ingest(site)
        t.equal('no alert has that %s in its name' % what, ask(site, 'select count(*) from alerts'), [(0,)])
        os.remove(path)
    if os.geteuid() == 0:
        path = leave(site, alert_of(a), uid=NOBODY, owner=NOBODY)
        run = ingest(site)
        os.remove(path)
        t.check('one that speaks for another user is left out', run.returncode == 4 and 'another user' in run.stderr, run)
    for text, why in (('{', 'is not an alert'), (json.dumps(alert_of(a, id='')), 'no id'), (json.dumps(alert_of(a, since=None)), 'when it was'),
                      (json.dumps(alert_of(a, since=stamp(0), time=stamp(9))), 'when it was'),
                      (json.dumps(alert_of(a, time='2400-01-01T00:00:00Z')), 'to come'), ('x' * 5000, '4,096')):
        leave(site, None, text=text)
        run = ingest(site)
        t.check('what is none is said: ' + why, run.returncode == 4 and why in run.stderr, run)
    t.equal('and nothing of it is taken', ask(site, 'select count(*) from alerts'), [(0,)])
    path = leave(site, alert_of(a))
    slot = path.replace('-u%d-0.alert.json' % os.geteuid(), '-nn1-0.alert.slot')
    open(slot, 'w').close()
    for name in (path, slot):
        os.utime(name, (time.time() - 86400,) * 2)
    ingest(site, '--remove')
    t.check('files stay for two days, so that no name is free before', os.path.exists(path) and os.path.exists(slot), os.listdir(site.outbox))
    for name in (path, slot):
        os.utime(name, (time.time() - 3 * 86400,) * 2)
    ingest(site, '--remove')
    t.equal('and go then', [x for x in os.listdir(site.outbox) if x.startswith('alert')], [])


class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers['Content-Length']))))
        self.send_response(200)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *words):
        pass


def at_a_webhook(t, place):
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hook)
    server.bodies = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = Site(place, 'hook', {'type': 'webhook', 'url': 'http://127.0.0.1:%d/' % server.server_port, 'gzip': 'no'}, {'type': 'file', 'path': place + '/archive'})
    a, b = records(2)
    site.leave(b)
    leave(site, alert_of(a))
    for _ in range(2):
        run, _ = site.until_done()
        t.check('publishing ends well', run.returncode == 0, run)
    said = [(sorted(x), [r['id'] for r in x['records']], [r['id'] for r in x.get('alerts', [])]) for x in server.bodies]
    t.equal('a webhook gets the alert once, beside the record', said, [(['alerts', 'batch', 'records'], [b['id']], [a['id']])])
    t.equal('with who waits in what, where, since when', server.bodies and server.bodies[0]['alerts'][0], alert_of(a, time=server.bodies[0]['alerts'][0]['time'],
                                                                                                       since=server.bodies[0]['alerts'][0]['since']))
    with open(place + '/archive') as f:
        t.equal('a file has records alone', [json.loads(line)['id'] for line in f], [b['id']])
    site.leave(a)
    site.until_done()
    t.equal('the record of the same step comes as ever', [r['id'] for x in server.bodies[1:] for r in x['records']], [a['id']])
    t.check('and a batch without alerts has none', 'alerts' not in server.bodies[-1], server.bodies[-1])
    run = site.run('--forget-user', a['user'])
    leave(site, alert_of(a), 1)
    site.until_done()
    t.check('who is forgotten is not known any more', len(server.bodies) > 2, server.bodies)


def silent_sacct(site, *words):
    """The command, once it has asked a sacct that does not answer."""
    asked = site.place + '/asked'
    with open(site.place + '/sacct', 'w') as f:
        f.write('#!/bin/sh\necho >>%s\nexec sleep 90\n' % asked)
    os.chmod(site.place + '/sacct', 0o755)
    env = {**os.environ, 'PATH': site.place + ':' + os.environ['PATH']}
    run = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: os.path.exists(asked), 'sacct is asked')
    return run


def while_sacct_is_silent(t, place):
    """slurmdbd is away: a question to sacct takes its minute, and neither alerts nor destinations wait for it, nor who ingests as well."""
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hook)
    server.bodies = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    site = Site(place, 'silent', {'type': 'webhook', 'url': 'http://127.0.0.1:%d/' % server.server_port, 'gzip': 'no'})
    a, b = records(2)
    site.leave(a)
    run = silent_sacct(site, *site.words('--sacct', '--follow'))
    leave(site, alert_of(b))
    left = time.monotonic()
    while not server.bodies and time.monotonic() < left + 45:
        time.sleep(0.1)
    took = time.monotonic() - left
    run.terminate()
    run.kill()
    run.wait()
    t.check('an alert is at its webhook within half a minute, also while sacct does not answer', took < 30 and [x['id'] for x in server.bodies[0]['alerts']] == [b['id']], (took, server.bodies))
    os.unlink(site.place + '/asked')
    db = site.place + '/both.db'
    run = silent_sacct(site, MPITRACE, 'fleet', 'ingest', site.outbox, '--db', db, '--sacct')
    other = subprocess.run([MPITRACE, 'fleet', 'ingest', '-', '--db', db], input=json.dumps(b), capture_output=True, text=True, timeout=120)
    t.check('who ingests meanwhile has not waited for it', other.returncode == 0 and run.poll() is None, other.stderr)
    run.terminate()
    run.wait()


def main():
    t = Tests()
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        in_the_database(t, place)
        of_whom(t, place)
        at_a_webhook(t, place)
        while_sacct_is_silent(t, place)
    t.end()


main()
