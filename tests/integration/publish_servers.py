#!/usr/bin/env python3
"""publish_servers.py - what `mpitrace publish` sends stands in real servers, once: InfluxDB, ClickHouse with every question of the Grafana dashboard, a
Pushgateway that a Prometheus reads; and in two that hold to what the references of Elasticsearch's _bulk interface and of InfluxDB 2 say. Of servers that
are not installed one line says so. Environment: MAKE_FLEET, MPITRACE, PROGRAMS."""
import collections
import gzip
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from publishing import SECRET, Site, each_in_its_place, free_port, records, secret_file
from trace import MPITRACE, Tests

CONTRIB = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'contrib')
KILLS = 40


class Server:
    """A server of the system's, on loopback, in a directory of its own. ready: the path that answers when it is up."""

    def __init__(self, words, place, url, ready):
        self.url, self.place = url, place
        self.process = subprocess.Popen(words, cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                urllib.request.urlopen(url + ready, timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.process.kill()
        self.process.wait()


def fetch(url, data=None):
    try:
        with urllib.request.urlopen(url, data, timeout=60) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as e:
        raise ValueError('%s\n%s\n%s' % (url, data, e.read().decode())) from e


def hostile(some):
    some = [dict(r) for r in some]
    some[0].update(user='a,b=c d\\', program='/x/"\u00e9\n y\\', account="q'`\\")
    some[1].update(user='x\ny injected=1 5', account=',=', program='\U0001f600', cluster='{"}')
    return some


def close(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))


# ---- InfluxDB ----

def influx(place):
    url = 'http://127.0.0.1:%d' % free_port()
    with open(place + '/influxdb.conf', 'w') as f:
        f.write('reporting-disabled = true\nbind-address = "127.0.0.1:%d"\n[meta]\ndir = "%s/meta"\n[data]\ndir = "%s/data"\nwal-dir = "%s/wal"\n'
                '[http]\nbind-address = "%s"\nlog-enabled = false\nauth-enabled = true\n' % (free_port(), place, place, place, url[7:]))
    return Server([shutil.which('influxd'), '-config', place + '/influxdb.conf'], place, url, '/ping')


def ask_influx(server, question):
    data = urllib.parse.urlencode({'q': question, 'db': 'fleet', 'epoch': 's'}).encode()
    series = json.loads(fetch(server.url + '/query?' + urllib.parse.urlencode({'u': 'me', 'p': SECRET}), data))['results'][0].get('series', [])
    return [dict(zip(s['columns'], row)) for s in series for row in s['values']]


def test_influxdb(t, place, all_records):
    with influx(place) as server:
        ask = lambda question: ask_influx(server, question)
        ask("CREATE USER me WITH PASSWORD '%s' WITH ALL PRIVILEGES" % SECRET)
        some = hostile(all_records[:1500])
        site = Site(place, 'influx', {'type': 'influxdb', 'url': server.url, 'database': 'fleet', 'backoff': 0})
        site.leave(*some)
        t.check('--check reaches it', site.run('--check').returncode == 0, '')
        run = site.run()
        t.check('who has no password is told so, and waits', run.returncode == 5 and '401' in run.stderr, run)
        site.configure({'type': 'influxdb', 'url': server.url, 'database': 'fleet', 'backoff': 0, 'user': 'me', 'password_file': secret_file(place)})
        run = site.run()
        t.check('a database that is not there yet is waited for', run.returncode == 5 and 'not found' in run.stderr, run)
        ask('CREATE DATABASE fleet')
        run, _ = site.until_done()
        count = lambda: ask('SELECT count(core_hours) AS n, sum(core_hours) AS h FROM mpitrace_job')[0]
        want = sum(r['core_hours'] for r in some)
        t.check('InfluxDB: every record', run.returncode == 0 and count()['n'] == 1500 and close(count()['h'], want), (run, count(), want))
        os.unlink(site.state)
        t.check('and none twice, when all is sent again', site.until_done()[0].returncode == 0 and count()['n'] == 1500, count())
        odd = ask("SELECT * FROM mpitrace_job WHERE id = '%s'" % some[0]['id'])
        t.check('a hostile name is one value', len(odd) == 1 and odd[0]['user'] == 'a,b=c d/' and odd[0]['program'] == '/x/"\u00e9? y/', odd)
        odd = ask("SELECT * FROM mpitrace_job WHERE id = '%s'" % some[1]['id'])
        t.check('and makes no line of its own', len(odd) == 1 and odd[0]['user'] == 'x?y injected=1 5' and odd[0]['account'] == ',=' and odd[0]['program'] == '\U0001f600', odd)
        t.check('no other measurement is there', ask('SHOW MEASUREMENTS') == [{'name': 'mpitrace_job'}], '')
        start = ask("SELECT ranks, elapsed_s FROM mpitrace_job WHERE id = '%s'" % some[2]['id'])[0]
        t.check('values are those of the record', start['ranks'] == some[2]['ranks'] and close(start['elapsed_s'], some[2]['elapsed_s'])
                and time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(start['time'])) == some[2]['start'], (start, some[2]))
        user = some[2]['user']
        theirs = sum(r['user'] == user for r in some)
        run = site.run('--forget-user', user)
        t.equal('InfluxDB: who is forgotten has nothing there', (run.returncode, run.stdout, ask("SELECT count(complete) FROM mpitrace_job WHERE \"user\" = '%s'" % user)),
                (0, 'd0: {:,} records removed\n'.format(theirs), []))
        run = site.run('--forget-user', some[0]['user'])
        t.check('InfluxDB: a hostile name is a name', run.returncode == 0 and ' 1 record removed' in run.stdout and count()['n'] == 1500 - theirs - 1, (run, count()))
        run = site.run('--forget-user', "x' OR \"user\" <> '")
        t.check('InfluxDB: and removes nobody else', run.returncode == 0 and ' 0 records removed' in run.stdout and count()['n'] == 1500 - theirs - 1, (run, count()))


