#!/usr/bin/env python3
"""slow_clients.py - a thousand connections that send a byte now and then, that do not read, that come again as soon as they are closed,
keep nobody from a page: of `mpitrace view`, `live --view`, `fleet serve`, nor from the samples of `live --port`."""
import contextlib
import os
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from trace import MPITRACE, Tests
from web import Answer, read_all

sys.path.insert(0, os.environ['LIVE_READER'])
from live_feed import Job, Live, at_number # noqa: E402
from live_reader import Protocol # noqa: E402

MANY = 1000
PATIENCE_SECONDS = 60 # of the test, with a busy machine; what it took is said
GONE = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR


class Crowd:
    """Connections that send `sends`, its first bytes at once and the others one by one, and never read. One that is closed comes again."""

    def __init__(self, port, sends, first=0):
        self.address, self.sends, self.first = ('127.0.0.1', port), sends, first
        self.there = {} # descriptor: [socket, bytes sent]
        self.poll = select.epoll()
        self.closed = 0
        self.full, self.over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        self.full.wait()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def come(self):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048) # takes little before it is read
        s.setblocking(False)
        s.connect_ex(self.address)
        self.there[s.fileno()] = [s, 0]
        self.poll.register(s, GONE)

    def come_again(self, fd):
        self.poll.unregister(fd)
        self.there.pop(fd)[0].close()
        self.closed += 1
        self.come()

    def send(self, one):
        n = max(self.first, one[1] + 1)
        with contextlib.suppress(OSError): # not connected yet, or not any more
            one[1] += one[0].send(self.sends[one[1]:n])

    def run(self):
        for _ in range(MANY):
            self.come()
        while not self.over.wait(0.02): # now and then
            for one in self.there.values():
                if one[1] < len(self.sends):
                    self.send(one)
            for fd, _ in self.poll.poll(0):
                self.come_again(fd)
            self.full.set()
        for one in self.there.values():
            one[0].close()


class Page:
    def __init__(self, *words, files=1024):
        self.process = subprocess.Popen(['sh', '-c', 'ulimit -Sn %d && exec "$0" "$@"' % files, MPITRACE, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding='utf-8')
        self.port, self.token = re.match(r'http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/', self.process.stdout.readline()).groups()
        self.port = int(self.port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()

    def request(self, path, *headers, token=None):
        return '\r\n'.join(['GET /%s/%s HTTP/1.1' % (token or self.token, path), 'Host: localhost', *headers, '', '']).encode()

    def once(self, path):
        """True, or what came instead."""
        try:
            with socket.create_connection(('127.0.0.1', self.port), timeout=PATIENCE_SECONDS) as s:
                s.sendall(self.request(path, 'Connection: close'))
                answer = Answer(read_all(s))
                whole = len(answer.body) == int(answer.header('Content-Length') or -1)
                return (answer.status == 200 and whole) or answer.status
        except OSError as e:
            return e

    def ask(self, path):
        """As a person does, who asks again when nothing came: on a busy machine we may be among the slow ones."""
        end = time.monotonic() + PATIENCE_SECONDS
        while (got := self.once(path)) is not True and time.monotonic() < end:
            pass
        return got


def with_a_crowd(t, what, ask, crowd):
    """ask: true as soon as it has been answered."""
    took = []
    with crowd:
        for _ in range(5):
            began = time.monotonic()
            good = ask()
            took.append(time.monotonic() - began)
            if good is not True:
                break
    print('# %s: %d times in %.0f ms at most, while %d were closed' % (what, len(took), max(took) * 1e3, crowd.closed))
    t.equal(what, good, True)


def pages(t, name, page, path, large):
    """path: what is asked for; large: more than a socket takes."""
    def ask():
        return page.ask(path)
    with_a_crowd(t, name + ': who send a byte now and then, without the token', ask, Crowd(page.port, page.request('x' * 4000, token='0' * 32)))
    with_a_crowd(t, name + ': with it', ask, Crowd(page.port, page.request(path, 'X: ' + 'x' * 4000), 60))
    with_a_crowd(t, name + ': who send nothing', ask, Crowd(page.port, b''))
    with_a_crowd(t, name + ': who ask, and do not read', ask, Crowd(page.port, page.request(large), 4000))
    with_a_crowd(t, name + ': who have no token, and come again and again', ask, Crowd(page.port, page.request(path, token='0' * 32), 4000))


def view(t, place):
    path = place + '/a.mpix'
    subprocess.run([os.environ['MAKE_MPIX'], path, '2', '2', '50'], check=True, stdout=subprocess.DEVNULL)
    with Page('view', path, '--no-browser') as page:
        pages(t, 'view', page, 'trace.mpix', '')
    with Page('view', path, '--no-browser', files=64) as page:
        with_a_crowd(t, 'view, with 64 descriptors: who send nothing', lambda: page.ask('trace.mpix'), Crowd(page.port, b''))


def live_view(t):
    with Job(1, 1) as job:
        job.sample(1)
        with Page('live', job.dir + '/step', '--view', '--no-browser', '--interval', '0.05') as page:
            pages(t, 'live --view', page, 'summary', '')
            with_a_crowd(t, 'live --view: who listen and do not read', lambda: page.ask('summary'), Crowd(page.port, page.request('events'), 4000))


def fleet(t, place):
    db = place + '/year.db'
    with open(place + '/year.ndjson', 'w') as f:
        subprocess.run([os.environ['MAKE_FLEET'], '--jobs', '3000', '--nodes', '100'], stdout=f, check=True)
    subprocess.run([MPITRACE, 'fleet', 'ingest', place + '/year.ndjson', '--db', db], check=True, stdout=subprocess.DEVNULL)
    with Page('fleet', 'serve', '--db', db) as page:
        pages(t, 'fleet serve', page, 'users.csv', 'users.csv')


def newest(live):
    try:
        return live.tcp().get()['number'] == 1
    except (OSError, EOFError, Protocol) as e:
        return e


def feed(t):
    with Job(1, 1) as job, Live(job) as live:
        job.sample(1)
        at_number(live.unix(), 1)
        for what, sends in (('send a byte now and then', b'token ' + b'0' * 200), ('send nothing', b'')):
            with_a_crowd(t, 'live --port: who %s, without the token' % what, lambda: newest(live), Crowd(int(live.port), sends))
        job.end(2)
        with Crowd(int(live.port), b'token ' + b'0' * 200):
            t.equal('live --port: ends after its job, whoever without the token comes', live.process.wait(PATIENCE_SECONDS), 0)


def main():
    t = Tests()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * MANY)), hard))
    with tempfile.TemporaryDirectory(prefix='mpitrace-test-') as place:
        view(t, place)
        live_view(t)
        if os.environ['MAKE_FLEET']:
            fleet(t, place)
        feed(t)
    t.end()


if __name__ == '__main__':
    main()
