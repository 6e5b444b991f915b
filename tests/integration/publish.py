#!/usr/bin/env python3
"""publish.py [KILLS] - `mpitrace publish`: every record arrives, and none twice in effect, at a server that fails in every way,
and in a file, also when it is killed at any instant (KILLS times, else 100). Environment: MAKE_FLEET, MPITRACE, PROGRAMS."""
import collections
import fcntl
import glob
import gzip
import hashlib
import hmac
import http.server
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

from publishing import SECRET, Site, each_in_its_place, free_port, records, secret_file
from trace import MPITRACE, Tests

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
# ---- a server that takes it strictly ----

class Receiver(http.server.ThreadingHTTPServer):
    """Holds each batch to what is documented. plan: what it does with the requests that come, in turn, then it takes all."""
    daemon_threads = True

    def __init__(self, context=None):
        super().__init__(('127.0.0.1', 0), Handler)
        self.plan, self.batches, self.wrong, self.requests, self.most, self.poison = collections.deque(), {}, [], 0, None, set()
        self.lock = threading.Lock()
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = '%s://127.0.0.1:%d/hook' % ('https' if context else 'http', self.server_port)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, address):
        pass

    def ids(self):
        return collections.Counter(r['id'] for b in self.batches.values() for r in b)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *words):
        pass

    def answer(self, status, text='', **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace('_', '-'), value)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def take(self, body):
        s = self.server
        want = 'sha256=' + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        plain = gzip.decompress(body) if self.headers['Content-Encoding'] == 'gzip' else body
        said = json.loads(plain.decode('utf-8', 'strict'))
        with s.lock:
            if self.headers['X-Mpitrace-Signature'] != want or self.headers['Content-Type'] != 'application/json':
                s.wrong.append('signature or type: %s' % self.headers)
            if set(said) != {'batch', 'records'} or said['batch'] != self.headers['X-Mpitrace-Batch']:
                s.wrong.append('form')
            if s.batches.setdefault(said['batch'], said['records']) != said['records']:
                s.wrong.append('batch %s is another one now' % said['batch'])

    def do_POST(self):
        s = self.server
        body = self.rfile.read(int(self.headers['Content-Length']))
        with s.lock:
            s.requests += 1
            what = s.plan.popleft() if s.plan else 'take'
        ids = {r['id'] for r in json.loads(gzip.decompress(body) if self.headers['Content-Encoding'] else body)['records']}
        if ids & s.poison:
            return self.answer(500, 'it broke')
        if s.most and len(ids) > s.most:
            return self.answer(413)
        if what == 'reset':
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
            self.connection.close()
            self.close_connection = True
        elif what == 'slow':
            s.free.wait()
            self.close_connection = True
        elif what == 'half':
            self.take(body)
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of')
            self.close_connection = True
        elif what == 'busy':
            self.answer(429, Retry_After='3600')
        elif isinstance(what, int):
            self.answer(what, 'you sent ' + SECRET)
        else:
            self.take(body)
            self.answer(200, 'ok')


def check_all(t, what, server, want):
    ids = server.ids()
    t.check(what + ': every record is there, once', set(ids) == {r['id'] for r in want} and set(ids.values()) == {1}, (len(ids), len(want), ids.most_common(3)))
    t.check(what + ': as documented', not server.wrong, server.wrong[:3])


