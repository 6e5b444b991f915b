#!/usr/bin/env python3
"""publish.py [KILLS] - `mpitrace publish`: every record arrives, and none twice in effect, at a real InfluxDB, at a server that fails in every
way, and in a file, also when it is killed at any instant (KILLS times, else 100). Environment: MAKE_FLEET, MPITRACE, PROGRAMS."""
import collections
import glob
import gzip
import hashlib
import hmac
import http.server
import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

from trace import MPITRACE, Tests

KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
SECRET = 'a secret of the test'


def records(n):
    text = subprocess.run([os.environ['MAKE_FLEET'], '--jobs', str(n)], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in text.splitlines()]


class Site:
    """A directory with a configuration, an outbox and a state."""

    def __init__(self, place, name, *sections):
        self.place = os.path.join(place, name)
        self.outbox, self.state = self.place + '/outbox', self.place + '/state.db'
        os.makedirs(self.outbox)
        os.chmod(self.place, 0o755)
        self.configure(*sections)

    def configure(self, *sections):
        with open(self.place + '/mpitrace.conf', 'w') as f:
            f.write('[defaults]\noutbox = %s\n' % self.outbox)
            for i, section in enumerate(sections):
                f.write('[destination d%d]\n%s\n' % (i, '\n'.join('%s = %s' % item for item in section.items())))
        os.chmod(self.place + '/mpitrace.conf', 0o600)

    def leave(self, *some):
        for record in some:
            name = '%s/j%s.%s.job.json' % (self.outbox, hashlib.sha1(record['id'].encode()).hexdigest(), os.urandom(4).hex())
            with open(name + '.tmp', 'w') as f:
                json.dump(record, f)
            os.rename(name + '.tmp', name)

    def words(self, *more):
        return [MPITRACE, 'publish', '--config', self.place + '/mpitrace.conf', '--state', self.state, *more]

    def run(self, *more, **options):
        return subprocess.run(self.words(*more), capture_output=True, text=True, timeout=120, **options)

    def status(self):
        return json.loads(self.run('--status', '--json').stdout)['destinations']

    def until_done(self, rounds=200):
        """Runs until nothing waits any more; how often."""
        for i in range(rounds):
            run = self.run()
            if run.returncode != 5:
                return run, i + 1
        return run, rounds


def secret_file(place, mode=0o600):
    path = '%s/secret%o' % (place, mode)
    with open(path, 'w') as f:
        f.write(SECRET + '\n')
    os.chmod(path, mode)
    return path


# ---- a server that takes it strictly ----

class Receiver(http.server.ThreadingHTTPServer):
    """Holds each batch to what is documented. plan: what it does with the requests that come, in turn, then it takes all."""
    daemon_threads = True

    def __init__(self, context=None):
        super().__init__(('127.0.0.1', 0), Handler)
        self.plan, self.batches, self.wrong, self.requests, self.most = collections.deque(), {}, [], 0, None
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
        n = len(json.loads(gzip.decompress(body) if self.headers['Content-Encoding'] else body)['records'])
        if s.most and n > s.most:
            return self.answer(413)
        if what == 'reset':
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
            self.connection.close()
            self.close_connection = True
        elif what == 'slow':
            s.free.wait()
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


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


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


# ---- the real one ----

class Influx:
    def __init__(self, place):
        self.url, self.place = 'http://127.0.0.1:%d' % free_port(), place
        with open(place + '/influxdb.conf', 'w') as f:
            f.write('reporting-disabled = true\nbind-address = "127.0.0.1:%d"\n[meta]\ndir = "%s/meta"\n[data]\ndir = "%s/data"\nwal-dir = "%s/wal"\n'
                    '[http]\nbind-address = "%s"\nlog-enabled = false\n' % (free_port(), place, place, place, self.url[7:]))
        self.process = subprocess.Popen([shutil.which('influxd'), '-config', place + '/influxdb.conf'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                urllib.request.urlopen(self.url + '/ping', timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)

    def ask(self, question):
        data = urllib.parse.urlencode({'q': question, 'db': 'fleet', 'epoch': 's'}).encode()
        with urllib.request.urlopen(self.url + '/query', data, timeout=60) as answer:
            series = json.load(answer)['results'][0].get('series', [])
        return [dict(zip(s['columns'], row)) for s in series for row in s['values']]

    def stop(self):
        self.process.kill()
        self.process.wait()


def test_influxdb(t, place, all_records):
    if not shutil.which('influxd'):
        print('# influxdb is not installed: not tested against the real one')
        return
    server = Influx(place)
    try:
        some = [dict(r) for r in all_records[:1500]]
        some[0].update(user='a,b=c d\\', program='/x/"\u00e9\n y\\')
        some[1].update(user='x\ny injected=1 5', account=',=', program='\U0001f600')
        site = Site(place, 'influx', {'type': 'influxdb', 'url': server.url, 'database': 'fleet', 'backoff': 0})
        site.leave(*some)
        t.check('--check reaches it', site.run('--check').returncode == 0, '')
        run = site.run()
        t.check('a database that is not there yet is waited for', run.returncode == 5 and 'not found' in run.stderr, run)
        server.ask('CREATE DATABASE fleet')
        run, _ = site.until_done()
        count = lambda: server.ask('SELECT count(core_hours) AS n, sum(core_hours) AS h FROM mpitrace_job')[0]
        want = sum(r['core_hours'] for r in some)
        t.check('InfluxDB: every record', run.returncode == 0 and count()['n'] == 1500 and abs(count()['h'] - want) < 1e-6 * want, (run, count(), want))
        os.unlink(site.state)
        t.check('and none twice, when all is sent again', site.until_done()[0].returncode == 0 and count()['n'] == 1500, count())
        odd = server.ask("SELECT * FROM mpitrace_job WHERE id = '%s'" % some[0]['id'])
        t.check('a hostile name is one value', len(odd) == 1 and odd[0]['user'] == 'a,b=c d/' and odd[0]['program'] == '/x/"\u00e9? y/', odd)
        odd = server.ask("SELECT * FROM mpitrace_job WHERE id = '%s'" % some[1]['id'])
        t.check('and makes no line of its own', len(odd) == 1 and odd[0]['user'] == 'x?y injected=1 5' and odd[0]['account'] == ',=' and odd[0]['program'] == '\U0001f600', odd)
        t.check('no other measurement is there', server.ask('SHOW MEASUREMENTS') == [{'name': 'mpitrace_job'}], '')
        start = server.ask("SELECT ranks, elapsed_s FROM mpitrace_job WHERE id = '%s'" % some[2]['id'])[0]
        t.check('values are those of the record', start['ranks'] == some[2]['ranks'] and abs(start['elapsed_s'] - some[2]['elapsed_s']) < 1e-6
                and time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(start['time'])) == some[2]['start'], (start, some[2]))
    finally:
        server.stop()


def main():
    t = Tests()
    all_records = records(max(2000, 2 * KILLS))
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        for test in (test_faults, test_tls, test_file, test_full_disk, test_trust, test_kills, test_influxdb):
            sub = os.path.join(place, test.__name__)
            os.mkdir(sub)
            os.chmod(sub, 0o755)
            test(t, sub, all_records)
    t.end()


main()
