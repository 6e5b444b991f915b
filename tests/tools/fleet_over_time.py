#!/usr/bin/env python3
"""fleet_over_time.py MPITRACE MAKE_FLEET [--nodes N] [--days N] [--jobs-a-day N] [--seeds N] - a machine's fleet, judged anew each day as time
goes on. On quiet nodes: how many would be suspected or said to have changed, a month. On nodes that become a tenth slower: on which
of their jobs that is found, and on which day it says that it was. Not part of the tests, which take a smaller one of it: minutes."""
import argparse
import bisect
import collections
import json
import re
import subprocess
import tempfile


def expand(nodelist):
    first, last = re.fullmatch(r'n\[(\d+)-(\d+)\]', nodelist).groups()
    return ['n%05d' % i for i in range(int(first), int(last) + 1)]


def judged(o, db):
    subprocess.run([o.mpitrace, 'fleet', 'monday', '--db', db, '--json'], check=True, stdout=subprocess.DEVNULL)
    out = subprocess.run([o.mpitrace, 'fleet', 'query', '--db', db, '--json', 'select node, suspected, since, effect from node_list where suspected or since is not null'],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def season(o, place, seed, faults):
    """[(day, judged)], truth, jobs of each node by day."""
    truth = place + '/truth.json'
    text = subprocess.run([o.make_fleet, '--jobs', str(o.jobs_a_day * o.days), '--nodes', str(o.nodes), '--days', str(o.days), '--slow', '0', '--faults', str(faults),
                           '--seasons', '--seed', str(seed), '--truth', truth], check=True, capture_output=True, text=True).stdout
    by_day, of_node = collections.defaultdict(list), collections.defaultdict(list)
    for line in text.splitlines():
        start = re.search(r'"start":"([^"]+)"', line).group(1)
        by_day[start[:10]].append(line)
        nodelist = re.search(r'"nodelist":"([^"]+)"', line)
        for node in expand(nodelist.group(1)) if nodelist else []:
            of_node[node].append(start[:10])
    days, results = sorted(by_day), []
    for i, day in enumerate(days):
        subprocess.run([o.mpitrace, 'fleet', 'ingest', '-', '--db', place + '/f.db'], input='\n'.join(by_day[day]), text=True, check=True, stdout=subprocess.DEVNULL)
        if i >= o.days // 4:
            results.append((day, judged(o, place + '/f.db')))
    with open(truth, encoding='utf-8') as f:
        return results, json.load(f), {n: sorted(d) for n, d in of_node.items()}


def main():
    p = argparse.ArgumentParser()
    p.add_argument('mpitrace')
    p.add_argument('make_fleet')
    for name, value in (('nodes', 1000), ('days', 90), ('jobs-a-day', 400), ('seeds', 1), ('faults', 20)):
        p.add_argument('--' + name, type=int, default=value)
    o = p.parse_args()
    alarms, days, found, missed, off = set(), 0, [], 0, []
    for seed in range(1, o.seeds + 1):
        with tempfile.TemporaryDirectory() as place:
            results, _, _ = season(o, place, seed, 0)
            days += len(results)
            alarms |= {(seed, r['node']) for _, rows in results for r in rows}
        with tempfile.TemporaryDirectory() as place:
            results, truth, of_node = season(o, place, 1000 + seed, o.faults)
            for node, day in truth['faults'].items():
                begin = subprocess.run(['date', '-u', '-d', '@%d' % (day * 86400), '+%F'], capture_output=True, text=True, check=True).stdout.strip()
                first = next(((d, r) for d, rows in results for r in rows if r['node'] == node and r['suspected']), None)
                jobs = of_node.get(node, [])
                if first is None:
                    missed += bisect.bisect_left(jobs, '9') - bisect.bisect_left(jobs, begin) >= 20
                    continue
                found.append(bisect.bisect_right(jobs, first[0]) - bisect.bisect_left(jobs, begin))
                off.append(None if first[1]['since'] is None else first[1]['since'][:10] == begin)
    found.sort()
    print(json.dumps({'quiet_node_days': days * o.nodes, 'false_alarms': len(alarms), 'false_alarms_a_month_of_1000_nodes': len(alarms) / (days * o.nodes / 1000 / 30),
                      'faults_found': len(found), 'not_found_though_20_jobs': missed, 'jobs_until_found': {'median': found[len(found) // 2] if found else None, 'most': found[-1] if found else None},
                      'within_20_jobs': sum(x <= 20 for x in found) / max(1, len(found) + missed), 'day_is_right': sum(map(bool, off)), 'no_day': sum(x is None for x in off)}))


main()
