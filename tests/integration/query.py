#!/usr/bin/env python3
"""query.py - `mpitrace query` answers what the exported data base answers to the same SQL; each question of docs/QUERY.md has the answer
that stands there; what does more than read is refused and does nothing. query.py generated: of generated traces, without MPI."""
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

from trace import ENV, FLAVOURS, MPITRACE, Place, Tests

RANKS = 4
DOCS = os.path.join(os.path.dirname(__file__), '..', '..', 'docs', 'QUERY.md')
TABLES = ('events', 'messages', 'waits', 'samples', 'sample_calls', 'ranks', 'callsites', 'communicators', 'communicator_members', 'windows', 'files',
          'ops', 'classes', 'states', 'meta', 'analysis', 'calls', 'wait_by_callsite', 'top_pairs', 'late_senders', 'operations', 'collective_spread')
NARROW = (
    'SELECT * FROM events WHERE rank = 2', 'SELECT * FROM events WHERE rank > 1 AND rank <= 3', 'SELECT * FROM events WHERE rank < -1',
    'SELECT * FROM events WHERE rank = 1.5', 'SELECT * FROM events WHERE rank >= 1.5', "SELECT * FROM events WHERE rank = 'x'", 'SELECT * FROM events WHERE rank = NULL',
    'SELECT * FROM events WHERE rank > 1e300 OR rank < 9e18', 'SELECT * FROM events WHERE start_ns >= %(middle)d', 'SELECT * FROM events WHERE start_ns < %(middle)d AND rank = 0',
    'SELECT * FROM events WHERE start_ns = %(middle)d', 'SELECT * FROM events WHERE rank IN (0, 3) AND start_ns BETWEEN %(middle)d - 1000000 AND %(middle)d',
    'SELECT * FROM events WHERE id = %(id)d', 'SELECT * FROM events WHERE id > %(id)d AND id < %(id)d + 100', 'SELECT * FROM events WHERE id IN (0, -1, 9223372036854775807, %(id)d)',
    'SELECT * FROM messages WHERE dst = 1', 'SELECT * FROM messages WHERE send_start_ns > %(middle)d', 'SELECT * FROM messages WHERE recv_end_ns <= %(middle)d AND dst < 2',
    'SELECT * FROM messages WHERE id = 3', 'SELECT w.*, e.rank, e.wait_ns FROM waits w JOIN events e ON e.id = w.event', 'SELECT * FROM waits WHERE event = %(wait)d',
    'SELECT e.id, w.wait_ns FROM events e LEFT JOIN waits w ON w.event = e.id WHERE e.rank = 1',
    'SELECT count(*), sum(e.bytes) FROM messages m JOIN events e ON e.rank = m.src AND e.thread = m.src_thread AND e.start_ns = m.send_start_ns',
    'SELECT rank, count(*) FROM events GROUP BY rank ORDER BY 2 DESC, 1', 'SELECT a.id FROM events a JOIN events b ON b.id = a.id + 1 AND b.op = a.op WHERE a.rank = 0')
HOSTILE = (
    "ATTACH 'evil.db' AS x", 'PRAGMA writable_schema = 1', 'PRAGMA temp_store_directory', 'CREATE TABLE evil(x)', 'CREATE TEMP TABLE evil(x)',
    "INSERT INTO ops VALUES(999, 'x')", 'DELETE FROM ranks', 'UPDATE ranks SET rank = 0', 'DELETE FROM events', 'DROP TABLE ranks', "VACUUM INTO 'evil.db'",
    "SELECT load_extension('/evil.so')", "SELECT writefile('evil', 'x')", "SELECT readfile('/etc/passwd')", 'SELECT 1; DROP TABLE ranks', 'BEGIN', 'COMMIT', '', ' ;', 'SELECT',
    'SELECT zeroblob(2000000000)', 'SELECT hex(zeroblob(60000000))', 'DETACH main', 'REINDEX', 'ANALYZE', 'EXPLAIN DELETE FROM ranks')


