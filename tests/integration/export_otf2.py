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
    own = [e for e in trace.events if e['op'][4:] in COLLECTIVES and not e.get('open')]
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


def count(trace, *ops):
    return sum(1 for e in trace.events if e['op'] in ops)


def group_of(trace, e):
    """World ranks of a synchronisation's group."""
    return sorted(int(m.group.name.rsplit(' ', 1)[1]) for m in e.group.members)


def check_synchronisations(t, who, got, trace):
    """counts_rma.c: rank r of n is n - 1 - r of the turned communicator and puts to the next two there; every second lock is shared."""
    r, n = got['records'], trace.analysis['job']['ranks']
    locks, alls = count(trace, 'MPI_Win_lock'), count(trace, 'MPI_Win_lock_all')
    if locks == 0:
        return
    kinds = collections.Counter((str(e.lock_type).rsplit('.', 1)[-1], e.remote == 0xffffffff) for _, e in r['RmaRequestLock'])
    t.equal(who + 'otf2: locks are requested with their types', dict(kinds),
            {('EXCLUSIVE', False): locks * 3 // 5, ('SHARED', False): locks * 2 // 5, ('SHARED', True): alls})
    t.equal(who + 'otf2: locks are released', collections.Counter((rank, e.win.name, e.remote) for rank, e in r['RmaReleaseLock']),
            collections.Counter((rank, e.win.name, e.remote) for rank, e in r['RmaRequestLock']))
    opened, closed = count(trace, 'MPI_Win_post') + count(trace, 'MPI_Win_start'), count(trace, 'MPI_Win_complete')
    t.equal(who + 'otf2: every epoch is opened and closed', (len(r['RmaGroupSync']), closed), (2 * opened, opened // 2))
    wrong = []
    for rank, e in r['RmaGroupSync']:
        targets, origins = [sorted({(rank - d) % n for d in (1, 2)}), sorted({(rank + d) % n for d in (1, 2)})]
        if group_of(trace, e) not in (targets, origins):
            wrong.append((rank, group_of(trace, e)))
    t.equal(who + 'otf2: groups of epochs are the program\'s', wrong, [])
    t.equal(who + 'otf2: collectives on windows begin and end', (len(r['RmaCollectiveBegin']), len(r['RmaCollectiveEnd'])),
            (sum(1 for e in trace.events if e['op'] in ('MPI_Win_fence', 'MPI_Win_free') or e['op'].startswith(('MPI_Win_create', 'MPI_Win_allocate'))
                 and not e['op'].endswith(('errhandler', 'keyval'))),) * 2)


def check_completions(t, who, got, trace):
    """Every transfer to a process is complete once here, or at the target, which includes that; never before it began."""
    r = got['records']
    begun = {(rank, e.matching_id): e for kind in ('RmaPut', 'RmaGet', 'RmaAtomic') for rank, e in r[kind]}
    if not begun:
        return
    here = [(rank, e) for kind in ('RmaOpCompleteBlocking', 'RmaOpCompleteNonBlocking') for rank, e in r[kind]]
    there = r['RmaOpCompleteRemote']
    t.check(who + 'otf2: no transfer is complete twice', max(collections.Counter((rank, e.matching_id) for rank, e in here).values(), default=0) <= 1 and
            max(collections.Counter((rank, e.matching_id) for rank, e in there).values(), default=0) <= 1, '')
    complete = {(rank, e.matching_id) for rank, e in here + there}
    t.equal(who + 'otf2: all transfers to a process are complete', complete, {key for key, e in begun.items() if e.remote != 0xffffffff})
    t.equal(who + 'otf2: none is complete before it begins, or on another window',
            [key for key, e in [((rank, e.matching_id), e) for rank, e in here + there] if e.time < begun[key].time or e.win != begun[key].win], [])
    t.equal(who + 'otf2: calls that give a request are complete by its completion', len(r['RmaOpCompleteNonBlocking']),
            count(trace, 'MPI_Rput', 'MPI_Rget', 'MPI_Raccumulate', 'MPI_Rget_accumulate'))


def check_nonblocking(t, who, got, trace):
    r = got['records']
    own = [e for e in trace.events if e['op'] in ['MPI_I' + c.lower() for c in COLLECTIVES]]
    requests, ends = r['NonBlockingCollectiveRequest'], r['NonBlockingCollectiveComplete']
    t.equal(who + 'otf2: nonblocking collectives and their bytes are those of show',
            (len(requests), len(ends), sum(e.size_sent + e.size_received for _, e in ends)), (len(own), len(own), sum(e['bytes'] for e in own)))
    begun = {(rank, e.request_id): e.time for rank, e in requests}
    t.equal(who + 'otf2: each is complete after it was begun, once', [1 for rank, e in ends if e.time < begun.pop((rank, e.request_id), e.time + 1)], [])
    by_op = collections.Counter(str(e.collective_op).rsplit('.', 1)[-1] for _, e in ends)
    t.equal(who + 'otf2: as the operation that it is', by_op, collections.Counter(e['op'][5:].upper() for e in own))


def check_files(t, who, got, trace):
    files = trace.analysis['files']
    begins = got['records']['IoOperationBegin']
    modes = collections.Counter(e.mode.name if hasattr(e.mode, 'name') else str(e.mode) for _, e in begins)
    t.equal(who + 'otf2: reads and writes of files', (sum(n for m, n in modes.items() if 'READ' in m), sum(n for m, n in modes.items() if 'WRITE' in m)),
            (sum(f['reads'] for f in files), sum(f['writes'] for f in files)))
    issued, complete = got['records']['IoOperationIssued'], got['records']['IoOperationComplete']
    nonblocking = [e for e in trace.events if e['op'].startswith(('MPI_File_i', 'MPI_File_')) and
                   (e['op'].startswith(('MPI_File_iread', 'MPI_File_iwrite')) or e['op'].endswith('_begin'))]
    t.equal(who + 'otf2: nonblocking operations are issued', len(issued), len(nonblocking) if files else 0)
    begun = {(rank, e.handle.name, e.matching_id): e.time for rank, e in begins}
    t.equal(who + 'otf2: every operation on a file is complete, once, after it began', (len(complete), [
        1 for rank, e in complete if e.time < begun.pop((rank, e.handle.name, e.matching_id), e.time + 1)]), (len(begins), []))
    t.equal(who + 'otf2: bytes of completed operations', sum(e.bytes_result for _, e in complete),
            sum(e['bytes'] for e in trace.events if re.match('MPI_File_i?(read|write)', e['op'])) if files else 0)
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
    check_synchronisations(t, who, got, trace)
    check_completions(t, who, got, trace)
    check_nonblocking(t, who, got, trace)
    check_files(t, who, got, trace)