class Influx2(http.server.ThreadingHTTPServer):
    """What the reference of the v2 API and of the line protocol says, strictly. points: {(measurement, tags, time): fields}."""
    daemon_threads = True

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Influx2Handler)
        self.url = 'http://127.0.0.1:%d' % self.server_port
        self.points, self.wrong, self.plan = {}, [], collections.deque()
        threading.Thread(target=self.serve_forever, daemon=True).start()


def split(text, at, quoted=False):
    """At characters that no backslash makes plain, and that are in no string."""
    parts, part, inside, i = [], '', False, 0
    while i < len(text):
        if text[i] == '\\' and i + 1 < len(text):
            part += text[i:i + 2]
            i += 2
            continue
        inside ^= quoted and text[i] == '"'
        if text[i] == at and not inside:
            parts.append(part)
            part = ''
        else:
            part += text[i]
        i += 1
    return parts + [part]


def plain(text):
    return re.sub(r'\\([,= "\\])', r'\1', text)


def point(line):
    keys = split(line, ' ')[0]
    fields, stamp = line[len(keys) + 1:].rsplit(' ', 1)
    measurement, *tags = split(keys, ',')
    tags = [tuple(map(plain, pair)) for pair in (split(x, '=') for x in tags)]
    values = {}
    for x in split(fields, ',', True):
        name, value = split(x, '=', True)
        if not re.fullmatch(r'"(?:[^"\\]|\\.)*"|true|false|-?\d+(\.\d+)?(e[+-]?\d+)?i?', value):
            raise ValueError(x)
        values[plain(name)] = value
    if tags != sorted(tags) or any(v == '' for _, v in tags) or not values:
        raise ValueError(line)
    return (measurement, tuple(tags), int(stamp)), values


