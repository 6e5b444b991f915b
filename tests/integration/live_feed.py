#!/usr/bin/env python3
"""live_feed.py - `mpitrace live --socket` and `--port`: samples of all nodes as one, numbered and complete, for several readers, of which
none holds up the others, by a reader that knows docs/LIVE.md only; nodes that are late, silent, come back, or never were there."""
import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

from trace import MPITRACE, TIMEOUT, Tests, until

sys.path.insert(0, os.environ['LIVE_READER'])
from live_reader import Protocol, Reader, totals # noqa: E402


class Job:
    """A directory of growing .mpic files, whose samples are as old as they are said to be."""

    def __init__(self, nodes, ranks, listed=None, gap=1, ago=100):
        self.dir = tempfile.mkdtemp(prefix='mpitrace-feed-')
        self.nodes, self.ranks, self.gap = nodes, ranks, gap
        self.start = int(time.time() - ago) // gap * gap
        os.mkdir(self.dir + '/step')
        self.writer = subprocess.Popen([os.environ['GROW_MPIC'], self.dir + '/step', str(nodes), str(ranks), str(self.start), str(gap),
                                        str(listed or nodes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding='utf-8')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.writer.communicate()
        shutil.rmtree(self.dir)

    def do(self, *words):
        self.writer.stdin.write(' '.join(map(str, words)) + '\n')
        self.writer.stdin.flush()
        if self.writer.stdout.readline() != 'ok\n':
            raise RuntimeError(words)

    def sample(self, k, first=0, last=None):
        self.do('sample', k, first, self.nodes - 1 if last is None else last)

    def end(self, k):
        self.do('end', k, 0, self.nodes - 1)

    def expected(self, k, ranks=None):
        """The exact totals at sample k."""
        sums = {}
        for r in range(self.nodes * self.ranks) if ranks is None else ranks:
            sends = k * (r % 3 + 1)
            sums[r, 0, 'MPI_Send'] = (sends, sends * 10, sends * 8)
            sums[r, 0, 'MPI_Barrier'] = (k, k * (r + 1), 0)
        return sums


class Live:
    def __init__(self, job, *options):
        self.socket = job.dir + '/s'
        self.process = subprocess.Popen([MPITRACE, 'live', job.dir + '/step', '--interval', '0.05', '--socket', self.socket, '--port', '0', *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8')
        self.said = [self.process.stdout.readline().split(), self.process.stdout.readline().split()]
        _, _, self.port, _, self.token = self.said[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        _, self.errors = self.process.communicate()
        return self.process.returncode

    def hang_up(self):
        self.process.send_signal(signal.SIGHUP)
        self.process.communicate()
        return self.process.returncode, os.path.exists(self.socket)

    def unix(self):
        return Reader.unix(self.socket)

    def tcp(self):
        return Reader.tcp(self.port, self.token)

    def raw(self, data, tcp=False):
        """All that comes to one who sends these bytes and no more."""
        with socket.create_connection(('127.0.0.1', int(self.port))) if tcp else socket.socket(socket.AF_UNIX) as s:
            s.settimeout(60)
            if not tcp:
                s.connect(self.socket)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
            got = b''
            with contextlib.suppress(ConnectionResetError):
                while True:
                    more = s.recv(1 << 16)
                    if not more:
                        break
                    got += more
            return got.decode()


def at_number(reader, n):
    while reader.newest < n:
        reader.next()
    return reader


def merges(t):
    """Four nodes, three ranks each; a reader from the first sample on, one that comes later, one over TCP."""
    with Job(4, 3, gap=60, ago=0) as job, Live(job) as live: # nobody is late: no look comes between two nodes
        first = live.unix()
        t.equal('before the first sample there is none', (first.oldest, first.newest, first.get()), (0, 0, None))
        job.sample(1)
        at_number(first, 1)
        t.check('only the user may open the socket', stat.S_IMODE(os.stat(live.socket).st_mode) == 0o600)
        for k in range(2, 6):
            job.sample(k)
            at_number(first, k)
        t.equal('each merged sample is announced once, by number, and with the time of all nodes',
                [a[:2] for a in first.announced], [(k, job.start + k * job.gap) for k in range(1, 6)])
        later = live.tcp()
        t.equal('who comes later is told what there is', (later.oldest, later.newest), (1, 5))
        samples = later.since(0)
        t.equal('and may have all of it', [s['number'] for s in samples], [1, 2, 3, 4, 5])
        t.equal('each has all ranks and threads of all nodes', {tuple(sorted((r['rank'], len(r['threads'])) for r in s['ranks'])) for s in samples},
                {tuple((r, 1) for r in range(12))})
        t.equal('deltas of all samples are the totals, to the tick', totals(samples), job.expected(5))
        t.equal('one sample alone is what happened in it', totals([samples[2]]),
                {key: tuple(a - b for a, b in zip(value, job.expected(2)[key])) for key, value in job.expected(3).items()})
        at_five = samples[4]
        t.equal('who is in a call is said', {at_five['names'][r['threads'][0]['in']]['op'] for r in at_five['ranks']}, {'MPI_Barrier'})
        t.check('who is in none, too', all('in' not in r['threads'][0] for r in samples[3]['ranks']))
        t.equal('what the kernel counted goes with it', [(x['cpu_ns'], x['wait_ns']) for x in at_five['ranks'][0]['threads']], [(1000, 100)])
        t.equal('all nodes were sampled', {n['state'] for n in at_five['nodes']}, {'sampled'})
        job.end(6)
        first.until('end')
        later.until('end')
        t.equal('when the job has ended, that is said, and all is there', totals(first.since(0)), job.expected(6))


def lags(t):
    """Node 1 of 3 is late, falls silent, and its agent comes back."""
    with contextlib.ExitStack() as ends:
        job = ends.enter_context(Job(3, 2))
        job.sample(1)
        job.sample(2, 0, 0)
        job.sample(2, 2, 2) # 100 s ago: late by now
        live = ends.enter_context(Live(job))
        reader = at_number(live.unix(), 2)
        late = reader.get(2)
        t.equal('a node that is late is not waited for, and said', [n['state'] for n in sorted(late['nodes'], key=lambda n: n['node'])],
                ['sampled', 'lags', 'sampled'])
        t.equal('its ranks are there, with nothing new', {r['rank']: r['threads'][0]['totals'] == [] for r in late['ranks']},
                {0: False, 1: False, 2: True, 3: True, 4: False, 5: False})
        job.sample(2, 1, 1)
        job.sample(3)
        until(lambda: totals(reader.since(0)) == job.expected(3))
        samples = reader.since(0)
        t.equal('what it did comes later, and nothing is lost', totals(samples), job.expected(3))
        t.check('in samples of ever later times', [s['time'] for s in samples] == sorted(s['time'] for s in samples), samples)
        job.sample(4, 0, 0)
        job.sample(4, 2, 2)
        at_number(reader, reader.newest + 1)
        job.do('whole', 6, 1, 1)
        job.sample(5, 0, 0)
        job.sample(5, 2, 2)
        job.sample(6, 0, 0)
        job.sample(6, 2, 2)
        until(lambda: totals(live.unix().since(0)) == job.expected(6))
        t.equal('an agent that comes back counts from the start, which is counted once', totals(live.unix().since(0)), job.expected(6))


def now_waits(t):
    """Samples of this moment: a node that may still come is waited for. Who is greeted is so behind the first look."""
    with Job(2, 1, ago=2, gap=4) as job:
        job.sample(0)
        job.sample(1, 0, 0)
        with Live(job) as live:
            reader = live.unix()
            t.equal('before it is late nobody is left out', reader.newest, 1)
            job.sample(1, 1, 1)
            at_number(reader, 2)
            t.equal('and when it has come the sample is whole', {n['state'] for n in reader.get(2)['nodes']}, {'sampled'})
    with Job(2, 1, ago=2, gap=4) as job:
        job.sample(0, 0, 0)
        with Live(job) as live:
            t.equal('nor one without a file', live.unix().newest, 0)


def missing(t):
    with Job(2, 2, listed=4) as job, Live(job) as live:
        reader = live.unix()
        job.sample(1)
        at_number(reader, 1)
        t.equal('nodes without a file are named, and not waited for', reader.get()['nodes_missing'], ['n2', 'n3'])
        job.do('junk', 0, 5000)
        job.sample(2)
        job.do('cut', 1, 7)
        job.sample(3)
        at_number(reader, 3)
        with open(job.dir + '/step/hostile.mpic', 'wb') as f:
            f.write(b'nothing of ours' * 1000)
        job.sample(4)
        until(lambda: totals(reader.since(0)).get((0, 0, 'MPI_Barrier')) == job.expected(4)[0, 0, 'MPI_Barrier'])
        only = {key: value for key, value in totals(reader.since(0)).items() if key[0] < 2}
        t.equal('what is no block, and a file that is no trace, cost nothing else', only, job.expected(4, range(2)))


def hangs_up(t):
    with Job(1, 1) as job, Live(job) as live:
        job.sample(1)
        at_number(live.unix(), 1)
        t.equal('a terminal that hangs up ends it, and leaves no socket', live.hang_up(), (0, False))


def unreadable(t):
    with Job(2, 2) as job, Live(job) as live:
        job.sample(1)
        at_number(live.unix(), 1)
        job.do('spoil', 2, 1, 1)
        job.sample(3)
        sample = at_number(live.unix(), live.unix().newest)
        until(lambda: [n.get('samples_unreadable') for n in live.unix().get()['nodes']] == [0, 1])
        sample = live.unix().get()
        t.equal('a sample that cannot be read is counted, node by node', sorted((n['node'], n.get('samples_unreadable')) for n in sample['nodes']), [('n0', 0), ('n1', 1)])
        look = subprocess.run([MPITRACE, 'live', job.dir + '/step', '--once', '--json'], capture_output=True, text=True)
        t.equal('also for one look', sorted((n['node'], n.get('samples_unreadable')) for n in json.loads(look.stdout)['nodes']), [('n0', 0), ('n1', 1)])
        text = subprocess.run([MPITRACE, 'live', job.dir + '/step', '--once'], capture_output=True, text=True).stdout
        t.check('and for people', 'node n1: 1 sample could not be read' in text, text)


def wide(t):
    """1,000 ranks on 250 nodes."""
    with Job(250, 4) as job:
        for k in range(1, 4):
            job.sample(k)
        job.sample(4, 0, 100)
        job.sample(4, 102)
        with Live(job) as live:
            samples = at_number(live.unix(), 4).since(0)
        t.equal('1,000 ranks: each sample has all of them', {len(s['ranks']) for s in samples}, {1000})
        t.equal('the node that is silent is the only one', [n['node'] for n in samples[3]['nodes'] if n['state'] != 'sampled'], ['n101'])
        t.equal('and the totals are exact', {k: v for k, v in totals(samples).items() if k[0] // 4 != 101},
                {k: v for k, v in job.expected(4).items() if k[0] // 4 != 101})


def errors(t):
    with Job(1, 1) as job, Live(job) as live:
        job.sample(1)
        at_number(live.unix(), 1)
        greeting = 'mpitrace-live 1\nhave 1 1\n'
        for what, said, why in (
                (b'', '', 'nothing'), (b'get 2\n', 'error unknown', 'a number that is not there yet'), (b'get 0\n', 'error unknown', 'number 0'),
                (b'get -1\n', 'error syntax', 'a number below 0'), (b'get 99999999999999999999999\n', 'error syntax', 'a number too long'),
                (b'since x\n', 'error syntax', 'since without a number'), (b'since 7\n', 'error unknown', 'since one to come'),
                (b'GET / HTTP/1.1\n', 'error syntax', 'HTTP'), (b'\0get 1\n', 'error syntax', 'a NUL'), (b'\xff\xfe\n', 'error syntax', 'no text'),
                (b'x' * 5000, 'error long', 'a line without end'), (b'quit\nget 1\n', '', 'quit')):
            got = live.raw(what)
            answer = got[len(greeting):]
            t.check('%s: %s' % (why, said or 'no word'), got.startswith(greeting) and answer.startswith(said) and
                    answer.count('\n') == (1 if said else 0) and 'data' not in answer, got)
        t.check('several mistakes get a line each, and the next word its answer',
                live.raw(b'a\nb\nget latest\n').split('\n')[2:4] == ['error syntax: known are get NUMBER, get latest, since NUMBER, quit'] * 2)
        garbage = os.urandom(1 << 16)
        t.check('garbage gets errors and nothing else', all(line.startswith('error ') for line in live.raw(garbage)[len(greeting):].splitlines()))
        for what in (b'get 1\n', b'token 00000000000000000000000000000000\n', b'GET / HTTP/1.1\r\nHost: x\r\n\r\n', b'token \n'):
            got = live.raw(what, tcp=True)
            t.check('TCP without the token: one error, nothing else: %r' % what, got.startswith('error token') and got.count('\n') == 1, got)
        t.check('all of this harmed nobody', live.unix().get() is not None)
    gone = not os.path.exists(live.socket)
    t.check('the socket goes with the server', gone and live.process.returncode == 0, live.process.returncode)


def readers(t):
    """Some that stop reading, a hundred at once, more than there is room for."""
    with Job(64, 8, gap=60, ago=0) as job, Live(job) as live:
        job.sample(1)
        at_number(live.unix(), 1)
        slow = [live.unix() for _ in range(4)]
        for s in slow:
            s.say('since 0\nsince 0\nsince 0\n') # and never reads
        together = [live.unix() for _ in range(100)]
        for k in range(2, 101):
            job.sample(k)
        for r in together:
            at_number(r, 100)
        t.check('a hundred readers hear of a hundred samples while four do not read',
                all([a[0] for a in r.announced] == list(range(101 - len(r.announced), 101)) or r.missed for r in together))
        t.check('and each may ask', all(r.get(50 + i % 50)['number'] == 50 + i % 50 for i, r in enumerate(together)))
        s = slow[0]
        heard = []
        while s.newest < 100:
            heard.append(s.next())
        announced = [a[0] for a in s.announced] + [n for first, last in s.missed for n in range(first, last + 1)]
        t.equal('who was slow has each sample announced, or its number said to be missed', sorted(announced), list(range(2, 101)))
        more = []
        with contextlib.suppress(Protocol):
            while len(more) < 100:
                more.append(live.unix())
        t.check('there is an end to how many, which is said', 0 < len(more) < 100 and live.raw(b'').startswith('error full: '), len(more))
        for r in together + more:
            r.close()
        t.check('and room again when they have left', until(lambda: has_room(live)))


def has_room(live):
    try:
        return live.unix()
    except Protocol:
        return None


def places(t):
    """All places taken by readers that ask for all and read a little now and then, so that none is closed for reading nothing."""
    with Job(64, 8, gap=60, ago=0) as job, Live(job) as live:
        for k in range(1, 101):
            job.sample(k)
        at_number(live.unix(), 100)
        crowd = []
        with contextlib.suppress(Protocol):
            while len(crowd) < 1000:
                crowd.append(live.unix())
                crowd[-1].say('since 0\nsince 0\nsince 0\n')
        over = threading.Event()
        def read_slowly():
            while not over.wait(0.5):
                for r in crowd:
                    with contextlib.suppress(OSError):
                        r.connection.recv(4096)
        thread = threading.Thread(target=read_slowly)
        thread.start()
        found = until(lambda: has_room(live))
        over.set()
        thread.join()
        t.check('readers that take all places and read a little make room for another one', len(crowd) < 1000 and found, len(crowd))


def usage(t):
    with Job(1, 1) as job:
        path = job.dir + '/file'
        open(path, 'w').close()
        run = subprocess.run([MPITRACE, 'live', job.dir, '--socket', path], capture_output=True, text=True)
        t.check('a file is not replaced by a socket', run.returncode == 3 and path in run.stderr and os.path.isfile(path), run)
        left = socket.socket(socket.AF_UNIX)
        left.bind(job.dir + '/s')
        left.close()
        job.sample(1)
        with Live(job) as live:
            t.check('a socket that nobody serves is', live.unix() is not None)
            run = subprocess.run([MPITRACE, 'live', job.dir + '/step', '--socket', live.socket], capture_output=True, text=True)
            t.check('one that is served is not', run.returncode == 3 and 'in use' in run.stderr, run)
        for words in (['--port', 'x'], ['--port', '70000'], ['--once', '--port', '0'], ['--socket']):
            t.equal('usage: %s' % ' '.join(words), subprocess.run([MPITRACE, 'live', job.dir, *words], capture_output=True).returncode, 2)


def unread(t):
    """Who started it has gone, and nobody reads where it listens."""
    with Job(1, 1) as job:
        gone, out = os.pipe()
        os.close(gone)
        with subprocess.Popen([MPITRACE, 'live', job.dir + '/step', '--interval', '0.05', '--socket', job.dir + '/s'], stdout=out, stderr=out) as p:
            os.close(out)
            job.sample(1)
            try:
                until(lambda: os.path.exists(job.dir + '/s'))
                t.check('a feed whose words nobody reads serves nevertheless', at_number(Reader.unix(job.dir + '/s'), 1).newest == 1 and p.poll() is None, p.poll())
            finally:
                p.terminate()


def main():
    t = Tests()
    for case in (merges, lags, now_waits, missing, unreadable, hangs_up, unread, wide, errors, readers, places, usage):
        case(t)
    t.end()


if __name__ == '__main__':
    main()
