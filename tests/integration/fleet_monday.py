#!/usr/bin/env python3
"""fleet_monday.py - a quarter of a machine: what became slow is found on its day, Monday's mail says it in words that are true, and who is forgotten is
in none. Environment: MAKE_FLEET, MPITRACE."""
import calendar
import email
import glob
import json
import os
import re
import tempfile
import time

from fleet_tool import ask, fleet, lines, made
from trace import Tests


def over_time(t, place):
    """A quarter of a machine on which all is known: what changed is found on its day, what is seasonal is not, and Monday's page says both."""
    db, truth = place + '/quarter.db', place + '/quarter.json'
    made(place + '/quarter.ndjson', 12000, '--nodes', '400', '--days', '91', '--slow', '1', '--faults', '5', '--hung', '30', '--wasteful', '2', '--seasons', '--truth', truth)
    fleet('ingest', place + '/quarter.ndjson', '--db', db)
    with open(truth) as f:
        planted = json.load(f)

    def monday(until, *more):
        out = fleet('monday', '--db', db, '--until', until, *more)
        assert out.returncode == 0, out.stderr
        return out.stdout

    first, text = json.loads(monday('2025-03-24', '--json')), monday('2025-03-31', '--url', 'https://fleet.example.org/')
    second = json.loads(monday('2025-03-31', '--json'))
    nodes = {r['node']: r for r in ask(db, 'select * from node_list where suspected or since is not null')}
    t.equal('nodes that became slower are suspected, and no others', sorted(nodes), sorted(list(planted['faults']) + list(planted['slow'])))
    day = lambda text: calendar.timegm(time.strptime(text[:10], '%Y-%m-%d')) / 86400
    off = {n: (nodes.get(n, {}).get('since'), d) for n, d in planted['faults'].items() if not (nodes.get(n, {}).get('since') and
           day(nodes[n]['since_low']) - 1 <= d <= day(nodes[n]['since_high']) + 1 and abs(day(nodes[n]['since']) - d) <= 3)}
    t.equal('since when', off, {})
    t.check('and by how much', all(abs(nodes[n]['effect'] - 0.1) < 0.02 and abs(nodes[n]['before']) < 0.02 for n in planted['faults'] if n in nodes), nodes)
    t.equal('one that was slow before anybody looked has no such day', [nodes[n]['since'] for n in planted['slow']], [None])
    changed = ask(db, 'select * from change_list')
    t.equal('programs that changed are found; night and weekend are no change', sorted(c['program'] for c in changed), sorted(planted['regressions']))
    t.equal('on their day or a weekend later', [c for c in changed if c['program'] in planted['regressions'] and abs(day(c['day']) - planted['regressions'][c['program']]['day']) > 3], [])
    came = {os.path.basename(c['program']): c['came_with'] or '' for c in changed}
    t.check('with what came then', (came['code10'], came['code17'].split(',')[0], came['code03']) == ('no more build 2e2ac0ea', 'build be1e0823', 'build 17156075 in place of 78dde6c4'), came)
    said = {s['kind']: s for s in second['sentences']}
    t.check('at most ten sentences, by core-hours', 1 < len(second['sentences']) <= 10 and [s['core_hours'] for s in second['sentences']] == sorted((s['core_hours'] for s in second['sentences']), reverse=True), second)
    hung = ask(db, "select count(*) as n, total(hung_core_hours) as h, count(distinct user||program) as k from jobs where hung_core_hours>0 and start>=1742774400 and start<1743379200")[0]
    t.check('hung jobs are one, with all their hours', abs(said['hung']['core_hours'] - hung['h']) < 1 and len(said['hung']['letters']) == hung['k'] and hung['n'] > 15, (said.get('hung'), hung))
    t.check('slow nodes are one, to who runs the machine', all(n in said['node']['letters'][0]['text'] for n in nodes) and [l['to'] for l in said['node']['letters']] == [None], said.get('node'))
    t.equal('users who hardly compute are one, and nobody else is', sorted(l['to'] for l in said['little useful']['letters']), sorted(planted['wasteful']))
    early = json.loads(monday('2025-01-27', '--json'))
    t.equal('a week before they became slow none of them is named', [n for n, d in planted['faults'].items() if d > day('2025-01-27') and n in json.dumps(early)], [])
    cost = lambda said: {s['kind']: s['core_hours'] for s in said['sentences']}['node']
    want = lambda a, b: sum(r['lost'] for r in ask(db, "select lost from node_days where day>=%d and day<%d" % (day(a), day(b))))
    t.check('what slow nodes cost is of that week', abs(cost(second) - want('2025-03-24', '2025-03-31')) < 1 and abs(cost(first) - want('2025-03-17', '2025-03-24')) < 1 and cost(first) != cost(second), (cost(first), cost(second)))
    t.check('and of all weeks what the nodes cost', abs(sum(r['lost_at_most'] for r in nodes.values()) - want('2024-01-01', '2026-01-01')) < 1, nodes)
    t.check('their letters are ready, with a link', 'Dear %s,' % planted['wasteful'][0] in text and 'https://fleet.example.org/user-' in text, text[:3000])
    t.equal('it says what has become of what it said before', sorted(b['text'] for b in second['before']), sorted(s['text'] for s in first['sentences']))
    t.check('in a word', {b['became'] for b in second['before']} <= {'gone', 'less', 'the same', 'more'}, second['before'])
    t.check('as a mail', text.startswith('Subject: MPI from 2025-03-24 to 2025-03-30: ') and max(map(len, text.splitlines())) < 100, text[:500])
    fleet('report', '--db', db, '-o', place + '/quarter')
    page = open(place + '/quarter/monday.html').read()
    t.check('and as a page', 'Jobs that hung held' in page and 'A text for who runs the machine' in page)
    page = open(place + '/quarter/nodes.html').read()
    t.check('the page of nodes has since when', page.count('>since 2025-') == len(planted['faults']), page.count('since 2025-'))
    wrong = fleet('monday', '--db', db, '--until', 'tomorrow')
    t.check('a day that is none is one error', wrong.returncode == 2 and 'tomorrow' in wrong.stderr, wrong)