class Influx2Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *words):
        pass

    def do_POST(self):
        s = self.server
        body = self.rfile.read(int(self.headers['Content-Length']))
        url = urllib.parse.urlparse(self.path)
        if url.path == '/api/v2/delete':
            return self.remove(urllib.parse.parse_qs(url.query), json.loads(body))
        want = {'org': ['an org/é'], 'bucket': ['a&b'], 'precision': ['s']}
        if url.path != '/api/v2/write' or urllib.parse.parse_qs(url.query) != want or self.headers['Authorization'] != 'Token ' + SECRET or self.headers['Content-Encoding'] != 'gzip':
            s.wrong.append((self.path, dict(self.headers)))
        status = s.plan.popleft() if s.plan else 204
        if status == 204:
            try:
                s.points.update(point(line) for line in gzip.decompress(body).decode().splitlines())
            except ValueError as e:
                s.wrong.append(e)
        self.send_response(status)
        self.send_header('Content-Length', '0')
        if status == 429:
            self.send_header('Retry-After', '0')
        self.end_headers()


    def remove(self, query, what):
        s = self.server
        m = re.fullmatch(r'_measurement="mpitrace_job" AND user="((?:[^"\\]|\\.)*)"', what['predicate'])
        if query != {'org': ['an org/é'], 'bucket': ['a&b']} or set(what) != {'start', 'stop', 'predicate'} or not m or self.headers['Authorization'] != 'Token ' + SECRET:
            s.wrong.append((query, what))
        s.points = {k: v for k, v in s.points.items() if dict(k[1]).get('user') != re.sub(r'\\(.)', r'\1', m[1])}
        self.send_response(204)
        self.send_header('Content-Length', '0')
        self.end_headers()


def test_influxdb_2(t, place, all_records):
    server = Influx2()
    some = hostile(all_records[:200])
    site = Site(place, 'influx2', {'type': 'influxdb', 'url': server.url + '//', 'org': 'an org/é', 'bucket': 'a&b', 'token_file': secret_file(place), 'batch': 30, 'backoff': 0})
    site.leave(*some)
    server.plan.extend([429, 503, 204, 500])
    run, _ = site.until_done()
    t.check('InfluxDB 2.x: as its reference says', run.returncode == 0 and not server.wrong, (run, server.wrong[:3]))
    ids = collections.Counter(dict(tags)['id'] for _, tags, _ in server.points)
    t.check('InfluxDB 2.x: each record is one point', set(ids) == {r['id'] for r in some} and set(ids.values()) == {1}, len(ids))
    os.unlink(site.state)
    site.until_done()
    t.check('InfluxDB 2.x: and none twice', len(server.points) == 200 and not server.wrong, len(server.points))
    gone = {some[0]['user'], some[2]['user']}
    runs = [site.run('--forget-user', user) for user in gone]
    t.check('InfluxDB 2.x: who is forgotten has nothing there', [r.returncode for r in runs] == [0, 0] and all('agreed' in r.stdout for r in runs) and not server.wrong, (runs, server.wrong))
    t.equal('InfluxDB 2.x: and all others have', len(server.points), sum(r['user'] not in gone for r in some))
    server.shutdown()


# ---- ClickHouse ----

def clickhouse(place):
    port = free_port()
    with open(place + '/users.xml', 'w') as f:
        f.write('<yandex><profiles><default/></profiles><quotas><default/></quotas><users>%s</users></yandex>' % ''.join(
            '<%s><password>%s</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></%s>' % (name, word, name)
            for name, word in (('default', ''), ('me', SECRET))))
    with open(place + '/config.xml', 'w') as f:
        f.write('<yandex><logger><level>error</level><log>%s/log</log><errorlog>%s/errors</errorlog></logger><listen_host>127.0.0.1</listen_host><http_port>%d</http_port>'
                '<tcp_port>%d</tcp_port><path>%s/data/</path><tmp_path>%s/tmp/</tmp_path><users_config>%s/users.xml</users_config><default_profile>default</default_profile>'
                '<default_database>default</default_database><mark_cache_size>16777216</mark_cache_size></yandex>' % (place, place, port, free_port(), place, place, place))
    os.mkdir(place + '/data')
    os.mkdir(place + '/tmp')
    return Server([shutil.which('clickhouse-server'), '--config-file=%s/config.xml' % place], place, 'http://127.0.0.1:%d' % port, '/ping')


def ask_clickhouse(server, question):
    text = fetch(server.url + '/', (question + ' FORMAT JSONEachRow').encode())
    return [json.loads(line) for line in text.splitlines()]


def statements(path):
    with open(path) as f:
        text = ''.join(re.sub(r'--.*', '', line) for line in f)
    return [s.strip() for s in text.split(';') if s.strip()]


