#!/usr/bin/env python3
"""live_view.py - `mpitrace live --view`: the page, what is so far, announcements as they come, the events up to now as a trace; to nobody
but who has the address."""
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import time

from trace import MPITRACE, TIMEOUT, Tests
from web import Answer, read_all

sys.path.insert(0, os.environ['LIVE_READER'])
from live_feed import Job, until # noqa: E402
from live_reader import totals # noqa: E402

ADDRESS = re.compile(r'http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/\?live$')


class Server:
    def __init__(self, *words, terminal=None):
        self.process = subprocess.Popen([MPITRACE, *words, '--no-browser'], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8')
        port, self.token = ADDRESS.match(self.process.stdout.readline().strip()).groups()
        self.port = int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()

    def ask(self, path, *headers, token=None, host=None):
        with socket.create_connection(('127.0.0.1', self.port), timeout=60) as s:
            lines = ['GET /%s/%s HTTP/1.1' % (token or self.token, path), 'Host: %s' % (host or '127.0.0.1:%d' % self.port), 'Connection: close', *headers, '', '']
            s.sendall('\r\n'.join(lines).encode())
            return Answer(read_all(s))

    def json(self, path):
        answer = self.ask(path)
        return json.loads(answer.body) if answer.status == 200 else None

    def events(self):
        return Events(self)


class Events:
    """Server-sent events, as the HTML standard has them."""

    def __init__(self, server):
        self.socket = socket.create_connection(('127.0.0.1', server.port), timeout=60)
        self.socket.sendall(('GET /%s/events HTTP/1.1\r\nHost: localhost\r\n\r\n' % server.token).encode())
        self.data = b''
        self.head = self.upto(b'\r\n\r\n')

    def upto(self, end):
        while end not in self.data:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError
            self.data += more
        found, self.data = self.data.split(end, 1)
        return found.decode()

    def next(self, kind):
        """The data of the next event of that kind. Chunk heads of HTTP are lines of their own, which no field's name begins."""
        while True:
            lines = [line.strip('\r') for line in self.upto(b'\n\n').split('\n')]
            fields = dict(line.split(': ', 1) for line in lines if re.match('(id|event|data): ', line))
            if fields.get('event') == kind:
                return json.loads(fields['data'])


def serves(t):
    with Job(3, 4) as job, Server('live', job.dir + '/step', '--view', '--interval', '0.05') as s:
        page = s.ask('')
        t.check('the page is the viewer', page.status == 200 and b'mpitrace viewer' in page.body)
        t.equal('before the first sample there is none', s.json('summary')['samples'], [])
        events = s.events()
        t.check('the stream is one of events', 'text/event-stream' in events.head)
        job.sample(1)
        t.equal('a sample is announced', events.next('sample')['number'], 1)
        for k in range(2, 6):
            job.sample(k)
            events.next('sample')
        until(lambda: s.json('summary')['samples'][-1]['number'] >= 5)
        summary = s.json('summary')
        numbers = [x['number'] for x in summary['samples']]
        t.equal('the summary has them all, in order', numbers, list(range(1, len(numbers) + 1)))
        samples = [s.json('samples/%d' % n) for n in numbers]
        t.equal('they are the exact totals', totals(samples), job.expected(5))
        t.equal('behind one there are the others', [x['number'] for x in s.json('summary?since=3')['samples']], numbers[3:])
        t.equal('a row for each rank', {len(x['rows']) for x in summary['samples']}, {12})
        t.equal('what is not there is not found', [s.ask(p).status for p in ('samples/0', 'samples/99', 'samples/x', 'samples/', 'summary?since=x', 'trace-1.mpix',
                                                                          '../step/n0.mpic', 'n0.mpic', 'x')], [404] * 9)
        t.equal('nor is anything without the token', s.ask('summary', token='0' * 32).status, 404)
        t.equal('a page of another name may not ask', s.ask('summary', host='evil.example').status, 403)
        t.equal('nor one of another origin', s.ask('events', 'Origin: http://evil.example').status, 403)
        now = until(lambda: s.json('now'))
        t.check('what it is in now is said as by --json', now['schema'] == 'mpitrace/live/1' and len(now['ranks']) == 12, now)
        s.json('timeline')
        made = events.next('timeline')
        t.check('the events so far are a trace', s.ask(made.get('name', 'x'), 'Range: bytes=0-7').status == 206, made)
        s.json('timeline')
        again = events.next('timeline')
        t.check('and anew when somebody asks again', again.get('name') not in (None, made['name']), again)
        descriptors(t, s, events)
        slow = [s.events() for _ in range(20)]
        job.end(6)
        events.next('end')
        t.check('twenty who do not read hold nobody up, and the end is said', s.json('summary')['over'], len(slow))


def target(path):
    """Of a link; None when it has just gone."""
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return None


def descriptors(t, s, events):
    """Traces that are older than those that are kept leave none open, and are gone; the newest is whole."""
    def held():
        paths = ['/proc/%d/fd/%s' % (s.process.pid, x) for x in os.listdir('/proc/%d/fd' % s.process.pid)]
        return [x for x in map(target, paths) if x and not x.startswith('socket:')]

    def another():
        s.json('timeline')
        return events.next('timeline').get('name', 'x')
    names = [another() for _ in range(5)]
    before = held()
    names += [another() for _ in range(5)]
    t.equal('five traces later there are as many descriptors', len(held()), len(before))
    t.equal('the oldest of them are gone', [s.ask(n).status for n in names], [404] * 6 + [200] * 4)
    answers = [s.ask(names[-1]).body for _ in range(3)]
    t.check('the others are there each time', len(answers[0]) > 100 and answers == answers[:1] * 3, [len(a) for a in answers])


def views(t):
    with Job(1, 1) as job:
        job.sample(1)
        with Server('view', job.dir + '/step') as s:
            t.check('mpitrace view of a step that runs is the same', until(lambda: s.json('summary')['samples']))
        done = subprocess.run([MPITRACE, 'live', '--view', job.dir, '--once'], capture_output=True, encoding='utf-8')
        t.check('--once is no view', done.returncode == 2 and '--once' in done.stderr, done)


def taken_away(t):
    """What is looked at goes, while its samples are shown."""
    for how, go in (('removed', os.unlink), ('emptied', lambda p: os.truncate(p, 0)), ('cut in its head', lambda p: os.truncate(p, 100))):
        with Job(1, 2) as job, Server('live', job.dir + '/step', '--view', '--interval', '0.05') as s:
            job.sample(1)
            s.events().next('sample')
            go(job.dir + '/step/n0.mpic')
            said = next((line for line in s.process.stderr if line.startswith('mpitrace live: ')), None)
            summary = said and s.json('summary')
            t.check('a trace that is %s: it says so, and serves what it had' % how, summary and summary['samples'] and not summary['over'] and s.process.poll() is None, said)


def ended(server):
    """What it said, once it has ended by itself."""
    _, errors = server.process.communicate(timeout=TIMEOUT)
    return server.process.returncode, 'no page is open' in errors


def ends(t):
    with Job(1, 1) as job:
        job.sample(1)
        with Server('live', job.dir + '/step', '--view', '--interval', '0.05', '--linger', '0.2') as s:
            reader = s.events()
            reader.next('sample')
            time.sleep(1) # longer than it would linger
            t.check('while the job runs nobody need look', s.process.poll() is None)
            job.end(2)
            reader.next('end')
            time.sleep(1)
            t.check('a page that is open is served, also when the job is over', s.json('summary')['over'] and s.process.poll() is None)
            reader.socket.close()
            t.equal('when the job is over and the page closed, the server ends, and says so', ended(s), (0, True))
        with Server('live', job.dir + '/step', '--view', '--linger', '0') as s:
            t.equal('so does one that nobody ever asked', ended(s), (0, True))
        with Server('live', job.dir + '/step', '--view') as s:
            s.process.send_signal(signal.SIGHUP)
            t.equal('a terminal that hangs up ends it', ended(s), (0, False))
        ours, its = pty.openpty()
        with Server('live', job.dir + '/step', '--view', terminal=its) as s:
            os.close(its)
            os.close(ours)
            t.equal('so does one that is gone without a word', ended(s), (0, False))


def main():
    t = Tests()
    serves(t)
    taken_away(t)
    views(t)
    ends(t)
    t.end()


if __name__ == '__main__':
    main()