def mailed(t, place):
    """Monday's mail of hostile, unnamed and small jobs: each sentence is ours, in one line, and true; each link leads somewhere."""
    db = place + '/mail.db'
    week = [r for r in map(json.loads, lines(place + '/quarter.ndjson')) if '2025-03-24' <= r['start'] < '2025-03-31']
    hung = next(r for r in week if r['hung_core_hours'] > 0)

    def mail(records, *more):
        for path in glob.glob(db + '*'):
            os.unlink(path)
        fleet('ingest', '-', '--db', db, input='\n'.join(map(json.dumps, records)))
        read = lambda *form: fleet('monday', '--db', db, '--until', '2025-03-31', '--url', 'https://fleet.example.org', *form).stdout
        return json.loads(read('--json')), read()

    evil = 'a\nSubject: x\u009b\u009b\u202e'
    said, text = mail([dict(hung, id='evil', job_id=evil, user=evil, program='/x/' + evil),
                       dict(week[0], id='cause', user=evil, core_hours=5000, issues=[{'issue': evil, 'severity': 'high', 'loss_core_hours': 1000, 'what': evil}])])
    texts = [x for s in said['sentences'] for x in (s['text'], *(l['text'] for l in s['letters']))]
    t.equal('no name breaks a line, or turns its direction', [x for x in texts if x.count('\n') != (3 if x.startswith('Dear') else 0) or '\u202e' in x or '\u009b' in x], [])
    t.check('as they are in the mail', len(texts) == 4 and [l for l in text.splitlines() if l.startswith('Subject')] == text.splitlines()[:1], text)
    said, text = mail([dict(r, user=None, id='u%d' % i) for i, r in enumerate([hung] + week[:50])])
    t.check('who is not named is nobody\'s "dear"', 'Dear' not in text and 'For the user of these jobs' in text and not re.search(r'\bof  ?\(', text), text[:1500])
    said, text = mail([dict(hung, core_hours=0.3, hung_core_hours=0.2)])
    t.check('small numbers are no zeros', 'held 0.2 core-hours' in text and not re.search(r'\b0 (core-hours|of)', text), text[:800])
    said, text = mail([dict(r, program='/home/u%d/a.out' % (i % 3)) for i, r in enumerate(week[:60])])
    lost = [s['text'] for s in said['sentences'] if s['kind'] == 'program lost']
    t.check('programs of one name are told apart by their paths', len(lost) == 3 and len({s.split()[0] for s in lost}) == 3 and all(s.startswith('/home/u') for s in lost), lost)
    t.check('letters say which week it was', 'in the week from 2025-03-24 to 2025-03-30' in ' '.join(text.split()) and 'last week' not in text, text[:800])
    said, text = mail([])
    t.check('of a week without jobs it is said that none is known', 'No job of that week is known.' in text and 'less than 0.1' not in text and 'Nothing' not in text, text)
    fleet('report', '--db', db, '-o', place + '/none', '--days', '0', '--jobs', '0')
    with open(place + '/none/monday.html', encoding='utf-8') as f:
        page = f.read()
    t.check('and on the page, of no week before there were jobs', 'No job of that week is known.' in page and not re.search('19[67][0-9]-', page), page[:3000])
    unknown = dict(week[0], id='unknown', user='unknown', core_hours=5000, share=dict.fromkeys(week[0]['share']))
    said, text = mail([unknown] + [dict(r, user='known', share={'useful': 0.3, 'mpi': 0.7, 'wait': 0.1}) for r in week[:20]])
    t.equal('nobody is blamed by jobs of which it is not known what was useful', [s for s in said['sentences'] if s['kind'] == 'little useful'], [])
    t.equal('it is not known either of the job', ask(db, "select useful from job_list where user='unknown'"), [{'useful': None}])
    for users in (4, 5):  # beside the one who is told
        shares = [{'useful': 0.1, 'mpi': 0.9, 'wait': 0.5} if i == 0 else {'useful': 0.9, 'mpi': 0.1, 'wait': 0} for i in range(users + 1)]
        said, text = mail([dict(r, user='user%d' % (i % (users + 1)), share=shares[i % (users + 1)]) for i, r in enumerate(week[:120])])
        letters = [l['text'] for s in said['sentences'] if s['kind'] == 'little useful' for l in s['letters']]
        t.equal('of %d others nobody is told how they did, unless they are five' % users,
                [len(letters), [('all other users, 90 %' in l, 'went into computing.' in l) for l in letters]], [1, [(users == 5, users < 5)]])
    idle = [dict(r, user='idler', hours=dict(r['hours'], idle=0.8 * r['core_hours'])) if i % 2 else r for i, r in enumerate(week[:200])]
    said, text = mail(idle)
    sums = ask(db, 'select total(core_hours * (1 - useful)) as h from jobs')[0]['h']
    t.check('nobody could save more than was not useful', 0 < said['could_be_saved'] <= sums * (1 + 1e-9), (said['could_be_saved'], sums))
    t.equal('idle processors are said once', [s['kind'] for s in said['sentences'] if any(l['to'] == 'idler' for l in s['letters']) and s['kind'] in ('idle', 'little useful')], ['idle'])
    said, text = mail([dict(r, program=r['program'] + '-\u00fc') for r in week])
    got = email.message_from_bytes(text.encode())
    t.check('a mail reader knows its letters', '-\u00fc lost' in got.get_payload(decode=True).decode(got.get_content_charset() or 'ascii', 'replace'), text[:400])
    fleet('report', '--db', db, '-o', place + '/mail', '--days', '0', '--jobs', '0')
    links = re.findall(r'https://fleet.example.org/(\S+)', text)
    t.equal('each of its links leads to a page that `fleet report` writes', [l for l in links if not os.path.exists(place + '/mail/' + l)], [])
    page = open(place + '/mail/monday.html').read()
    t.check('as on the page', len(links) > 10 and set(links) == set(re.findall(r'<a href="([^"]+)">The page that it is about', page)), links)