def test_faults(t, place, all_records):
    server = Receiver()
    server.free = threading.Event()
    hook = {'type': 'webhook', 'url': server.url, 'secret_file': secret_file(place), 'batch': 20, 'backoff': 0, 'timeout': 1}
    site = Site(place, 'faults', hook)
    site.leave(*all_records[:100])
    dry = site.run('--dry-run')
    t.check('--dry-run shows the records and sends none', any('"%s"' % r['id'] in dry.stdout for r in all_records[:100]) and server.requests == 0 and not os.path.exists(site.state), dry.stderr)
    server.plan.extend(['reset', 500, 'half', 'slow', 503, 'take', 'half', 401, 404, 'reset'])
    run, rounds = site.until_done()
    server.free.set()
    t.check('reset, half, slow, 401, 404, 5xx: tried again until all is there', run.returncode == 0 and rounds > 8, (run, rounds))
    check_all(t, 'faults', server, all_records[:100])
    t.check('known records are not sent again', site.run().returncode == 0 and site.status()[0]['done'] == 100, site.status())

    server.most = 7
    site.leave(*all_records[100:150])
    run, rounds = site.until_done()
    t.check('413 splits a batch', run.returncode == 0 and rounds == 1 and max(len(b) for n, b in server.batches.items()) == 20, run)
    check_all(t, '413', server, all_records[:150])

    server.most = None
    server.plan.extend([400, 400])
    site.configure({**hook, 'batch': 2})
    site.leave(*all_records[150:156])
    run, rounds = site.until_done()
    dead = [json.loads(line) for line in site.run('--dead').stdout.splitlines()]
    t.check('a record that is refused alone is dead, with the reason; the others arrive', run.returncode == 4 and len(dead) == 1 and '400' in dead[0]['reason']
            and len(server.ids()) == 155 and dead[0]['record']['id'] not in server.ids(), (run, dead))
    t.check('what a server says with a secret in it is not repeated', SECRET not in run.stderr + json.dumps(dead), run.stderr)

    server.plan.append('busy')
    site.leave(all_records[156])
    before = time.time()
    site.run()
    asked = server.requests
    run = site.run()
    status = site.status()[0]
    t.check('Retry-After is honoured', run.returncode == 5 and server.requests == asked and status['not_before'] >= int(before) + 3600 and status['waiting'] == 1, status)
    server.shutdown()

    lost = Site(place, 'refused', {**hook, 'url': 'http://127.0.0.1:%d/' % free_port()})
    lost.leave(*all_records[:3])
    run = lost.run()
    t.check('refused: said, and it waits', run.returncode == 5 and lost.status()[0]['waiting'] == 3 and lost.status()[0]['last_error'], run)
    t.check('--check says so too', lost.run('--check').returncode == 3, '')


def test_tls(t, place, all_records):
    if not shutil.which('openssl'):
        return
    for name in ('good', 'other'):
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', '%s/%s.key' % (place, name), '-out', '%s/%s.pem' % (place, name), '-days', '2',
                        '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place + '/good.pem', place + '/good.key')
    context.load_verify_locations(place + '/other.pem')
    context.verify_mode = ssl.CERT_REQUIRED
    server = Receiver(context)
    hook = {'type': 'webhook', 'url': server.url, 'secret_file': secret_file(place), 'backoff': 0, 'ca': place + '/good.pem', 'certificate': place + '/other.pem',
            'key': place + '/other.key'}
    site = Site(place, 'tls', {**hook, 'ca': place + '/other.pem'})
    site.leave(*all_records[:5])
    run = site.run()
    t.check('a certificate that the CA did not sign gets nothing', run.returncode == 5 and server.requests == 0 and 'certificate' in run.stderr, run)
    site.configure({k: v for k, v in hook.items() if k not in ('certificate', 'key')})
    t.check('a server that wants a certificate of ours takes nothing without', site.run().returncode == 5 and server.requests == 0, server.requests)
    site.configure(hook)
    t.check('with both it does', site.until_done()[0].returncode == 0, '')
    check_all(t, 'TLS', server, all_records[:5])
    server.shutdown()


def lines_of(path):
    """Ids of the records in a file; a line that is none is an id that no record has."""
    with open(path) as f:
        return [id_of(line) for line in f]


def id_of(line):
    try:
        return json.loads(line)['id']
    except ValueError:
        return 'no record'


def test_file(t, place, all_records):
    out = place + '/out.ndjson'
    site = Site(place, 'file', {'type': 'file', 'path': out, 'batch': 10, 'backoff': 0})
    site.leave(*all_records[:30])
    site.run()
    with open(out, 'ab') as f:
        f.write(b'half a rec' * 100000)
    site.leave(*all_records[30:60])
    run, _ = site.until_done()
    t.check('file: all of it, once, without what a killed run left', run.returncode == 0 and sorted(lines_of(out)) == sorted(r['id'] for r in all_records[:60]), run)
    os.rename(out, out + '.1')
    site.leave(*all_records[60:70])
    site.run()
    t.check('a file that was moved away is begun anew', sorted(lines_of(out)) == sorted(r['id'] for r in all_records[60:70]), '')
    changed = dict(all_records[60], core_hours=1)
    site.leave(changed)
    site.run()
    site.run()
    t.check('another record of the same step is sent, too, and both only once', lines_of(out).count(changed['id']) == 2, lines_of(out).count(changed['id']))

    full = Site(place, 'full', {'type': 'file', 'path': place + '/full.ndjson', 'batch': 10, 'backoff': 0})
    full.leave(*all_records[:30])
    run = subprocess.run(['prlimit', '--fsize=%d' % 1, *full.words()], capture_output=True, text=True)
    t.check('a state that cannot grow is one clear error', run.returncode == 3 and run.stderr.count('\n') == 1, run)
    os.symlink('/dev/full', place + '/device')
    full.configure({'type': 'file', 'path': place + '/device', 'backoff': 0})
    t.check('nothing is written through a link', full.run().returncode == 5, '')


