#!/usr/bin/env python3
"""live_reader.py - a reader of `mpitrace live --socket` and `--port`, written from docs/LIVE.md and from nothing else of mpitrace.

    live_reader.py unix PATH          prints each announcement, and of each sample what its ranks did
    live_reader.py tcp PORT TOKEN     the same
"""
import json
import socket
import sys


class Protocol(Exception):
    """The server said something that the document does not know."""


class Reader:
    """One connection. Lines of the server are tuples: their words, numbers as numbers."""

    def __init__(self, connection, token=None):
        self.connection = connection
        self.bytes = b''
        self.announced = []                # (number, time, bytes)
        self.missed = []                   # (first, last)
        self.ended = False
        self.newest = 0
        if token is not None:
            self.say('token ' + token)
        hello = self.line()
        if hello != 'mpitrace-live 1':
            raise Protocol(hello)
        word, self.oldest, self.newest = self.words(self.line())
        if word != 'have':
            raise Protocol(word)

    @classmethod
    def unix(cls, path, timeout=60):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(timeout)
        s.connect(path)
        return cls(s)

    @classmethod
    def tcp(cls, port, token, timeout=60):
        return cls(socket.create_connection(('127.0.0.1', int(port)), timeout=timeout), token)

    def close(self):
        self.connection.close()

    def say(self, text):
        self.connection.sendall(text.encode() + b'\n')

    def more(self):
        data = self.connection.recv(1 << 16)
        if not data:
            raise EOFError
        self.bytes += data

    def line(self):
        while b'\n' not in self.bytes:
            self.more()
        line, self.bytes = self.bytes.split(b'\n', 1)
        return line.decode()

    def exactly(self, n):
        while len(self.bytes) < n:
            self.more()
        data, self.bytes = self.bytes[:n], self.bytes[n:]
        return data

    @staticmethod
    def words(line):
        kind, *rest = line.split(' ')
        if kind == 'error':
            return kind, ' '.join(rest)
        return (kind, *(float(x) if '.' in x else int(x) for x in rest))

    def next(self):
        """What comes next: ('sample', number, time, bytes), ('missed', first, last), ('data', number, time, sample),
        ('range', first, last), ('gone', first, last), ('end',) or ('error', text)."""
        said = self.words(self.line())
        kind = said[0]
        if kind == 'sample':
            self.announced.append(said[1:])
            self.newest = said[1]
        elif kind == 'missed':
            self.missed.append(said[1:])
        elif kind == 'data':
            _, number, time, size = said
            text = self.exactly(size)
            if self.exactly(1) != b'\n':
                raise Protocol('no line feed behind a sample')
            return 'data', number, time, json.loads(text)
        elif kind == 'end':
            self.ended = True
        elif kind not in ('range', 'gone', 'error'):
            raise Protocol(kind)
        return said

    def until(self, *kinds):
        while True:
            said = self.next()
            if said[0] in kinds:
                return said

    def get(self, what='latest'):
        """A sample, or None where there is none (any more)."""
        self.say('get %s' % what)
        said = self.until('data', 'error')
        return said[3] if said[0] == 'data' else None

    def since(self, number):
        """All samples behind that number, as far as they are kept."""
        self.say('since %d' % number)
        said = self.until('range', 'error')
        if said[0] == 'error':
            raise Protocol(said[1])
        _, first, last = said
        samples = []
        at = first - 1
        while at < last:
            said = self.until('data', 'gone')
            at = said[1] if said[0] == 'data' else said[2]
            if said[0] == 'data':
                samples.append(said[3])
        return samples


def totals(samples):
    """What all of these samples add up to: {(rank, thread, operation): (calls, ticks, bytes)}."""
    sums = {}
    for s in samples:
        for rank in s['ranks']:
            for thread in rank['threads']:
                for name, *numbers in thread['totals']:
                    key = rank['rank'], thread['thread'], s['names'][name]['op']
                    sums[key] = tuple(a + b for a, b in zip(sums.get(key, (0, 0, 0)), numbers))
    return sums


def main():
    reader = Reader.unix(sys.argv[2]) if sys.argv[1] == 'unix' else Reader.tcp(*sys.argv[2:4])
    try:
        while not reader.ended:
            said = reader.next()
            print(*said)
            if said[0] == 'sample':
                for key, value in sorted(totals([reader.get(said[1])]).items()):
                    print('  rank %s thread %s %s: %d calls, %d ticks, %d bytes' % (*key, *value))
    except EOFError:
        pass


if __name__ == '__main__':
    main()