def forgotten(t, place):
    """Of a user who asks for it nothing stays in the file, and all else is as if they had never been there."""
    made(place + '/all.nd', 800, '--nodes', '40', '--slow', '1', '--wasteful', '1')
    records = [json.loads(x) for x in lines(place + '/all.nd')]
    user = 'user002'
    for i, r in enumerate(records): # a program in their home, of theirs alone
        if r['user'] == user:
            r['program'] = '/home/%s/bin/own%d' % (user, i)
            r['account'] = r['partition'] = user
    odd = dict(next(r for r in records if r['user'] == user), start='2050-01-01T00:00:00Z', id='odd')
    run = lambda db, some: fleet('ingest', '-', '--db', db, input='\n'.join(map(json.dumps, some)))
    a, b = place + '/with.db', place + '/without.db'
    run(a, records + [odd])
    run(b, [r for r in records if r['user'] != user])
    for db in (a, b):
        fleet('monday', '--db', db, '--until', '2025-06-02')
    held = open(a, 'rb').read()
    out = fleet('forget', '--user', user, '--db', a)
    t.equal('a user is forgotten', (out.returncode, out.stdout), (0, '%d jobs of %s removed, 1 record set aside\n' % (sum(r['user'] == user for r in records), user)))
    t.check('nothing of them stays in the file', user.encode() in held and all(user.encode() not in open(p, 'rb').read() for p in glob.glob(a + '*')), glob.glob(a + '*'))
    fleet('report', '--db', b, '-o', place + '/forgotten')
    for sql in ('select count(*) as n, round(total(core_hours), 3) as h from jobs', 'select outcome, sum(jobs) as n, round(sum(core_hours), 2) as h from outcomes group by 1 having n > 0 order by 1',
                'select node, round(effect, 6) as e, jobs from node_list order by 1', 'select day, jobs, round(loss, 4) as l from day_sums order by 1'):
        t.equal('as if they had never been there: ' + sql, ask(a, sql), ask(b, sql))
    t.equal('the file is whole', fleet('check', '--db', a).returncode, 0)
    out = fleet('forget', '--user', user, '--db', a)
    run(b, [dict(odd, user='justonce'), dict(records[0], id='short', user='e')])
    said = ask(b, 'select count(*) as n from mondays')
    t.equal('also one of whom there is only what was set aside', (fleet('forget', '--user', 'justonce', '--db', b).returncode, b'justonce' in open(b, 'rb').read()), (0, False))
    t.equal('whose name is part of a word takes no sentence along', (fleet('forget', '--user', 'e', '--db', b).returncode, ask(b, 'select count(*) as n from mondays')), (0, said))
    t.check('who is not there is one error', out.returncode == 3 and user in out.stderr, out)


def main():
    t = Tests()
    with tempfile.TemporaryDirectory() as place:
        over_time(t, place)
        mailed(t, place)
        forgotten(t, place)
    t.end()


main()