def as_grafana_asks(sql):
    """The macros and variables of the ClickHouse data source, for all clusters and accounts and all times."""
    sql = re.sub(r'\$__timeFilter\((\w+)\)', r'(\1 >= toDateTime(0) AND \1 <= toDateTime(4102444800))', sql)
    return re.sub(r'\w+ IN \(\$\{\w+:singlequote\}\)', '1', sql)


def test_dashboard(t, server, db, count):
    with open(CONTRIB + '/grafana/fleet.json') as f:
        board = json.load(f)
    answers = {}
    for panel in board['panels']:
        for target in panel['targets']:
            answers[panel['title']] = ask_clickhouse(server, as_grafana_asks(target['rawSql']))
    for v in board['templating']['list'][1:]:
        answers[v['name']] = ask_clickhouse(server, v['query'])
    t.check('each of the %d panels and variables of the dashboard has an answer' % len(answers), all(answers.values()), [k for k, v in answers.items() if not v])
    query = lambda sql: json.loads(subprocess.run([MPITRACE, 'fleet', 'query', '--db', db, '--json', sql], capture_output=True, text=True, check=True).stdout)
    known = '(sum(core_hours)-(select total(not_known) from days))'
    said = query('select count(*) n, sum(core_hours) h, sum(core_hours*useful)/%s u, sum(core_hours*wait)/%s w, sum(loss_core_hours) l from job_list' % (known, known))
    said = said['rows'][0] if isinstance(said, dict) else said[0]
    said = list(said.values()) if isinstance(said, dict) else said
    numbers = [count, answers['Core-hours'][0]['hours'], answers['Useful'][0]['useful_share'], answers['Waiting in MPI'][0]['waiting_share'],
               answers['Lost to the first issue of each step, core-hours'][0]['lost']]
    t.check('they are the numbers of `mpitrace fleet`', all(close(a, b) for a, b in zip(said, numbers)), (said, numbers))
    of = {'jobs': 'sum(jobs)', 'useful': 'sum(useful_hours)', 'mpi': 'sum(mpi_hours)', 'wait': 'sum(waiting_hours)', 'not_known': 'sum(not_known_hours)'}
    days = [list(x[0].values()) for x in (query('select %s from days' % ', '.join('total(%s) as %s' % (k, k) for k in of)), ask_clickhouse(server, 'SELECT %s FROM mpitrace.days' % ', '.join('%s AS n_%s' % (v, k) for k, v in of.items())))]
    t.check('days are those of `mpitrace fleet`, also of what is not known', days[0][4] > 0 and all(close(float(a), float(b)) for a, b in zip(*days)), days)
    lost = {r['issue']: r['lost'] for r in answers['Lost to what, core-hours']}
    t.check('also by cause', lost and close(sum(lost.values()), said[4]), (lost, said))