def run(*words, **how):
    return subprocess.run([MPITRACE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', env=ENV, timeout=120, check=False, **how)


def asked(mpix, sql):
    """Rows as tuples; the reason instead when it was refused."""
    done = run('query', mpix, sql, '--json')
    return [tuple(json.loads(line).values()) for line in done.stdout.splitlines()] if done.returncode == 0 else done.stderr


def told(db, sql):
    names = [d[0] for d in db.execute(sql).description]
    return [tuple(dict(zip(names, row)).values()) for row in db.execute(sql)]


def by_text(rows):
    return sorted(rows, key=str) if isinstance(rows, list) else rows


def same(t, who, mpix, directory):
    out = directory + '/same.db'
    t.equal(who + ': is exported', run('export', mpix, '--to', 'sqlite', '-o', out).returncode, 0)
    db = sqlite3.connect(out)
    rows = db.execute('SELECT id, start_ns FROM events ORDER BY start_ns').fetchall()
    wait = db.execute('SELECT coalesce(max(event), 0) FROM waits').fetchone()[0]
    known = {'middle': rows[len(rows) // 2][1], 'id': rows[len(rows) // 3][0], 'wait': wait}
    for sql in ['SELECT * FROM ' + name for name in TABLES] + [x % known for x in NARROW]:
        want, got = by_text(told(db, sql)), by_text(asked(mpix, sql))
        t.check('%s: %s' % (who, sql), got == want, (len(want), want[:2], got[:2] if isinstance(got, list) else got))
    t.equal(who + ': both have the same columns', asked(mpix, 'SELECT name FROM sqlite_schema WHERE type = \'view\' ORDER BY name'),
            told(db, 'SELECT name FROM sqlite_schema WHERE type = \'view\' ORDER BY name'))
    db.close()
    os.unlink(out)


def generated(directory, name, *words):
    subprocess.run([os.environ['GENERATE'], *words, '-o', directory + '/' + name], check=True, stdout=subprocess.DEVNULL)
    run('analyze', directory + '/' + name, '-o', '%s/%s.mpix' % (directory, name))
    return '%s/%s.mpix' % (directory, name)


def answers(t, directory):
    with open(DOCS, encoding='utf-8') as f:
        text = f.read()
    words = re.search(r'`generate (.+?)`', text.replace('\n', ' '))[1].split()
    mpix = generated(directory, 'asked', *words)
    found = re.findall(r'### \d+\. (.+)\n\n```sql\n([^`]+)\n```\n\n```\n([^`]*)```', text)
    t.equal('docs/QUERY.md has fifteen questions', len(found), 15)
    for question, sql, answer in found:
        t.equal('docs/QUERY.md: ' + question, run('query', mpix, sql).stdout, answer)


def hostile(t, mpix, directory):
    with open(mpix, 'rb') as f:
        before = hashlib.sha256(f.read()).hexdigest()
    here = directory + '/here'
    os.mkdir(here)
    for sql in HOSTILE:
        done = run('query', mpix, sql, cwd=here)
        t.check('refused, and why: ' + sql, done.returncode in (2, 4) and done.stdout == '', (done.returncode, done.stdout, done.stderr))
        t.equal('one line says so: ' + sql, done.stderr.count('\n'), 1)
    endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n'
    done = run('query', mpix, endless, '--timeout', '1', cwd=here)
    t.check('what has no end is ended', done.returncode == 4 and 'not done in time' in done.stderr, done)
    many = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 40) SELECT group_concat(hex(zeroblob(1000000))) FROM n'
    t.check('a value has a bound', run('query', mpix, many, cwd=here).returncode == 2, '')
    with open(mpix, 'rb') as f:
        t.equal('the trace is as it was, and no file more', (hashlib.sha256(f.read()).hexdigest(), os.listdir(here)), (before, []))


def forms(t, mpix, directory):
    sql = "SELECT 'a,b' AS \"x\"\"y\", 'c\"d' AS q, NULL AS n, 1.5 AS r, 'two' || char(10) || 'lines' AS l, char(27) || '[2J' AS e"
    t.equal('CSV is quoted, and commands no terminal', run('query', mpix, sql, '--csv').stdout, '"x""y",q,n,r,l,e\n"a,b","c""d",,1.5,two?lines,?[2J\n')
    t.equal('no text of it is a formula, numbers stay numbers', run('query', mpix, "SELECT '=cmd|x' AS a, -5 AS b, -0.5 AS c, '-5' AS d", '--csv').stdout,
            "a,b,c,d\n'=cmd|x,-5,-0.5,'-5\n")
    t.equal('JSON is one object a row', json.loads(run('query', mpix, sql, '--json').stdout),
            {'x"y': 'a,b', 'q': 'c"d', 'n': None, 'r': 1.5, 'l': 'two\nlines', 'e': '\x1b[2J'})
    t.check('a terminal is left alone by what a value says', '\x1b' not in run('query', mpix, sql).stdout, '')
    t.equal('no row: the names of columns', run('query', mpix, 'SELECT rank FROM events WHERE rank < 0').stdout, 'rank\n')
    long = run('query', mpix, 'SELECT id FROM events').stdout.split()
    t.equal('more rows than are measured', len(long) - 1, asked(mpix, 'SELECT count(*) FROM events')[0][0])
    for words, code, said in (([], 2, 'give one'), ([mpix], 2, 'give one'), ([mpix, 'SELECT 1', 'x'], 2, 'give one'), ([directory + '/no.mpix', 'SELECT 1'], 3, 'no.mpix'),
                              ([mpix, 'SELECT 1', '--timeout', 'x'], 2, '--timeout'), ([DOCS, 'SELECT 1'], 3, 'QUERY.md'),
                              ([os.path.join(os.path.dirname(__file__), '..', 'corpus', 'version_1.mpix'), 'SELECT 1'], 2, 'version 1')):
        done = run('query', *words)
        t.check('said: %s' % said, done.returncode == code and said in done.stderr, done)
    with open('/dev/full', 'wb') as full:
        done = subprocess.run([MPITRACE, 'query', mpix, 'SELECT * FROM events', '--csv'], stdout=full, stderr=subprocess.PIPE, check=False)
    t.check('no room: one error', done.returncode == 4 and done.stderr.count(b'\n') == 1, done)


def damaged(t, mpix, directory):
    """A piece of events that is damaged: said, unless the statement needs none of it."""
    with open(mpix, 'rb') as f:
        data = bytearray(f.read())
    index, n = int.from_bytes(data[24:32], 'little'), int.from_bytes(data[32:36], 'little')
    entries = [data[index + 56 * i:index + 56 * i + 56] for i in range(n)]
    at = max((e for e in entries if e[0] == 4), key=lambda e: int.from_bytes(e[12:16], 'little'))
    data[int.from_bytes(at[32:40], 'little') + 3] ^= 0x55
    with open(directory + '/damaged.mpix', 'wb') as f:
        f.write(data)
    done = run('query', directory + '/damaged.mpix', 'SELECT count(*) FROM events')
    t.check('a damaged piece is said, with where', done.returncode == 3 and 'damaged.mpix' in done.stderr and done.stderr.count('\n') == 1, done)
    t.equal('what does not need it is answered', asked(directory + '/damaged.mpix', 'SELECT count(*) FROM ranks'), [(20,)])


def reads_a_part(t, directory):
    """Conditions on rank and time: the rest is not read, as bytes read from the file tell. Several windows of several groups."""
    mpix = generated(directory, 'halo', '--pattern', 'halo', '--ranks', '32', '--nodes', '2', '--events-per-rank', '8000')
    same(t, 'halo', mpix, directory)
    def read(sql):
        trace = subprocess.run(['strace', '-f', '-e', 'trace=pread64', MPITRACE, 'query', mpix, sql], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding='utf-8', check=False)
        return sum(int(n) for n in re.findall(r'^pread64.* = (\d+)$', trace.stderr, re.M))
    try:
        whole, rank, span = (read('SELECT count(*) FROM events' + x) for x in ('', ' WHERE rank = 3', ' WHERE start_ns < 1'))
    except FileNotFoundError:
        t.check('reads a part # SKIP no strace', True, '')
        return
    t.check('a rank is not the whole trace, nor is a span', 0 < rank < whole and 0 < span < whole, (whole, rank, span))


def stuck(t, place):
    """Calls that ranks never came back from are rows as others are."""
    program = place.compile('stuck.c', '-pthread')
    for kind in ('halo', 'threads'):
        place.traced(RANKS, program, kind, name=kind)
        mpix = '%s/out/%s.mpix' % (place.dir, kind)
        same(t, 'stuck ' + kind, mpix, place.dir)
        want = json.loads(run('show', mpix, '--json').stdout)['per_rank']
        t.equal('stuck %s: where they hang' % kind, sorted(asked(mpix, 'SELECT rank, thread, op FROM calls WHERE open')),
                sorted((r['rank'], x['thread'], x['op']) for r in want for x in r['open']))
        t.equal('stuck %s: a condition on time finds them' % kind, asked(mpix, 'SELECT count(*) FROM events WHERE rank = 1 AND open AND start_ns >= '
                '(SELECT min(start_ns) FROM events WHERE rank = 1 AND open)'), [(len(want[1]['open']),)])


def of_generated(t):
    with tempfile.TemporaryDirectory() as directory:
        mpix = generated(directory, 'irregular', '--pattern', 'irregular', '--ranks', '20', '--nodes', '3', '--events-per-rank', '2500')
        same(t, 'irregular', mpix, directory)
        same(t, 'one rank', generated(directory, 'alone', '--pattern', 'irregular', '--ranks', '1', '--nodes', '1', '--events-per-rank', '500'), directory)
        answers(t, directory)
        hostile(t, mpix, directory)
        forms(t, mpix, directory)
        damaged(t, mpix, directory)


def traced(t):
    with tempfile.TemporaryDirectory() as directory:
        reads_a_part(t, directory)
    with Place(FLAVOURS[0]) as place:
        for name, flags in (('counts_rma.c', ()), ('multiple.c', ('-pthread',)), ('counts_io.c', ())):
            place.traced(RANKS, place.compile(name, *flags), *([place.dir] if name == 'counts_io.c' else []), name=name[:-2])
            same(t, name, '%s/out/%s.mpix' % (place.dir, name[:-2]), place.dir)
        stuck(t, place)


def main():
    t = Tests()
    if sys.argv[1:] == ['generated']:
        of_generated(t)
    else:
        traced(t)
    t.end()


main()
