"""export_otf2.py - reads an archive by otf2-print and by OTF2's own Python reader: times, messages, collectives, communicators,
one-sided calls, files."""
import collections
import re
import subprocess


def printed(path):
    """Records by kind, as otf2-print counts them."""
    out = subprocess.run(['otf2-print', path + '/traces.otf2'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding='utf-8', check=True)
    return collections.Counter(re.findall(r'^([A-Z][A-Z0-9_]+) +\d+ ', out.stdout, re.M)), out.stdout


def read(path):
    """Regions as (rank, begin, end, name), and records by kind with the rank."""
    import otf2 # pylint: disable=import-outside-toplevel
    from otf2 import events as kinds # pylint: disable=import-outside-toplevel
    regions, records, open_ = [], collections.defaultdict(list), {}
    with otf2.reader.open(path + '/traces.otf2') as trace:
        per_second = trace.timer_resolution
        for location, event in trace.events:
            rank = int(location.group.name.rsplit(' ', 1)[1])
            if isinstance(event, kinds.Enter):
                open_[location] = event
            elif isinstance(event, kinds.Leave):
                begin = open_.pop(location)
                regions.append((rank, begin.time, event.time, event.region.name))
            else:
                records[type(event).__name__].append((rank, event))
        comms = {c.name: [x.group.name for x in c.group.members] for c in trace.definitions.comms}
        roles = {r.name: (r.region_role, r.paradigm) for r in trace.definitions.regions}
        nodes = {n.name for n in trace.definitions.system_tree_nodes}
        windows = {w.name for w in trace.definitions.rma_wins}
    return {'regions': regions, 'records': records, 'comms': comms, 'roles': roles, 'nodes': nodes, 'windows': windows, 'per_second': per_second,
            'open': open_}


def pairs_of(records, kind, other):
    """Messages and bytes by (sender, receiver) in world ranks; other: the partner's place in its communicator's group."""
    found = collections.defaultdict(lambda: [0, 0])
    for rank, e in records:
        member = e.communicator.group.members[getattr(e, other)]
        partner = int(member.group.name.rsplit(' ', 1)[1])
        row = found[(rank, partner) if kind == 'send' else (partner, rank)]
        row[0] += 1
        row[1] += e.msg_length
    return {pair: tuple(row) for pair, row in found.items()}


def check_messages(t, who, got, trace):
    r = got['records']
    want = {(p['src'], p['dst']): (p['messages'], p['bytes']) for p in trace.analysis['matrix']['p2p'] if p['messages'] > 0}
    t.equal(who + 'otf2: sends are the matrix', pairs_of(r['MpiSend'] + r['MpiIsend'], 'send', 'receiver'), want)
    t.equal(who + 'otf2: receives are the matrix', pairs_of(r['MpiRecv'] + r['MpiIrecv'], 'recv', 'sender'), want)
    requests = collections.Counter((rank, e.request_id) for rank, e in r['MpiIrecvRequest'])
    t.equal(who + 'otf2: every nonblocking receive was requested', [(rank, e.request_id) for rank, e in r['MpiIrecv']
                                                                    if requests[rank, e.request_id] != 1], [])
    sends = collections.Counter((rank, e.request_id) for rank, e in r['MpiIsend'])
    t.equal(who + 'otf2: every completed send was started', [1 for rank, e in r['MpiIsendComplete'] if sends[rank, e.request_id] != 1], [])


COLLECTIVES = ['Barrier', 'Bcast', 'Gather', 'Gatherv', 'Scatter', 'Scatterv', 'Allgather', 'Allgatherv', 'Alltoall', 'Alltoallv', 'Alltoallw',
               'Allreduce', 'Reduce', 'Reduce_scatter', 'Reduce_scatter_block', 'Scan', 'Exscan']


def check_collectives(t, who, got, trace):
    ends = got['records']['MpiCollectiveEnd']
    own = [e for e in trace.events if e['op'][4:] in COLLECTIVES]
    t.equal(who + 'otf2: collectives and their bytes are those of show',
            (len(ends), len(got['records']['MpiCollectiveBegin']), sum(e.size_sent + e.size_received for _, e in ends)),
            (len(own), len(own), sum(e['bytes'] for e in own)))


def check_one_sided(t, who, got, trace):
    kinds = {'RmaPut': 'puts', 'RmaGet': 'gets'}
    windows = trace.analysis['windows']
    for kind, key in kinds.items():
        t.equal(who + 'otf2: %s is counted as by window' % kind, len(got['records'][kind]), sum(w[key] for w in windows))
    t.equal(who + 'otf2: atomics are counted as by window', len(got['records']['RmaAtomic']), sum(w['accumulates'] + w['fetches'] for w in windows))
    by_window = collections.Counter(e.win.name for _, e in got['records']['RmaPut'])
    t.equal(who + 'otf2: each window has its puts', dict(by_window),
            {w['name'] or 'window %d' % w['id']: w['puts'] for w in windows if w['puts'] > 0})
    to = sum(e.bytes for _, e in got['records']['RmaPut']) + sum(e.bytes_sent for _, e in got['records']['RmaAtomic'])
    back = sum(e.bytes for _, e in got['records']['RmaGet']) + sum(e.bytes_received for _, e in got['records']['RmaAtomic'])
    t.equal(who + 'otf2: bytes of one-sided calls', (to, back),
            (sum(w['bytes_to_target'] for w in windows), sum(w['bytes_from_target'] for w in windows)))


def check_files(t, who, got, trace):
    files = trace.analysis['files']
    begins = got['records']['IoOperationBegin']
    modes = collections.Counter(e.mode.name if hasattr(e.mode, 'name') else str(e.mode) for _, e in begins)
    t.equal(who + 'otf2: reads and writes of files', (sum(n for m, n in modes.items() if 'READ' in m), sum(n for m, n in modes.items() if 'WRITE' in m)),
            (sum(f['reads'] for f in files), sum(f['writes'] for f in files)))
    t.equal(who + 'otf2: files are opened and closed', (len(got['records']['IoCreateHandle']), len(got['records']['IoDestroyHandle'])),
            tuple(sum(1 for e in trace.events if e['op'] == op and files) for op in ('MPI_File_open', 'MPI_File_close')))


def check(t, who, trace):
    path, said = trace.export('otf2')
    counts, text = printed(path)
    t.check(who + 'otf2-print reads it to its end', 'rror' not in text, text[:300])
    t.equal(who + 'otf2-print: as many regions as events', (counts['ENTER'], counts['LEAVE']), (said['events'], said['events']))
    got = read(path)
    t.equal(who + 'otf2: regions are the events of show', sorted(got['regions']),
            sorted((e['rank'], round(e['start_s'] * 1e9), round(e['end_s'] * 1e9), e['op']) for e in trace.events))
    t.equal(who + 'otf2: times are nanoseconds, every region ends', (got['per_second'], got['open']), (1000000000, {}))
    t.equal(who + 'otf2: nodes are those of the job', set(trace.analysis['job']['nodes']) - got['nodes'], set())
    members = {c['name'] or 'communicator %d' % c['id']: ['MPI Rank %d' % r for r in c['ranks'] if r >= 0] for c in trace.analysis['communicators']}
    t.equal(who + 'otf2: communicators have their members', {k: v for k, v in got['comms'].items() if k in members}, members)
    t.equal(who + 'otf2: regions are of MPI', {str(p) for _, p in got['roles'].values()}, {'Paradigm.MPI'})
    check_messages(t, who, got, trace)
    check_collectives(t, who, got, trace)
    check_one_sided(t, who, got, trace)
    check_files(t, who, got, trace)