def test_clickhouse(t, place, all_records):
    with clickhouse(place) as server:
        ask = lambda question: ask_clickhouse(server, question)
        some = hostile(all_records[:1500])
        for r in some[10:300]:
            r.update(share=dict.fromkeys(r['share']))
        destination = {'type': 'clickhouse', 'url': server.url, 'database': 'mpitrace', 'backoff': 0, 'user': 'me', 'password_file': secret_file(place)}
        site = Site(place, 'clickhouse', destination)
        site.leave(*some)
        run = site.run()
        t.check('ClickHouse: a database that is not there yet is waited for', run.returncode == 5 and 'exist' in run.stderr, run)
        for statement in statements(CONTRIB + '/clickhouse/fleet.sql'):
            fetch(server.url + '/', statement.encode())
        run, _ = site.until_done()
        count = lambda: int(ask('SELECT count() AS n FROM mpitrace.job_list')[0]['n'])
        t.check('ClickHouse: every record', run.returncode == 0 and count() == 1500, (run, count()))
        os.unlink(site.state)
        t.check('ClickHouse: none twice, when all is sent again', site.until_done()[0].returncode == 0 and count() == 1500, count())
        odd = {r['id']: r for r in ask('SELECT * FROM mpitrace.job_list')}
        for i in (0, 1):
            r = odd[some[i]['id']]
            t.check('ClickHouse: hostile names %d are as they were, but for line breaks' % i, [r[k] for k in ('user', 'program', 'account', 'cluster')]
                    == [some[i][k].replace('\n', '?') for k in ('user', 'program', 'account', 'cluster')] and json.loads(r['record']) == some[i], r)
        r = odd[some[2]['id']]
        t.check('ClickHouse: values are those of the record', r['ranks'] == some[2]['ranks'] and close(r['elapsed_s'], some[2]['elapsed_s'])
                and close(r['useful'], some[2]['share']['useful']) and r['start'].replace(' ', 'T') + 'Z' == some[2]['start'], (r, some[2]))
        later = dict(some[3], core_hours=1234.5)
        site.leave(later)
        site.until_done()
        t.check('a later record of a step takes the place of the one before', count() == 1500 and
                ask("SELECT core_hours FROM mpitrace.job_list WHERE id = '%s'" % later['id'])[0]['core_hours'] == 1234.5, '')
        site.leave(dict(some[4], user='mallory', core_hours=0))
        site.until_done()
        t.check('one that another user writes about it does not', count() == 1501 and
                ask("SELECT core_hours FROM mpitrace.job_list WHERE user = '%s' AND id = '%s'" % (some[4]['user'], some[4]['id']))[0]['core_hours'] == some[4]['core_hours'], count())
        fetch(server.url + '/', b"INSERT INTO mpitrace.jobs SELECT * FROM mpitrace.jobs WHERE user = 'mallory'")
        t.check('and comes again once', count() == 1501, count())
        db = place + '/f.db'
        with open(place + '/all.ndjson', 'w') as f:
            f.writelines(json.dumps(r) + '\n' for r in some[:3] + [later] + some[4:] + [dict(some[4], user='mallory', core_hours=0)])
        subprocess.run([MPITRACE, 'fleet', 'ingest', place + '/all.ndjson', '--db', db], check=True, capture_output=True)
        test_dashboard(t, server, db, count())
        before, user = count(), some[2]['user']
        theirs = int(ask("SELECT count() AS n FROM mpitrace.jobs WHERE user = '%s'" % user)[0]['n'])
        run = site.run('--forget-user', user)
        t.equal('ClickHouse: who is forgotten has nothing there', (run.returncode, run.stdout, ask("SELECT count() AS n FROM mpitrace.jobs WHERE user = '%s'" % user)[0]['n'], theirs > 0),
                (0, 'd0: {:,} records removed\n'.format(theirs), '0', True))
        run = site.run('--forget-user', some[0]['user'])
        t.check('ClickHouse: a hostile name is a name', run.returncode == 0 and ' 1 record removed' in run.stdout, run)
        run = site.run('--forget-user', "x' OR user <> '")
        t.check('ClickHouse: and removes nobody else', run.returncode == 0 and ' 0 records removed' in run.stdout and count() == before - len({r['id'] for r in some if r['user'] == user}) - 1, (run, count(), before))
        site.configure(dict(destination, table='a`b\\ (x) FORMAT'))
        site.leave(some[4] | {'core_hours': 2})
        run = site.run()
        t.check('a name of a table is a name', run.returncode == 5 and r"Table mpitrace.`a\`b\\ (x) FORMAT` doesn't exist" in run.stderr, run)


# ---- Pushgateway and Prometheus ----

LINE = re.compile(r'(mpitrace_\w+)\{(.*)\} (\S+)$')


def series(text):
    """{(metric, its labels sorted): value} of a page of metrics."""
    result = {}
    for line in text.splitlines():
        m = LINE.match(line)
        if m:
            labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', m.group(2))
            result[m.group(1), tuple(sorted((k, v) for k, v in labels if k not in ('job', 'instance')))] = float(m.group(3))
    return result


def first_issue(r):
    return next((x for x in r['issues'] if x['severity'] != 'info'), None)


