"""publishing.py - what the tests of `mpitrace publish` share: records of make_fleet, and a site that publishes them. Environment: MAKE_FLEET, MPITRACE."""
import hashlib
import json
import os
import socket
import subprocess
import tempfile

from trace import MPITRACE

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


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def each_in_its_place(t, tests, *given):
    """Every test in a directory of its own, which other users may enter."""
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        for test in tests:
            sub = os.path.join(place, test.__name__)
            os.mkdir(sub)
            os.chmod(sub, 0o755)
            test(t, sub, *given)
    t.end()