def test_full_disk(t, place, all_records):
    """A tmpfs of 64 KiB for the output; needs root."""
    mount = place + '/small'
    os.mkdir(mount)
    if os.geteuid() != 0 or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', mount], capture_output=True).returncode != 0:
        return
    try:
        out = mount + '/out.ndjson'
        site = Site(place, 'disk', {'type': 'file', 'path': out, 'batch': 10, 'backoff': 0, 'backoff_max': 0})
        site.leave(*all_records[:200])
        run = site.run()
        ids = lines_of(out)
        t.check('disk full: it waits, and only whole batches are there', run.returncode == 5 and 'No space' in run.stderr and 0 < len(ids) < 200 and len(ids) % 10 == 0, (run, len(ids)))
        subprocess.run(['mount', '-o', 'remount,size=8m', mount], check=True)
        run, _ = site.until_done()
        t.check('with room again all is there, once', run.returncode == 0 and sorted(lines_of(out)) == sorted(r['id'] for r in all_records[:200]), run)
    finally:
        subprocess.run(['umount', mount], check=True)


def test_poison(t, place, all_records):
    """A server that breaks whenever it sees one record, and does not say why."""
    server = Receiver()
    letters = place + '/letters'
    os.mkdir(letters)
    site = Site(place, 'poison', {'type': 'webhook', 'url': server.url, 'secret_file': secret_file(place), 'batch': 16, 'backoff': 0, 'dead_letters': letters})
    server.poison = {all_records[5]['id'], all_records[20]['id']}
    site.leave(*all_records[:40])
    for _ in range(40):
        site.run()
    status = site.status()[0]
    t.check('500 for one record holds nobody else up', status['done'] == 38 and status['waiting'] == 2 and status['dead'] == 0, status)
    for i in range(40, 52):
        site.leave(all_records[i])
        for _ in range(3):
            site.run()
    status = site.status()[0]
    t.check('and when others arrive between, it is dead at last', status['done'] == 50 and status['dead'] == 2 and status['waiting'] == 0, status)
    t.check('with a letter for each', len(os.listdir(letters)) == 2, os.listdir(letters))
    os.chmod(letters, 0o500)
    server.poison = set()
    server.plan.extend([500] * 6)
    site.leave(*all_records[52:60])
    for _ in range(20):
        site.run()
    check_all(t, 'a server that is broken for a while loses nothing', server, [r for i, r in enumerate(all_records[:60]) if i not in (5, 20)])
    site.run('--revive')
    site.until_done()
    check_all(t, 'dead ones that are revived', server, all_records[:60])
    server.shutdown()


class Proxy(http.server.BaseHTTPRequestHandler):
    """Hands requests on for who knows its password."""

    def log_message(self, *words):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.server.asked.append(self.path)
        again = urllib.request.Request(self.path, body, {k: v for k, v in self.headers.items() if k != 'Host'}, method='POST')
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(again, timeout=30) as a:
            text = a.read()
            self.send_response(a.status)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def test_proxy_and_metrics(t, place, all_records):
    server, proxy = Receiver(), http.server.ThreadingHTTPServer(('127.0.0.1', 0), Proxy)
    proxy.asked = []
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    page = place + '/publish.prom'
    site = Site(place, 'proxy', {'type': 'webhook', 'url': server.url, 'secret_file': secret_file(place), 'backoff': 0, 'proxy': 'http://127.0.0.1:%d' % proxy.server_port})
    site.leave(*all_records[:5])
    site.run('--metrics', page)
    check_all(t, 'through a proxy', server, all_records[:5])
    t.check('it was asked', proxy.asked == [server.url], proxy.asked)
    with open(page) as f:
        lines = f.read().splitlines()
    t.check('--metrics says how it stands', 'mpitrace_publish_sent_total{destination="d0",type="webhook"} 5' in lines and 'mpitrace_publish_waiting{destination="d0",type="webhook"} 0' in lines
            and all(line.startswith(('#', 'mpitrace_publish_')) for line in lines), lines)
    if shutil.which('promtool'):
        run = subprocess.run(['promtool', 'check', 'metrics'], input='\n'.join(lines) + '\n', capture_output=True, text=True)
        t.check('promtool takes it', run.returncode == 0 and not run.stderr, run)
    os.mkdir(place + '/directory')
    run = site.run('--metrics', place + '/directory')
    t.check('a file of metrics that cannot be is one error', run.returncode == 3 and run.stderr.count('\n') == 1, run)
    server.shutdown()
    proxy.shutdown()


