#!/usr/bin/env python3
"""live_terminal.py - `mpitrace live` in a terminal: keys, pages that fit, a terminal that is as it was whatever ends or stops the program; one
that knows no escape sequences gets none."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

from trace import MPITRACE, TIMEOUT, Tests

sys.path.insert(0, os.environ['LIVE_READER'])
from live_feed import Job # noqa: E402

NODES, RANKS = 2, 60
RAW = termios.ICANON | termios.ECHO


class Terminal:
    """The program in a process group of its own before a terminal, below a leader of the session, as a shell would have it."""

    def __init__(self, *words, term='xterm', rows=24, columns=80):
        self.text = ''
        self.leader, self.fd = pty.fork()
        if self.leader == 0:
            pid = os.fork()
            if pid == 0:
                os.setpgid(0, 0)
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                os.tcsetpgrp(0, os.getpid())
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                os.execve(MPITRACE, [MPITRACE, 'live', *words], dict(os.environ, TERM=term))
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            _, status = os.waitpid(pid, 0)
            os._exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
        self.resize(rows, columns)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def group(self):
        return os.tcgetpgrp(self.fd)

    def flags(self):
        return termios.tcgetattr(self.fd)[3] & RAW

    def until(self, holds):
        """Read until it holds of all text so far; what it returns."""
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            value = holds(self)
            if value:
                return value
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors='replace')
                except OSError:  # nobody has it open any more
                    return holds(self)
        return None

    def page(self):
        """The last whole page."""
        pages = [p for p in self.text.split('\033[H\033[J') if 'q quits' in p]
        return pages[-1] if pages else ''

    def whole(self):
        """The same, of any width."""
        pages = self.text.split('\033[H\033[J')
        return pages[-2] if len(pages) > 2 and 'rank ' in pages[-2] else ''

    def type(self, keys):
        self.text = ''
        os.write(self.fd, keys.encode())

    def end(self):
        _, status = os.waitpid(self.leader, 0)
        flags = None
        try:
            flags = self.flags()
        except (OSError, termios.error):
            pass
        os.close(self.fd)
        return os.WEXITSTATUS(status), flags


def ranks_of(page):
    return [int(n) for n in re.findall(r'\] rank (\d+) ', page)]


def keys(t, job):
    x = Terminal(job.dir + '/step', '--interval', '0.2')
    t.check('a page with what the keys do', x.until(lambda x: x.page()), x.text)
    page = x.page()
    lines = page.rstrip('\n').count('\n') + 1
    t.check('it has room on the terminal', lines <= 24 and max(map(len, page.replace('\r', '').split('\n'))) <= 80, (lines, page))
    first = ranks_of(page)
    t.check('as many ranks as have room, from the first', first and first == list(range(len(first))) and len(first) < RANKS, first)
    t.equal('keys are not echoed, and come one by one', x.flags(), 0)
    x.type('\033[B\033[B')
    t.check('arrows scroll', x.until(lambda x: ranks_of(x.page())[:1] == [2]), x.text)
    x.type('\033[F')
    t.check('End goes to the last', x.until(lambda x: ranks_of(x.page())[-1:] == [RANKS - 1]), x.text)
    x.type('\033[H')
    t.check('Home goes to the first', x.until(lambda x: ranks_of(x.page())[:1] == [0]), x.text)
    x.type(' ')
    t.check('space pauses', x.until(lambda x: 'PAUSED' in x.page()), x.text)
    job.sample(4)
    x.type('\033[6~')
    t.check('a paused page scrolls, and stays', x.until(lambda x: ranks_of(x.page())[:1] not in ([], [0])) and 'PAUSED' in x.page() and
            'sample 3:' in x.page(), x.text)
    x.type(' ')
    t.check('it goes on', x.until(lambda x: 'PAUSED' not in x.page() and 'sample 4:' in x.page()), x.text)
    x.resize(14, 60)
    x.text = ''
    t.check('a smaller terminal has a smaller page', x.until(lambda x: 0 < x.page().count('\n') < 14 and
                                                            max(map(len, x.page().replace('\r', '').split('\n'))) <= 60), x.text)
    x.resize(20, 24)
    x.text = ''
    t.check('a narrow one has lines that fit', x.until(lambda x: x.whole() and max(map(len, x.whole().replace('\r', '').split('\n'))) <= 24), x.text)
    x.type('q')
    code, flags = x.end()
    t.equal('q ends it', code, 0)
    t.check('the terminal is as it was', flags in (RAW, None), flags)


def stops(t, job):
    x = Terminal(job.dir + '/step', '--interval', '0.2')
    x.until(lambda x: x.page())
    x.type('\032')
    t.check('stopped, the terminal is as it was', x.until(lambda x: x.flags() == RAW), x.flags())
    os.killpg(x.group(), signal.SIGCONT)
    t.check('going on, it is its own again', x.until(lambda x: x.flags() == 0 and x.page()), x.flags())
    x.type('\032')
    t.check('stopped once more', x.until(lambda x: x.flags() == RAW), x.flags())
    os.killpg(x.group(), signal.SIGCONT)
    x.until(lambda x: x.flags() == 0)
    x.type('\003')
    t.check('interrupted, too', x.until(lambda x: x.flags() == RAW), x.flags())
    t.equal('it ends by the signal', x.end()[0], 128 + signal.SIGINT)


def dumb(t, job):
    x = Terminal(job.dir + '/step', '--interval', '0.2', term='dumb')
    t.check('pages follow each other', x.until(lambda x: x.text.count('each rank') >= 2), x.text)
    t.check('without escape sequences or keys', '\033' not in x.text and 'q quits' not in x.text and x.flags() == RAW, x.text)
    t.check('all ranks', ranks_of(x.text)[:RANKS] == list(range(RANKS)), x.text)
    x.type('\003')
    t.equal('it ends by the signal', x.end()[0], 128 + signal.SIGINT)


def main():
    t = Tests()
    with Job(NODES, RANKS // NODES) as job:
        for k in range(4):
            job.sample(k)
        keys(t, job)
        stops(t, job)
        dumb(t, job)
    t.end()


main()
