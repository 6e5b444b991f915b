"""export_perfetto.py - reads an export by Google's protobuf library after perfetto.proto: slices, arguments, flows."""
import importlib
import os
import re
import subprocess
import sys
import tempfile


def decoder():
    """The module that protoc makes of perfetto.proto."""
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(['protoc', '-I', here, '--python_out', directory, 'perfetto.proto'], check=True)
        sys.path.insert(0, directory)
        module = importlib.import_module('perfetto_pb2')
        sys.path.pop(0)
    return module


def unknown_fields(path):
    """Lines of `protoc --decode` for what perfetto.proto does not know, or what is of another type there: numbers in place of names."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(path, 'rb') as f:
        done = subprocess.run(['protoc', '-I', here, '--decode', 'Trace', 'perfetto.proto'], stdin=f, stdout=subprocess.PIPE, encoding='utf-8', check=True)
    return [line for line in done.stdout.splitlines() if re.match(r' *\d', line)][:3]


def slices_of(trace, names):
    """[(track, begin, end, name, arguments, flows, flows that end)], and what does not nest."""
    open_, found, wrong = {}, [], []
    for p in trace.packet:
        if not p.HasField('event'):
            continue
        e = p.event
        if e.type == 1:
            if e.track in open_:
                wrong.append(e.track)
            open_[e.track] = (p.timestamp, e)
        else:
            begin, first = open_.pop(e.track)
            args = {names['arguments'][a.name]: a.natural if a.HasField('natural') else a.integer for a in first.arguments}
            found.append((e.track, begin, p.timestamp, names['names'][first.name], args, list(first.flows), list(e.ending_flows)))
    return found, wrong + list(open_)


def check(t, who, trace):
    path, _ = trace.export('perfetto')
    whole = decoder().Trace()
    with open(path, 'rb') as f:
        whole.ParseFromString(f.read())
    t.equal(who + 'perfetto: the schema knows every field', unknown_fields(path), [])
    first = whole.packet[0]
    names = {k: {x.id: x.text for x in getattr(first.interned, k)} for k in ('categories', 'names', 'arguments')}
    t.equal(who + 'perfetto: the first packet begins the sequence', (first.flags & 1, len({p.sequence for p in whole.packet})), (1, 1))
    threads = {p.track.uuid: p.track for p in whole.packet if p.HasField('track') and p.track.HasField('thread')}
    processes = {p.track.uuid: p.track.process for p in whole.packet if p.HasField('track') and p.track.HasField('process')}
    t.equal(who + 'perfetto: threads belong to processes, which are ranks',
            (sorted(p.name for p in processes.values()), {x.parent in processes for x in threads.values()},
             len({(x.thread.pid, x.thread.tid) for x in threads.values()})),
            (sorted('rank %d' % r for r in range(trace.analysis['job']['ranks'])), {True}, len(threads)))
    slices, wrong = slices_of(whole, names)
    t.equal(who + 'perfetto: every slice ends before the next begins', wrong, [])
    rank = {u: int(processes[x.parent].name[5:]) for u, x in threads.items()}
    t.equal(who + 'perfetto: slices are the events of show',
            sorted((rank[s[0]], s[1], s[2], s[3], s[4].get('bytes', 0), s[4].get('wait_ns', 0)) for s in slices),
            sorted((e['rank'], round(e['start_s'] * 1e9), round(e['end_s'] * 1e9), e['op'], e['bytes'], round(e['wait_s'] * 1e9))
                   for e in trace.events))
    begun = {f: s for s in slices for f in s[5]}
    ended = {f: s for s in slices for f in s[6]}
    pairs = {}
    for flow, s in begun.items():
        if flow in ended:
            pair = (rank[s[0]], rank[ended[flow][0]])
            pairs[pair] = pairs.get(pair, 0) + 1
    t.equal(who + 'perfetto: every message is one flow, from its sender to its receiver', pairs,
            {(p['src'], p['dst']): p['messages'] for p in trace.analysis['matrix']['p2p'] if p['messages'] > 0})
    t.equal(who + 'perfetto: no flow ends before it begins', [f for f in ended if ended[f][2] < begun[f][1]], [])