def test_follow(t, place, all_records):
    server = Receiver()
    site = Site(place, 'follow', {'type': 'webhook', 'url': server.url, 'secret_file': secret_file(place), 'backoff': 0})
    p = subprocess.Popen(site.words('--follow', '--interval', '0.05', '--json'), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = lambda n: all(p.poll() is None and not time.sleep(0.02) for _ in iter(lambda: len(server.ids()) < n, False))
    site.leave(*all_records[:20])
    t.check('--follow: what is there is sent', until(20), '')
    bad = site.outbox + '/bad.job.json'
    with open(bad + '.tmp', 'w') as f:
        f.write('no record')
    os.rename(bad + '.tmp', bad)
    site.leave(*all_records[20:30])
    t.check('and what comes', until(30), '')
    path = glob.glob(site.outbox + '/*.job.json')[0]
    with open(path + '.tmp', 'w') as f:
        json.dump(dict(all_records[0], core_hours=3), f)
    os.rename(path + '.tmp', path)
    while sum(server.ids().values()) < 31 and p.poll() is None:
        time.sleep(0.02)
    t.check('also in place of a file that was there', sum(server.ids().values()) == 31, '')
    t.check('another one waits for its turn', site.run().returncode == 5, '')
    p.terminate()
    out, err = p.communicate(timeout=60)
    t.check('SIGTERM ends it', p.returncode in (0, 4) and json.loads(out)['destinations'][0]['done'] == 31, (p.returncode, out))
    t.check('a file that is no record is said once', err.count('bad.job.json') == 1, err)
    server.shutdown()


def test_versions(t, place, all_records):
    site = Site(place, 'versions', {'type': 'file', 'path': place + '/v.ndjson', 'backoff': 0})
    site.leave(*all_records[:3])
    site.run()
    db = sqlite3.connect(site.state)
    db.executescript('ALTER TABLE deliveries DROP COLUMN tries; ALTER TABLE deliveries DROP COLUMN seen; ALTER TABLE records DROP COLUMN taken; DROP TABLE totals; PRAGMA user_version=1')
    db.close()
    site.leave(*all_records[3:6])
    run, _ = site.until_done()
    t.check('a state of version 1 becomes one of today', run.returncode == 0 and sorted(lines_of(place + '/v.ndjson')) == sorted(r['id'] for r in all_records[:6]), run)
    db = sqlite3.connect(site.state)
    db.executescript('PRAGMA user_version=99')
    db.close()
    run = site.run()
    t.check('one of tomorrow is left alone', run.returncode == 3 and 'version 99' in run.stderr, run)


# ---- who may what ----

def test_trust(t, place, all_records):
    out = {'type': 'file', 'path': place + '/trust.ndjson', 'backoff': 0}
    hook = {'type': 'webhook', 'url': 'http://127.0.0.1:1/', 'secret_file': secret_file(place, 0o644)}
    site = Site(place, 'trust', hook)
    site.leave(all_records[0])
    run = site.run()
    t.check('a secret that others can read is not used', run.returncode == 3 and 'chmod' in run.stderr and SECRET not in run.stderr, run)
    for wrong in ({'type': 'nothing'}, {'type': 'webhook'}, {'type': 'webhook', 'url': 'http://a:b@c/'}, {'type': 'influxdb', 'url': 'http://c/'}, {**out, 'colour': 'red'},
                  {**out, 'batch': 0}, {'type': 'webhook', 'url': 'file:///etc/passwd'}):
        site.configure(wrong)
        run = site.run()
        t.check('%s: one error' % wrong, run.returncode == 3 and run.stderr.count('\n') == 1, run)
    there = place + '/there.ndjson'
    open(there, 'w').close()
    for path, same in ((place + '/new.ndjson', place + '/new.ndjson'), (there, place + '/./there.ndjson')):
        site.configure({**out, 'path': path}, {**out, 'path': same})
        run = site.run()
        t.check('two destinations in one file: one error', run.returncode == 3 and '[destination d1] has the path of [destination d0]' in run.stderr and run.stderr.count('\n') == 1, run)
    site.configure(out)
    os.chmod(site.place + '/mpitrace.conf', 0o666)
    t.check('a configuration that others can write does not count', site.run().returncode == 3, '')
    site.configure(out)
    if os.geteuid() == 0:
        path = glob.glob(site.outbox + '/*.job.json')[0]
        os.chown(path, 65534, 65534)
        run = site.run()
        t.check("another user's file than it says is left out", run.returncode == 4 and 'another user' in run.stderr and site.status()[0]['done'] == 0, run)
        os.chown(path, 0, 0)
    site.run()
    site.leave(all_records[1])
    old = time.time() - 1000
    for path in glob.glob(site.outbox + '/*.job.json'):
        os.utime(path, (old, old))
    os.utime(site.outbox + '/.published', (old, old))
    ingest = [MPITRACE, 'fleet', 'ingest', site.outbox, '--db', site.place + '/f.db', '--remove']
    subprocess.run(ingest, check=True, capture_output=True)
    t.check('fleet ingest --remove leaves what publish has not taken', len(glob.glob(site.outbox + '/*.job.json')) == 2, '')
    site.run()
    subprocess.run(ingest, check=True, capture_output=True)
    t.check('and removes it when it has', glob.glob(site.outbox + '/*.job.json') == [], '')


def test_hostile_outbox(t, place, all_records):
    """All may write in an outbox: nobody stops it for the others, or keeps it from being cleaned."""
    path = place + '/out.ndjson'
    site = Site(place, 'hostile', {'type': 'file', 'path': path, 'backoff': 0})
    os.chmod(site.outbox, 0o3733)
    site.leave(all_records[0])
    stamp = site.outbox + '/.published'
    for name in (stamp, stamp + '.new'):
        os.mkdir(name)
        open(name + '/x', 'w').close()
        os.mkdir(name + '/y', 0)
    run = site.run()
    t.check('a directory of the name of the stamp stops nothing', run.returncode == 4 and lines_of(path) == [all_records[0]['id']], run)
    t.check('and is no stamp', os.path.isfile(stamp), os.listdir(site.outbox))
    old = time.time() - 1000
    for i, below in enumerate(('deep', 'deep/er')):
        os.mkdir('%s/%s' % (site.outbox, below))
        with open('%s/%s/a.job.json' % (site.outbox, below), 'w') as f:
            json.dump(all_records[5 + i], f)
    with open(site.outbox + '/long.job.json', 'w') as f:
        f.write('x' * 9000)
    os.mkdir(site.outbox + '/closed', 0)
    site.leave(all_records[1])
    os.utime(stamp, (old, old))
    run = site.run()
    t.check('what cannot be read, and a directory, are said', run.returncode == 4 and all(x in run.stderr for x in ('long.job.json: is longer', 'deep: is a directory', 'closed: is a')), run)
    t.check('and do not hold the stamp', os.stat(stamp).st_mtime > old + 900 and lines_of(path) == [r['id'] for r in all_records[:2]], (os.stat(stamp), lines_of(path)))
    if os.geteuid() == 0:
        somebody = {'user': 65534, 'group': 65534, 'extra_groups': [], 'cwd': '/'}
        path = place + '/own'
        os.mkdir(path)
        os.chown(path, 65534, 65534)
        site.configure({'type': 'file', 'path': path + '/out.ndjson', 'backoff': 0})
        os.chown(site.place + '/mpitrace.conf', 65534, 65534)
        site.state = path + '/state.db'
        os.chmod(site.outbox, 0o3777)
        os.utime(stamp, (old, old))
        run = site.run(**somebody)
        t.check('a stamp that cannot be written is said, and what there is is sent', run.returncode == 4 and 'run this as the owner' in run.stderr and
                '.new' not in ' '.join(os.listdir(site.outbox)).replace('.published.new', '') and os.path.exists(path + '/out.ndjson'), run)


def test_forgotten(t, place, all_records):
    """Of a user who asks for it nothing stays at what can remove it, in the state, or on its way; of what cannot, that is said."""
    server, path = Receiver(), place + '/out.ndjson'
    hook = {'type': 'webhook', 'url': server.url, 'secret_file': secret_file(place), 'backoff': 0}
    site = Site(place, 'forgotten', {'type': 'file', 'path': path}, hook, {**hook, 'url': 'http://127.0.0.1:%d/' % free_port()})
    some = [dict(r, user='gone' if i % 3 == 0 else 'gone.not' if i % 3 == 1 else r['user']) for i, r in enumerate(all_records[:60])]
    site.leave(*some)
    site.run()
    os.chmod(path, 0o644)
    in_file = lambda: sorted(json.loads(line)['user'] for line in open(path))
    others = sorted(r['user'] for r in some if r['user'] != 'gone')
    in_state = lambda: b''.join(open(p, 'rb').read() for p in glob.glob(site.state + '*'))
    t.check('before: it is there', in_file().count('gone') == 20 and b'"gone"' in in_state() and site.status()[2]['waiting'] == 60, site.status())
    run = site.run('--forget-user', 'gone')
    t.check('a webhook cannot be told, which is said', run.returncode == 4 and re.findall('^(d[12]): who runs it must', run.stdout, re.M) == ['d1', 'd2'], run)
    t.equal('a file has nothing of theirs, and all of others', (run.stdout.splitlines()[0], in_file()), ('d0: 20 records removed', others))
    t.equal('with the same rights, and no other file beside it', (os.stat(path).st_mode & 0o777, os.listdir(place).count('out.ndjson.new')), (0o644, 0))
    t.check('nor has the state', b'"gone"' not in in_state() and b' gone\0' not in in_state() and site.status()[2]['waiting'] == 40, site.status())
    shutil.rmtree(site.outbox)
    os.mkdir(site.outbox)
    site.leave(*all_records[60:70])
    site.run()
    t.equal('what comes later is appended', in_file(), sorted(others + [r['user'] for r in all_records[60:70]]))
    t.equal('nobody to be forgotten is no error', site.run('--forget-user', 'stranger').stdout.splitlines()[0], 'd0: 0 records removed')
    for words in (('--forget-user', ''), ('--forget-user', 'x', '--follow'), ('--forget-user', 'x', site.outbox), ('--forget-user',)):
        t.check('%s: wrong use' % (words,), site.run(*words).returncode == 2, words)
    with open(site.state + '.lock') as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        t.check('not while another one is at work', site.run('--forget-user', 'x').returncode == 5, '')


def test_slow(t, place, all_records):
    slow, fast = Receiver(), Receiver()
    slow.free = threading.Event()
    slow.plan.append('slow')
    each = {'type': 'webhook', 'secret_file': secret_file(place), 'batch': 5, 'backoff': 0, 'timeout': 300}
    site = Site(place, 'slow', {**each, 'url': slow.url}, {**each, 'url': fast.url})
    site.leave(*all_records[:20])
    p = subprocess.Popen(site.words('--follow', '--interval', '0.05'), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = lambda server, n: all(p.poll() is None and not time.sleep(0.02) for _ in iter(lambda: len(server.ids()) < n, False))
    t.check('a destination that does not answer delays none behind it', until(fast, 20) and not slow.ids(), (slow.ids(), fast.ids()))
    site.leave(*all_records[20:40])
    t.check('nor what comes later', until(fast, 40) and not slow.ids(), (slow.ids(), fast.ids()))
    slow.free.set()
    t.check('and gets all when it answers', until(slow, 40), '')
    p.terminate()
    p.wait(60)
    for server in (slow, fast):
        check_all(t, 'slow', server, all_records[:40])
        server.shutdown()


# ---- killed at any instant ----

def test_kills(t, place, all_records):
    server, out, dice = Receiver(), place + '/kills.ndjson', random.Random(7)
    site = Site(place, 'kills', {'type': 'webhook', 'url': server.url, 'secret_file': secret_file(place), 'batch': 3, 'backoff': 0},
                {'type': 'file', 'path': out, 'batch': 2, 'backoff': 0})
    killed = 0
    for i in range(KILLS):
        site.leave(*all_records[2 * i:2 * i + 2])
        p = subprocess.Popen(site.words(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            p.wait(dice.uniform(0, 0.06))
        except subprocess.TimeoutExpired:
            p.send_signal(signal.SIGKILL)
        killed += p.wait() == -signal.SIGKILL
    run, _ = site.until_done()
    want = all_records[:2 * KILLS]
    t.check('all waits for nothing', run.returncode == 0, run)
    check_all(t, 'killed %d times' % killed, server, want)
    t.check('killed: the file has each once', sorted(lines_of(out)) == sorted(r['id'] for r in want), len(lines_of(out)))
    t.check('it was killed', killed > 0, killed)
    server.shutdown()


def main():
    tests = (test_faults, test_tls, test_file, test_full_disk, test_poison, test_proxy_and_metrics, test_follow, test_forgotten, test_slow, test_versions, test_trust, test_hostile_outbox, test_kills)
    each_in_its_place(Tests(), tests, records(max(2000, 2 * KILLS)))


main()