def summed(some):
    sums = collections.Counter()
    for r in some:
        labels = [(k, (r[k] or '').replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n')) for k in ('account', 'cluster', 'partition')]
        for metric, value in (('jobs', 1), ('incomplete_jobs', not r['coverage']['complete']), ('core_hours', r['core_hours']), ('useful_core_hours', r['core_hours'] * r['share']['useful']),
                              ('waiting_core_hours', r['core_hours'] * min(r['share']['wait'], 1 - r['share']['useful'])), ('hung_core_hours', r.get('hung_core_hours', 0)),
                              ('idle_core_hours', r['hours']['idle']), ('not_known_core_hours', 0)):
            sums['mpitrace_%s_total' % metric, tuple(labels)] += value
        issue = first_issue(r)
        if issue:
            sums['mpitrace_lost_core_hours_total', tuple(sorted(labels + [('issue', issue['issue'])]))] += min(issue['loss_core_hours'], r['core_hours'])
    return sums


def equal(got, want):
    return got.keys() == want.keys() and all(close(got[k], want[k]) for k in want)


def ask_prometheus(server, question):
    result = json.loads(fetch(server.url + '/api/v1/query?' + urllib.parse.urlencode({'query': question})))['data']['result']
    return float(result[0]['value'][1]) if result else None


def test_prometheus(t, place, gateway, want):
    url = 'http://127.0.0.1:%d' % free_port()
    with open(place + '/prometheus.yml', 'w') as f:
        f.write('global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: gateway\n  honor_labels: true\n  static_configs: [{targets: ["%s"]}]\n' % gateway.url[7:])
    words = [shutil.which('prometheus'), '--config.file=%s/prometheus.yml' % place, '--storage.tsdb.path=%s/tsdb' % place, '--web.listen-address=' + url[7:]]
    with Server(words, place, url, '/-/ready') as server:
        jobs = None
        while server.process.poll() is None and jobs is None:
            jobs = ask_prometheus(server, 'sum(mpitrace_jobs_total)')
            time.sleep(0.1)
        hours = sum(r['core_hours'] for r in want)
        t.check('Prometheus has read it', jobs == len(want) and close(ask_prometheus(server, 'sum(mpitrace_core_hours_total)'), hours), (jobs, len(want)))


def test_pushgateway(t, place, all_records):
    port = free_port()
    url = 'http://127.0.0.1:%d' % port
    with Server([shutil.which('prometheus-pushgateway'), '--web.listen-address=127.0.0.1:%d' % port, '--persistence.file='], place, url, '/-/ready') as server:
        some = hostile(all_records[:300])
        site = Site(place, 'gateway', {'type': 'pushgateway', 'url': url + '/', 'batch': 7, 'backoff': 0, 'instance': 'a fleet\u00e9'})
        site.leave(*some)
        run, _ = site.until_done()
        page = fetch(url + '/metrics')
        t.check('Pushgateway: the sums of all records', run.returncode == 0 and equal(series(page), summed(some)), run)
        t.check('in the group of its instance', 'instance="a fleet\u00e9"' in page and page.count('push_time_seconds{') == 1, page[-500:])
        site.leave(dict(some[5], core_hours=77))
        site.until_done()
        t.check('another record of a step that is counted changes nothing', equal(series(fetch(url + '/metrics')), summed(some)), '')
        if shutil.which('prometheus'):
            test_prometheus(t, place, server, some)
        killed, batch = 0, 0
        for i in range(KILLS):
            site.leave(*all_records[300 + 3 * i:303 + 3 * i])
            p = subprocess.Popen(site.words(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                p.wait(0.001 * (5 + i))
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGKILL)
            killed += p.wait() == -signal.SIGKILL
        site.until_done()
        t.check('killed %d times, each is counted once' % killed, killed > 0 and equal(series(fetch(url + '/metrics')), summed(some + all_records[300:300 + 3 * KILLS])), '')
        site.configure({'type': 'pushgateway', 'url': url, 'instance': 'a/b'})
        t.check('an instance with a slash is one error', site.run().returncode == 3, '')


# ---- _bulk, as documented ----

def claim(r):
    """Under which name a record is a document."""
    return '%s %s' % (r['id'], r['user']) if r['user'] else r['id']


class Bulk(http.server.ThreadingHTTPServer):
    """What the reference of the bulk API says, strictly. wrong: what broke it; plan: how requests fail in turn; refuse, busy: ids of documents."""
    daemon_threads = True

    def __init__(self):
        super().__init__(('127.0.0.1', 0), BulkHandler)
        self.url = 'http://127.0.0.1:%d' % self.server_port
        self.echo, self.words, self.conflicts = None, False, False
        self.documents, self.wrong, self.plan, self.refuse, self.busy, self.writes, self.again = {}, [], collections.deque(), set(), set(), 0, 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def one(self, action, document):
        name = action['index']['_id']
        if set(action) != {'index'} or set(action['index']) != {'_id'} or not 0 < len(name.encode()) <= 512:
            self.wrong.append(action)
        if name in self.refuse:
            return {'index': {'status': 400, 'error': {'type': 'mapper_parsing_exception', 'reason': ('\x1b[31m failed \u00e9 ' + SECRET if name == self.echo else '\x1b[31m failed to parse \u00e9 ') + 'x' * 1000}}}
        if name in self.busy:
            self.busy.remove(name)
            return {'index': {'status': 429, 'error': {'type': 'es_rejected_execution_exception', 'reason': 'queue is full'}}}
        self.writes += 1
        created = name not in self.documents
        self.documents[name] = document
        return {'index': {'status': 201 if created else 200}}


class BulkHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *words):
        pass

    def say(self, status, text):
        self.send_response(status)
        self.send_header('Content-Length', str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self):
        s = self.server
        body = self.rfile.read(int(self.headers['Content-Length']))
        body = gzip.decompress(body) if self.headers['Content-Encoding'] == 'gzip' else body
        url = urllib.parse.urlparse(self.path)
        if url.path in ('/mpitrace-jobs/_search', '/mpitrace-jobs/_delete_by_query'):
            return self.of_user(url, json.loads(body))
        if url.path != '/mpitrace-jobs/_bulk' or self.headers['Content-Type'] != 'application/x-ndjson' or self.headers['Authorization'] != 'ApiKey ' + SECRET or not body.endswith(b'\n'):
            s.wrong.append((self.path, dict(self.headers)))
        lines = [json.loads(line) for line in body.decode().splitlines()]
        what = s.plan.popleft() if s.plan else None
        if isinstance(what, int):
            return self.say(what, '{"error": "no", "status": %d}' % what)
        before = s.writes
        items = [s.one(a, d) for a, d in zip(lines[::2], lines[1::2], strict=True)]
        s.again += s.writes - before if what else 0
        errors = any('error' in x['index'] for x in items)
        return self.say(200, 'not JSON' if what == 'odd' else json.dumps({'errors': errors, 'items': items[1:] if what == 'short' else items}))


    def of_user(self, url, asked):
        """Both by an exact name. words: the field is of words, which have no sums and are found one by one."""
        s = self.server
        user = asked.get('query', {}).get('term', {}).get('user')
        found = [k for k, d in s.documents.items() if (user in re.split(r'\W+', d['user'] or '') if s.words else d['user'] == user)]
        if user is None or self.headers['Authorization'] != 'ApiKey ' + SECRET or self.headers['Content-Type'] != 'application/json':
            s.wrong.append((url, asked))
        if url.path.endswith('_search'):
            if s.words and 'aggs' in asked:
                return self.say(400, '{"error": {"reason": "Text fields are not optimised for aggregations"}}')
            return self.say(200, json.dumps({'hits': {'total': {'value': len(found), 'relation': 'eq'}}}))
        if urllib.parse.parse_qs(url.query) != {'refresh': ['true'], 'conflicts': ['proceed']} or set(asked) != {'query'}:
            s.wrong.append((url, asked))
        for k in found[:1] if s.conflicts else found:
            del s.documents[k]
        s.conflicts = False
        return self.say(200, json.dumps({'deleted': len(found), 'version_conflicts': 0, 'failures': []}))


def test_bulk(t, place, all_records):
    server = Bulk()
    some = hostile(all_records[:120])
    letters = place + '/dead'
    os.mkdir(letters)
    site = Site(place, 'bulk', {'type': 'elasticsearch', 'url': server.url + '/', 'index': 'mpitrace-jobs', 'token_file': secret_file(place), 'batch': 50, 'backoff': 0, 'dead_letters': letters})
    site.leave(*some)
    server.plan.extend([503, 'odd', 429])
    server.refuse = {claim(some[7]), claim(some[99])}
    server.busy = {claim(r) for r in some[10:15]}
    server.echo = claim(some[99])
    run, rounds = site.until_done()
    want = {claim(r).replace('\n', '?'): r for r in some if claim(r) not in server.refuse}
    t.check('_bulk: every document that it takes is there', server.documents == want and not server.wrong, (len(server.documents), server.wrong[:2]))
    t.check('what it refuses one by one is dead, with the reason', run.returncode == 4 and site.status()[0]['dead'] == 2 and site.status()[0]['done'] == 118, (run, site.status()))
    t.check('no secret and nothing that a terminal heeds is repeated', '\x1b' not in run.stderr and SECRET not in run.stderr + site.run('--dead').stdout and 'left out' in site.run('--dead').stdout, run.stderr)
    t.check('only what was busy is sent again', server.again > 0 and server.writes == 118 + server.again, (server.writes, server.again))
    files = sorted(os.listdir(letters))
    dead = [json.load(open(letters + '/' + f)) for f in files]
    t.check('each dead letter is a file', len(files) == 2 and {claim(d['record']) for d in dead} == server.refuse and sum('400: mapper_parsing_exception' in d['reason'] for d in dead) == 1, (files, dead))
    server.refuse = {claim(some[7])}
    run = site.run('--revive')
    t.check('--revive: they wait again', run.returncode == 5 and site.status()[0]['waiting'] == 2, run)
    run, _ = site.until_done()
    t.check('and who is taken now is there', claim(some[99]) in server.documents and site.status()[0]['dead'] == 1, site.status())
    t.check('not both', site.run('--forget', '--revive').returncode == 2, '')
    run = site.run('--forget')
    t.check('--forget: given up, and counted', run.returncode == 4 and site.status()[0]['dead'] == 0 and site.status()[0]['dropped'] == 1, (run, site.status()))
    later = dict(some[3], core_hours=9)
    server.plan.append('short')
    server.refuse = {'none'}
    server.busy = {claim(later)}
    site.leave(later)
    run, _ = site.until_done()
    t.check('a later record of a step takes the place of the one before', server.documents[claim(later)] == later and len(server.documents) == 119, run)
    site.leave(dict(some[4], user='mallory', core_hours=0))
    site.until_done()
    t.check('one that another user writes about it does not', server.documents[claim(some[4])] == some[4] and len(server.documents) == 120, len(server.documents))
    site.leave(dict(some[6], user='x' * 250 + '\u00e9' * 100))
    site.until_done()
    t.check('however long a name is, its document has one', not server.wrong and len(server.documents) == 121, server.wrong)
    user, theirs = collections.Counter(d['user'] for d in server.documents.values()).most_common(1)[0]
    server.words = True
    run = site.run('--forget-user', user)
    t.check('where names are words, so that others would be found, nothing is removed', run.returncode == 5 and len(server.documents) == 121 and 'Text fields' in run.stdout, run)
    server.words, server.conflicts = False, True
    run = site.run('--forget-user', user)
    t.check('what is left after a conflict is said', theirs > 1 and run.returncode == 5 and 'still there: %d record' % (theirs - 1) in run.stdout, (run, theirs))
    run = site.run('--forget-user', user)
    t.check('again: who is forgotten has nothing there', run.returncode == 0 and len(server.documents) == 121 - theirs and not server.wrong, (run, server.wrong))
    run = site.run('--forget-user', some[7]['user'])
    t.equal('nor a dead letter', [f for f in os.listdir(letters) if json.load(open(letters + '/' + f))['record']['user'] == some[7]['user']], [])
    server.shutdown()


def main():
    programs = ((test_bulk, 'python3'), (test_influxdb_2, 'python3'), (test_influxdb, 'influxd'), (test_clickhouse, 'clickhouse-server'), (test_pushgateway, 'prometheus-pushgateway'))
    for _, program in programs:
        if not shutil.which(program):
            print('# %s is not installed: not tested against it' % program)
    each_in_its_place(Tests(), [test for test, program in programs if shutil.which(program)], records(1600))


main()
