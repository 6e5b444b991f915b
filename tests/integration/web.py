#!/usr/bin/env python3
"""web.py - `mpitrace view` over real sockets: it answers its own page and nobody else's, gives the part that was asked for, refuses
what it need not know, and nobody who is slow or rude keeps it from the others."""
import html
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from trace import MPITRACE, Tests

TOKEN = re.compile(r'http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/')


class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen([MPITRACE, 'view', *words, '--no-browser'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8')
        self.url = self.process.stdout.readline().strip()
        port, self.token = TOKEN.match(self.url).groups()
        self.port = int(port)

    def connect(self):
        return socket.create_connection(('127.0.0.1', self.port), timeout=60)

    def raw(self, request):
        """All that comes until the server closes."""
        with self.connect() as s:
            s.sendall(request)
            return read_all(s)

    def ask(self, path, *headers, method='GET', host=None):
        lines = ['%s %s HTTP/1.1' % (method, path)] + (['Host: ' + (host or '127.0.0.1:%d' % self.port)] if host != '' else [])
        return Answer(self.raw('\r\n'.join([*lines, 'Connection: close', *headers, '', '']).encode()))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()
        return self.process.returncode


class Answer:
    def __init__(self, data):
        head, _, self.body = data.partition(b'\r\n\r\n')
        lines = head.decode('latin-1').split('\r\n')
        self.status = int(lines[0].split()[1]) if lines[0] else 0
        self.headers = [tuple(line.split(': ', 1)) for line in lines[1:]]

    def header(self, name):
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


def read_all(s):
    data = b''
    while True:
        try:
            more = s.recv(1 << 20)
        except ConnectionResetError:
            more = b''
        if not more:
            return data
        data += more


def who_may_ask(t, s, trace):
    page, file = '/%s/' % s.token, '/%s/trace.mpix' % s.token
    t.equal('the trace is served', (s.ask(file).status, s.ask(file).body == trace), (200, True))
    t.equal('the page is served', (s.ask(page).status, s.ask(page).header('Content-Type')), (200, 'text/html; charset=utf-8'))
    t.equal('not without the token', [s.ask(p).status for p in ('/', '/trace.mpix', '/%s/trace.mpix' % ('0' * 32), '/%s' % s.token, page + 'x')], [404] * 5)
    t.equal('no other file, however it is called', [s.ask(page + p).status for p in ('../../etc/passwd', '%2e%2e/passwd', '/etc/passwd', 'trace.mpix/', 'trace.mpix%2500')], [404] * 5)
    t.equal('a NUL in the address', [s.ask(page + p).status for p in ('%00', 'trace.mpix%00', 'trace.mpix%00.txt', 'trace.mpix?a=%00', '%00/trace.mpix')], [400] * 5)
    t.equal('a page of another name may not ask', [s.ask(file, host=h).status for h in ('evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:80')], [403] * 3)
    t.equal('nor one of another origin', [s.ask(file, 'Origin: ' + o).status for o in ('http://evil.example', 'null')], [403] * 2)
    t.equal('its own may', s.ask(file, 'Origin: http://127.0.0.1:%d' % s.port).status, 200)
    t.check('no Host: refused', s.ask(file, host='').status in (400, 403))
    t.check('two Hosts: refused', s.ask(file, 'Host: 127.0.0.1').status == 400)
    want = {'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Resource-Policy': 'same-origin',
            'Content-Security-Policy': "frame-ancestors 'none'"}
    t.equal('nobody may frame, keep or guess it', {k: s.ask(page).header(k) for k in want}, want)
    t.equal('no other page is allowed to read it', s.ask(file).header('Access-Control-Allow-Origin'), None)


def what_is_refused(t, s):
    file = '/%s/trace.mpix' % s.token
    t.equal('other methods', [s.ask(file, method=m).status for m in ('POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE')], [405] * 5)
    t.equal('a body', s.ask(file, 'Content-Length: 5').status, 400)
    t.equal('a body in chunks', s.ask(file, 'Transfer-Encoding: chunked').status, 400)
    for what, request in (('no request', b'\0\xff\r\n\r\n'), ('no version', b'GET /\r\n\r\n'), ('a version of its own', b'GET / HTTP/9.9\r\nHost: localhost\r\n\r\n'),
                          ('a line without an end', b'GET /' + b'a' * 100000 + b' HTTP/1.1\r\n\r\n'),
                          ('headers without an end', b'GET / HTTP/1.1\r\n' + b'X: ' + b'y' * 200000 + b'\r\n\r\n')):
        status = Answer(s.raw(request)).status
        t.check('%s: refused (%d)' % (what, status), status == 0 or 400 <= status <= 505)


def ranges(t, s, trace):
    file, n = '/%s/trace.mpix' % s.token, len(trace)
    for value, first, size in (('bytes=10-19', 10, 10), ('bytes=%d-' % (n - 7), n - 7, 7), ('bytes=-5', n - 5, 5), ('bytes=3-999999999', 3, n - 3)):
        a = s.ask(file, 'Range: ' + value)
        t.equal(value, (a.status, a.body, a.header('Content-Range')), (206, trace[first:first + size], 'bytes %d-%d/%d' % (first, first + size - 1, n)))
    a = s.ask(file, 'Range: bytes=%d-' % n)
    t.equal('behind the end', (a.status, a.body, a.header('Content-Range')), (416, b'', 'bytes */%d' % n))
    a = s.ask(file, 'Range: bytes=1-2,4-5')
    t.equal('two ranges are all', (a.status, a.body == trace), (200, True))
    a = s.ask(file, method='HEAD')
    t.equal('HEAD says how long it is', (a.status, a.body, a.header('Content-Length')), (200, b'', str(n)))


def manners(t, s, trace):
    file = '/%s/trace.mpix' % s.token
    request = ('GET %s HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-9\r\n\r\n' % file).encode()
    with s.connect() as one:
        one.sendall(request * 5)
        got = b''
        while got.count(trace[:10]) < 5:
            more = one.recv(65536)
            if not more:
                break
            got += more
        t.equal('requests one after the other, on one connection', got.count(trace[:10]), 5)
    slow = [s.connect() for _ in range(40)]
    for i, x in enumerate(slow):
        x.sendall(request[:20] if i % 2 else request.replace(b'Range: bytes=0-9\r\n', b''))
    t.equal('40 who do not go on keep nobody waiting', s.ask(file).status, 200)
    more = [s.connect() for _ in range(100)]
    for x in slow + more:
        x.close()
    deadline = time.monotonic() + 60
    while s.ask_quietly(file) != 200 and time.monotonic() < deadline:
        pass
    t.equal('nor do 100 at once, when they have gone', s.ask_quietly(file), 200)


def ask_quietly(self, path):
    try:
        return self.ask(path).status
    except OSError:
        return 0


Server.ask_quietly = ask_quietly


OPENER = '''#!%s
import json, os, sys
page = sys.argv[-1] if os.path.exists(sys.argv[-1]) else sys.argv[0]
said = {'words': sys.argv[1:], 'mode': os.stat(page).st_mode & 0o777, 'above': os.stat(os.path.dirname(page)).st_mode & 0o777, 'text': open(page).read()}
with open(os.environ['SAID'] + '.new', 'w') as f:
    json.dump(said, f)
os.rename(os.environ['SAID'] + '.new', os.environ['SAID'])
'''


def opened(t, path, place):
    """All users can read the arguments of a process: what opens the browser is not told the address there."""
    os.makedirs(place + '/bin')
    with open(place + '/bin/xdg-open', 'w') as f:
        f.write(OPENER % sys.executable)
    os.chmod(place + '/bin/xdg-open', 0o755)
    env = dict(os.environ, PATH=place + '/bin:' + os.environ['PATH'], SAID=place + '/said', TMPDIR=place)
    with subprocess.Popen([MPITRACE, 'view', path, '--rank', '1', '--from', '0', '--to', '1'], env=env, stdout=subprocess.PIPE, encoding='utf-8') as p:
        url = p.stdout.readline().strip()
        deadline = time.monotonic() + 60
        while not os.path.exists(place + '/said') and time.monotonic() < deadline:
            time.sleep(0.01)
        with open(place + '/said', encoding='utf-8') as f:
            said = json.load(f)
        t.check('what opens the browser has no token in its arguments', TOKEN.match(url)[2] not in str(said['words']), said)
        t.equal('but a page that only its user can read, and that leads there', (said['mode'], said['above'], html.unescape(''.join(re.findall('url=([^"]*)"', said['text'])))), (0o600, 0o700, url))
        p.kill()
    while len(os.listdir(place)) > 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    t.equal('which goes with the server, also one that was killed', sorted(os.listdir(place)), ['bin', 'said'])


def mistakes(t, path, s):
    done = subprocess.run([MPITRACE, 'view', path, '--port', str(s.port), '--no-browser'], capture_output=True, encoding='utf-8')
    t.equal('a port that is taken', (done.returncode, '--port' in done.stderr and 'in use' in done.stderr), (3, True))
    done = subprocess.run([MPITRACE, 'view', path + '.none'], capture_output=True, encoding='utf-8')
    t.equal('a file that is missing', (done.returncode, path + '.none' in done.stderr), (3, True))
    done = subprocess.run([MPITRACE, 'view'], capture_output=True, encoding='utf-8')
    t.equal('no file', (done.returncode, 'usage: mpitrace view' in done.stderr), (2, True))


def names(t, directory, trace):
    """Runs are told apart by as much of their paths as it takes; a name ends no header."""
    paths = ['%s/%s/job.mpix' % (directory, step) for step in ('step-0', 'step "1"\r\nX-Y: z')]
    for path in paths:
        os.mkdir(os.path.dirname(path))
        with open(path, 'wb') as f:
            f.write(trace)
    s = Server(*paths)
    try:
        answers = [s.ask('/%s/%s.mpix' % (s.token, name)) for name in ('trace', 'other')]
        t.equal('what they are called', [(a.header('Content-Disposition'), a.header('X-Y')) for a in answers],
                [('inline; filename="step-0/job.mpix"', None), ('inline; filename="step__1___X-Y__z/job.mpix"', None)])
    finally:
        s.end()


def main():
    t = Tests()
    with tempfile.TemporaryDirectory(prefix='mpitrace-test-') as directory:
        path = directory + '/a.mpix'
        subprocess.run([os.environ['MAKE_MPIX'], path, '2', '2', '50'], check=True, stdout=subprocess.DEVNULL)
        with open(path, 'rb') as f:
            trace = f.read()
        s = Server(path)
        try:
            who_may_ask(t, s, trace)
            what_is_refused(t, s)
            ranges(t, s, trace)
            manners(t, s, trace)
            mistakes(t, path, s)
        finally:
            code = s.end()
        t.equal('a signal ends it', code, -signal.SIGTERM)
        s = Server(path, path)
        try:
            t.equal('two runs', (s.url.endswith('/?other=other.mpix'), s.ask('/%s/other.mpix' % s.token).body == trace), (True, True))
        finally:
            s.end()
        s = Server(path, path, path)
        try:
            t.equal('three runs', (s.url.endswith('/?other=other.mpix&other=other-2.mpix'), s.ask('/%s/other-2.mpix' % s.token).body == trace), (True, True))
        finally:
            s.end()
        names(t, directory, trace)
        opened(t, path, directory + '/opened')
    t.end()


if __name__ == '__main__':
    main()
