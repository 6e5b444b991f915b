#!/usr/bin/env python3
"""fleet_serve.py - `mpitrace fleet serve`: pages as `fleet report` writes them, made from the database as it is; a user sees what is
theirs, and who asks is taken from a header only behind a secret that the proxy knows. Environment: MAKE_FLEET, MPITRACE."""
import base64
import concurrent.futures
import hashlib
import hmac
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time

from trace import MPITRACE, Tests

TOKEN = '0123456789abcdef' * 2


def fleet(*words, **more):
    return subprocess.run([MPITRACE, 'fleet', *words], capture_output=True, text=True, timeout=120, **more)


def ask(db, sql):
    return json.loads(fleet('query', sql, '--db', db, '--json').stdout)


class Server:
    def __init__(self, db, *words):
        self.process = subprocess.Popen([MPITRACE, 'fleet', 'serve', '--db', db, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()

    def get(self, name, *headers, base=None, port=None):
        """Status and body. headers: pairs, also the same one twice."""
        request = [b'GET /' + ((base or self.url).split('/', 3)[3] + name).encode() + b' HTTP/1.1', b'Connection: close']
        pairs = list(headers) if any(h[0] == 'Host' for h in headers) else [('Host', '127.0.0.1'), *headers]
        request += [('%s: %s' % pair).encode() for pair in pairs]
        with socket.create_connection(('127.0.0.1', port or int(re.search(r':(\d+)/', self.url)[1])), timeout=60) as s:
            s.sendall(b'\r\n'.join(request) + b'\r\n\r\n')
            data = b''
            while more := s.recv(1 << 20):
                data += more
        head, _, body = data.partition(b'\r\n\r\n')
        return int(head.split()[1]), body.decode('utf-8', 'replace')

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../contrib/prometheus')


def metrics(t, place, db):
    """OpenMetrics, strictly; Prometheus' own promtool, where it can be run, takes them and the rules on them."""
    with sqlite3.connect(db) as c: # a program in somebody's home that became worse
        home = c.execute("select program, user from user_programs where user>0 limit 1").fetchone()
        c.execute("update names set name='/home/' || (select name from names where id=?) || '/bin/solver' where id=?", (home[1], home[0]))
        c.execute('insert into changes values(?, ?, 0.9, 0.8, -0.1, -0.12, -0.08, 0, 9, 9, 9, 9, 9)', (home[0], time.time() // 86400 - 3))
    s = Server(db)
    status, text = s.get('metrics')
    s.end()
    t.check('metrics are given', status == 200 and text.endswith('# EOF\n'), (status, text[-200:]))
    names, seen, wrong = {}, set(), []
    for line in text.splitlines()[:-1]:
        if line.startswith('# '):
            kind, name, rest = line[2:].split(' ', 2)
            names.setdefault(name, set()).add(kind)
            continue
        m = re.fullmatch(r'([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\\]|\\\\.)*",?)+\})? (-?[0-9.e+-]+)', line)
        if not m or names.get(m[1]) != {'TYPE', 'HELP'} or (m[1], m[2]) in seen:
            wrong.append(line)
        seen.add((m and m[1], m and m[2]))
    t.equal('each line as OpenMetrics has it, each series once', wrong, [])
    hours = sum(float(line.rsplit(' ', 1)[1]) for line in text.splitlines() if line.startswith('mpitrace_fleet_core_hours{'))
    t.check('core-hours are those of the database', abs(hours - ask(db, 'select total(core_hours) as h from jobs')[0]['h']) < 1e-6 * hours, hours)
    slow = re.findall(r'^mpitrace_fleet_slow_node_ratio\{node="([^"]+)"\}', text, re.M)
    t.equal('slow nodes are those that are suspected', sorted(slow), sorted(r['node'] for r in ask(db, 'select node from node_list where suspected')))
    t.check('a program that became worse is there', 'mpitrace_fleet_program_change_ratio{program="solver"} -0.1' in text, re.findall('.*change_ratio.*', text))
    t.equal('no user is named', [u['user'] for u in ask(db, 'select distinct user from job_list') if u['user'] in text], [])
    rules = open(RULES + '/fleet.rules.yml').read()
    t.equal('rules ask for metrics that there are', sorted(set(re.findall(r'mpitrace_fleet_\w+', rules)) - set(names)), [])
    if shutil.which('promtool'):
        run = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True)
        t.check('promtool takes the metrics, though it would count seconds', all('instead of "hours"' in line for line in run.stderr.splitlines()), run)
        run = subprocess.run(['promtool', 'check', 'rules', 'fleet.rules.yml'], cwd=RULES, capture_output=True, text=True)
        t.check('and the rules', run.returncode == 0, run)
        run = subprocess.run(['promtool', 'test', 'rules', 'fleet.rules.test.yml'], cwd=RULES, capture_output=True, text=True)
        t.check('which fire when they should', run.returncode == 0, run)


def made_up(t, place):
    """Issues that no analysis has, which anybody may write into records, are one series."""
    db = place + '/made-up.db'
    record = json.loads(open(place + '/year.ndjson').readline())
    issues = ['load_imbalance', *('made up %d' % i for i in range(300))]
    fleet('ingest', '-', '--db', db, input='\n'.join(json.dumps(dict(record, id=i, core_hours=9, issues=[{'issue': i, 'severity': 'high', 'loss_core_hours': 2}])) for i in issues))
    s = Server(db)
    text = s.get('metrics')[1]
    s.end()
    t.equal('issues that there are none of are one series', sorted(re.findall(r'^mpitrace_fleet_lost_core_hours\{issue="(.*)"\} (.*)', text, re.M)), [('(others)', '600'), ('load_imbalance', '2')])


def pages(t, place, db):
    fleet('report', '--db', db, '-o', place + '/out', '--days', '3', '--jobs', '30')
    s = Server(db)
    first = s.get('')
    t.check('the first page is the overview', first[0] == 200 and 'core-hours;' in first[1], first[0])
    t.equal('and has its name too', s.get('index.html'), first)
    names = sorted(os.listdir(place + '/out'))
    gone = [n for n in names if s.get(n)[0] != 200]
    t.equal('each page and table that a report has is there', gone, [])
    # The columns of links differ: here each job has a page.
    same = [n for n in names if n.endswith('.csv') or n.endswith('.json') or n in ('index.html', 'nodes.html', 'programs.html', 'users.html')]
    differ = [n for n in same if s.get(n)[1] != open(os.path.join(place, 'out', n), encoding='utf-8', newline='').read()]
    t.equal('and is the same', differ, [])
    ids = [r['id'] for r in ask(db, 'select id from jobs order by id limit 5')]
    t.equal('each job has a page', [s.get('job-%d.html' % i)[0] for i in ids], [200] * 5)
    for name in ('job-99999999.html', 'job-0.html', 'job--1.html', 'job-1x.html', 'user-.html', 'jobs-2025-02-31.html', 'jobs-1999-01-01.html', '../year.db', 'year.db',
                 'records.csv', 'names.json', '%2e%2e/%2e%2e/etc/passwd', 'job-1.html/', 'job-1%20or%201=1.html', 'x' * 4000):
        t.check('"%s" is nothing' % name[:30], s.get(name)[0] == 404)
    t.equal('nor is anything without the secret', [s.get('index.html', base='http://h/')[0], s.get('index.html', base='http://h/%s/' % TOKEN)[0]], [404, 404])
    t.equal('nor for another host', s.get('index.html', ('Host', 'evil.example'))[0], 403)
    s.end()


def live(t, place, db):
    """What comes in is seen without a restart, and nobody waits for it."""
    s = Server(db)
    subprocess.run('"$MAKE_FLEET" --jobs 20000 --seed 5 > more.ndjson', shell=True, check=True, cwd=place)
    lines = open(place + '/more.ndjson').read().splitlines()
    with open(place + '/more.ndjson', 'w') as f:
        for i, line in enumerate(lines):
            f.write(json.dumps(dict(json.loads(line), id='more%d' % i)) + '\n')
    coming = subprocess.Popen([MPITRACE, 'fleet', 'ingest', place + '/more.ndjson', '--db', db], stdout=subprocess.DEVNULL)
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        got = list(pool.map(lambda i: s.get(('', 'jobs.html', 'programs.html', 'jobs.csv', 'job-%d.html' % (i + 1))[i % 5])[0], range(200)))
    t.equal('200 requests of 20 at once, while records come in', set(got), {200})
    coming.wait()
    last = ask(db, 'select max(id) as n from jobs')[0]['n']
    t.equal('the newest job is there', s.get('job-%d.html' % last)[0], 200)
    s.end()


def privacy(t, place, db):
    user, other = [r['user'] for r in ask(db, 'select user from job_list group by user order by count(*) desc limit 2')]
    mine, theirs = (ask(db, "select id from job_list where user='%s' limit 1" % u)[0]['id'] for u in (user, other))
    numbers = {r['name']: r['id'] for r in ask(db, 'select name, id from names where kind=1')}
    everybody = re.compile(r'\b(%s)\b' % '|'.join(re.escape(u) for u in numbers if u != user))

    def sees_own_only(what, get):
        t.equal('%s: their page' % what, (get('')[0], user in get('')[1], everybody.findall(get('')[1])), (200, True, []))
        t.equal('%s: their jobs, and no others' % what, (get('job-%d.html' % mine)[0], get('job-%d.html' % theirs)[0]), (200, 404))
        t.check('%s: their table' % what, get('jobs.csv')[0] == 200 and not everybody.search(get('jobs.csv')[1]))
        closed = ['programs.html', 'users.html', 'nodes.html', 'jobs.html', 'user-%d.html' % numbers[other], 'users.csv', 'accounts.json',
                  'nodes.csv', 'changes.json', 'program-1.html', 'jobs-2025-05-05.html']
        t.equal('%s: their page by the name that a letter has' % what, get('user-%d.html' % numbers[user]), get(''))
        t.equal('%s: nothing else' % what, [n for n in closed if get(n)[0] != 404], [])

    s = Server(db, '--user', user)
    sees_own_only('--user', s.get)
    s.end()

    token = place + '/token'
    with open(token, 'w') as f:
        f.write(TOKEN + '\n')
    os.chmod(token, 0o600)
    s = Server(db, '--token-file', token, '--user-header', 'X-Remote-User', '--all', 'admin', '--all', 'chief')
    base = s.url + TOKEN + '/'
    t.check('the secret is not printed', TOKEN not in s.url)
    sees_own_only('behind a proxy', lambda n: s.get(n, ('X-Remote-User', user), base=base))
    t.equal('who may see all does', [s.get(n, ('X-Remote-User', 'admin'), base=base)[0] for n in ('nodes.html', 'job-%d.html' % theirs)], [200, 200])
    t.equal('without a name, nothing', [s.get('', base=base)[0], s.get('', ('X-Remote-User', ''), base=base)[0]], [403, 403])
    t.equal('with two names, nothing', s.get('', ('X-Remote-User', user), ('x-remote-user', 'admin'), base=base)[0], 403)
    t.equal('with a name and no secret, nothing', s.get('', ('X-Remote-User', 'admin'))[0], 404)
    t.equal('a name that is SQL is a name', s.get('', ('X-Remote-User', "x' or 1=1 --"), base=base)[0], 404)
    asks = lambda *headers: s.get('metrics', *headers, base=base)[0]
    bearer = lambda token: ('Authorization', 'Bearer ' + token)
    t.equal('metrics are for who may see all', [asks(('X-Remote-User', u)) for u in ('admin', user, '')], [200, 403, 403])
    t.equal('or asks without the proxy, and shows the secret', [asks(bearer(x)) for x in (TOKEN, TOKEN + '0', TOKEN[:-1] + 'x', TOKEN[:-1], '', TOKEN + '/')], [200] + [403] * 5)
    t.equal('a proxy that was made to leave the name out gives nobody metrics', (asks(), asks(('Authorization', 'Basic ' + TOKEN)), asks(('X-Remote-User', user), bearer(TOKEN))), (403, 403, 403))
    t.equal('a user without jobs is told', s.get('', ('X-Remote-User', 'newcomer'), base=base)[1], 'There are no jobs of yours yet.\n')
    s.end()
    s = Server(db, '--token-file', token)
    t.equal('no header is trusted unless it was named', s.get('nodes.html', ('X-Remote-User', user), base=s.url + TOKEN + '/')[0], 200)
    s.end()
    s = Server(db, '--token-file', token, '--host', 'mpi.example')
    t.equal('another host is served when it was named', s.get('', ('Host', 'mpi.example'), base=s.url + TOKEN + '/')[0], 200)
    s.end()


def leads(t, place, db):
    """Who leads an account sees its jobs, whoever ran them, and nothing of other accounts."""
    account, foreign = [r['account'] for r in ask(db, 'select account from job_list group by account order by count(distinct user) desc limit 2')]
    user = ask(db, "select user from job_list where account<>'%s' and user not in (select user from job_list where account='%s') group by user order by count(*) desc limit 1" % (account, account))[0]['user']
    numbers = {r['name']: r['id'] for r in ask(db, 'select name, id from names where kind=2')}
    path, token = place + '/leads', place + '/token'

    def write(text, mode=0o644):
        with open(path, 'w') as f:
            f.write(text)
        os.chmod(path, mode)

    write('# of the project\n%s\t%s # until summer\nguest %s\nguest no-such-account\n' % (user, account, account))
    s = Server(db, '--token-file', token, '--user-header', 'X-Remote-User', '--all', 'admin', '--leads', path)
    get = lambda name, who: s.get(name, ('X-Remote-User', who), base=s.url + TOKEN + '/')
    own = 'account-%d.html' % numbers[account]
    jobs = {a: [r['id'] for r in ask(db, "select id from job_list where account='%s' and user<>'%s' order by loss_core_hours desc limit 5" % (a, user))] for a in (account, foreign)}
    theirs = {r['user'] for r in ask(db, "select distinct user from job_list where account='%s'" % account)}
    nobodys = {r['user'] for r in ask(db, 'select distinct user from job_list')} - theirs - {user}
    page = get(own, user)
    t.check('a lead sees the account, and who ran what in it', page[0] == 200 and all(u in page[1] for u in theirs), page[0])
    t.equal('and names no other user', sorted(u for u in nobodys if re.search(r'\b%s\b' % u, re.sub('/home/[^/]+/', '', page[1]))), []) # a program of metrics() lies in a home
    total = ask(db, "select count(*) as n from job_list where account='%s'" % account)[0]['n']
    t.check('with the sum of its jobs', '{:,} job'.format(total) in page[1], total)
    t.equal('jobs of the account, and of no other', [[get('job-%d.html' % i, user)[0] for i in jobs[a]] for a in (account, foreign)], [[200] * 5, [404] * 5])
    t.equal('each link of it leads somewhere', sorted({l for l in re.findall(r'href="([^"#:]+)"', page[1]) if get(l, user)[0] != 200}), [])
    t.check('their own page leads to it', own in get('', user)[1] and 'Accounts that you lead' in get('', user)[1])
    closed = ['account-%d.html' % numbers[foreign], 'programs.html', 'users.html', 'nodes.html', 'accounts.csv', 'users.json', 'metrics', 'jobs-2025-05-05.html']
    t.equal('nothing else', [n for n in closed if get(n, user)[0] not in (403, 404)], [])
    t.equal('a lead without jobs sees the account as well', (get('', 'guest')[0], own in get('', 'guest')[1], get(own, 'guest')[0], get('job-%d.html' % jobs[foreign][0], 'guest')[0]), (200, True, 200, 404))
    t.equal('who leads none sees no account', get(own, sorted(theirs)[0])[0], 404)
    t.equal('who may see all sees each', [get('account-%d.html' % n, 'admin')[0] for n in list(numbers.values())[:5]], [200] * 5)
    write('')
    t.equal('who is a lead no more sees it no more', get(own, user)[0], 404)
    write('%s %s\n' % (user, account), 0o666)
    t.equal('a file that anybody may write makes nobody a lead', [get(n, user)[0] for n in (own, '')], [500, 500])
    write('%s\n' % user)
    t.equal('nor does a line that is half', get(own, user)[0], 500)
    s.end()
    run = fleet('serve', '--db', db, '--token-file', token, '--user-header', 'X', '--leads', path)
    t.check('and with such a file none begins', run.returncode == 3 and 'leads:1' in run.stderr, run)


def hashed(t, place):
    """Names that are hidden in the database: the proxy's user finds theirs by the site's key."""
    db, key, token = place + '/hashed.db', place + '/key', place + '/token'
    with open(key, 'wb') as f:
        f.write(b'k' * 32)
    os.chmod(key, 0o600)
    name = 'h:' + hmac.new(b'k' * 32, b'alice', hashlib.sha256).hexdigest()[:32]
    record = json.loads(open(place + '/year.ndjson').readline())
    fleet('ingest', '-', '--db', db, input=json.dumps(dict(record, user=name)))
    s = Server(db, '--token-file', token, '--user-header', 'X-Remote-User', '--site-key', key)
    got = [s.get('', ('X-Remote-User', u), base=s.url + TOKEN + '/')[0] for u in ('alice', 'bob', name)]
    t.equal("a hidden user's page is found by the key, and not by the hash", got, [200, 404, 404])
    s.end()


def location():
    """What docs/FLEET.md tells to write into nginx's configuration."""
    docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'docs', 'FLEET.md')
    with open(docs) as f:
        return re.search(r'(    location /mpitrace/ \{.*?\n    \})', f.read(), re.S)[1]


def behind_nginx(t, place, db):
    """The example of the documentation, with the site's own way to know who asks."""
    if not shutil.which('nginx') or not shutil.which('openssl'):
        print('# nginx is not installed: not tried behind it')
        return
    user = ask(db, 'select user from job_list group by user order by count(*) desc limit 1')[0]['user']
    token = place + '/nginx.token'
    with open(token, 'w') as f:
        f.write(TOKEN + '\n')
    os.chmod(token, 0o600)
    s = Server(db, '--token-file', token, '--user-header', 'X-Remote-User', '--all', 'admin')
    with open(place + '/passwords', 'w') as f:
        for name in (user, 'admin'):
            f.write('%s:%s\n' % (name, subprocess.run(['openssl', 'passwd', '-apr1', 'pw-' + name], capture_output=True, text=True, check=True).stdout.strip()))
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    own = location().replace('8093', re.search(r':(\d+)/', s.url)[1])
    t.check('the example has the secret of this test', own.count(TOKEN) == 1, own)
    with open(place + '/nginx.conf', 'w') as f:
        f.write('daemon off; master_process off; pid %s/nginx.pid; error_log %s/nginx.log; events {}\nhttp { access_log off; %s\nserver { listen 127.0.0.1:%d; auth_basic x; auth_basic_user_file %s/passwords;\n%s\n} }\n'
                % (place, place, ' '.join('%s_temp_path %s/t-%s;' % (k, place, k) for k in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')), port, place, own))
    os.chmod(place, 0o755)
    nginx = subprocess.Popen([shutil.which('nginx'), '-p', place, '-c', place + '/nginx.conf'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def get(name, who, *headers):
        word = [('Authorization', 'Basic ' + base64.b64encode(('%s:pw-%s' % (who, who)).encode()).decode())] if who else []
        return s.get(name, *word, *headers, base='http://127.0.0.1:%d/mpitrace/' % port, port=port)

    while nginx.poll() is None:
        try:
            socket.create_connection(('127.0.0.1', port), timeout=5).close()
            break
        except OSError:
            time.sleep(0.05)
    t.equal('behind nginx: without a name, nothing', get('index.html', None)[0], 401)
    page = get('index.html', user)
    t.check('behind nginx: a user has their page', page[0] == 200 and user in page[1], page[0])
    t.equal('behind nginx: and no other', get('nodes.html', user)[0], 404)
    t.equal('behind nginx: a name that the browser sends is not believed', get('nodes.html', user, ('X-Remote-User', 'admin'))[0], 404)
    t.equal('behind nginx: who may see all does', get('nodes.html', 'admin')[0], 200)
    link = re.search(r'href="(job-\d+\.html)"', page[1])
    t.equal('behind nginx: links lead on', get(link[1], user)[0] if link else None, 200)
    nginx.kill()
    nginx.wait()
    s.end()


def mistakes(t, place, db):
    for words, what in (((), 'which database'), (('--db', db, 'x'), 'a word too many'), (('--db', db, '--user-header', 'X-Remote-User'), 'a header without a secret'),
                        (('--db', db, '--all', 'admin'), 'see all without a header'), (('--db', db, '--port', '70000'), 'a port that is none')):
        run = fleet('serve', *words)
        t.check('%s: wrong use' % what, run.returncode == 2 and run.stderr, run)
    for mode, text, what in ((0o644, TOKEN, 'that others can read'), (0o600, TOKEN[:-1], 'that is short'), (0o600, 'z' * 32, 'that is no number')):
        with open(place + '/bad', 'w') as f:
            f.write(text)
        os.chmod(place + '/bad', mode)
        run = fleet('serve', '--db', db, '--token-file', place + '/bad')
        t.check('a secret %s is refused' % what, run.returncode == 3 and 'bad' in run.stderr, run)
    run = fleet('serve', '--db', place + '/none.db')
    t.check('a database that is not there is refused', run.returncode == 3 and 'none.db' in run.stderr, run)


def main():
    t = Tests()
    with tempfile.TemporaryDirectory() as place:
        db = place + '/year.db'
        with open(place + '/year.ndjson', 'w') as f:
            subprocess.run([os.environ['MAKE_FLEET'], '--jobs', '3000', '--nodes', '100', '--slow', '2'], stdout=f, check=True)
        fleet('ingest', place + '/year.ndjson', '--db', db)
        pages(t, place, db)
        metrics(t, place, db)
        made_up(t, place)
        privacy(t, place, db)
        leads(t, place, db)
        hashed(t, place)
        behind_nginx(t, place, db)
        mistakes(t, place, db)
        live(t, place, db)
    t.end()


main()
