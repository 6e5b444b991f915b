"""postgresql.py - a PostgreSQL of a test's own, on a socket in a directory that goes away, and on loopback where it is asked for TLS."""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import time

from publishing import SECRET


def find_server():
    found = sorted(glob.glob('/usr/lib/postgresql/*/bin/initdb') + glob.glob('/usr/pgsql-*/bin/initdb')) or [x for x in [shutil.which('initdb')] if x]
    return os.path.dirname(found[-1]) if found and shutil.which('psql') else None


class Server:
    """PostgreSQL does not run as root: then it runs as nobody. The role fleet needs no password, the role careful does."""

    def __init__(self, programs, place, *options):
        self.data, self.programs = place + '/data', programs
        self.user = pwd.getpwnam('nobody') if os.geteuid() == 0 else None
        self.options = ' '.join(('-c listen_addresses=', "-c unix_socket_directories='%s' -c fsync=off" % self.data) + options)
        os.mkdir(self.data)
        if self.user:
            os.chown(self.data, self.user.pw_uid, self.user.pw_gid)
            os.chmod(place, 0o755)
        self.run('initdb', '-D', self.data, '-U', 'fleet', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C')
        with open(self.data + '/pg_hba.conf', 'w') as f:
            f.write('local all careful scram-sha-256\nlocal all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n')
        self.start()
        self.psql('-c', "CREATE ROLE careful LOGIN PASSWORD '%s'; CREATE ROLE nothing LOGIN; GRANT CREATE ON DATABASE postgres TO careful" % SECRET)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.stop()

    def run(self, program, *words, check=True):
        who = {'user': self.user.pw_uid, 'group': self.user.pw_gid, 'extra_groups': []} if self.user else {}
        return subprocess.run([os.path.join(self.programs, program), *words], check=check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.data, **who).returncode

    def start(self):
        """Processes of a server that was killed are gone by and by."""
        for _ in range(100):
            if self.run('pg_ctl', '-D', self.data, '-w', '-l', self.data + '/log', '-o', self.options, 'start', check=False) == 0:
                return
            time.sleep(0.1)
        raise OSError('no server: ' + open(self.data + '/log').read()[-2000:])

    def processes(self):
        """The server first, then its backends, as far as they are there still."""
        with open(self.data + '/postmaster.pid') as f:
            first = int(f.readline())
        children = subprocess.run(['ps', '-o', 'pid=', '--ppid', str(first)], capture_output=True, text=True).stdout.split()
        return [first] + [int(x) for x in children]

    def signal(self, number):
        for pid in self.processes():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def kill(self):
        self.signal(signal.SIGKILL)

    def psql(self, *words):
        return subprocess.run(['psql', '-X', '-q', '-At', '-v', 'ON_ERROR_STOP=1', '-h', self.data, '-U', 'fleet', '-d', 'postgres', *words],
                              capture_output=True, text=True)

    def ask(self, sql):
        run = self.psql('-c', sql)
        if run.returncode != 0:
            raise ValueError(sql + '\n' + run.stderr)
        return run.stdout.strip()

    def stop(self):
        self.run('pg_ctl', '-D', self.data, '-m', 'immediate', 'stop', check=False)
