#!/usr/bin/env python3
"""records.py - what single calls leave in the trace, looked at word for word: epochs and windows, files and offsets, datatypes."""
import os

from trace import DEF_COMM, DEF_DATATYPE, DEF_FILE, DEF_WINDOW, DEF_WINDOW_NAME, FLAVOURS, POLLS, Place, Tests

RANKS = 4
EXPLICIT, SHARED, COLLECTIVE, BEGIN, END = 1, 2, 4, 8, 16 # format/sig.h


def calls(process, name):
    return [s for s in process['sigs'] if s['name'] == name and s['calls'] > 0]


def same_everywhere(processes, kind):
    """The global ids of a kind of definition, in order of definition, by rank."""
    return [[d['global_id'] for d in processes[r]['defs'] if d['def'] == kind] for r in sorted(processes)]


def one_sided(t, place):
    who = place.flavour + ', one-sided: '
    program = place.compile('counts_rma.c')
    place.traced(RANKS, program, name='rma')
    processes = place.records('rma')
    for name, offsets in (('MPI_Win_post', (1, 2)), ('MPI_Win_start', (-1, -2))): # ranks of the window are reversed
        t.equal(who + name + ' tells its group in world ranks', [calls(p, name)[0]['group'] for _, p in sorted(processes.items())],
                [[(r + o) % RANKS for o in offsets] for r in range(RANKS)])
    p = processes[1]
    t.equal(who + 'locks tell their type', sorted((s['lock_type'], s['peer'] >= 0, s['calls']) for s in
                                                  calls(p, 'MPI_Win_lock') + calls(p, 'MPI_Win_lock_all')),
            [(1, False, 1), (1, True, 2), (2, True, 3)])
    t.check(who + 'assertions are told', calls(p, 'MPI_Win_lock_all')[0]['assertion'] != 0, calls(p, 'MPI_Win_lock_all'))
    t.equal(who + 'unsuccessful MPI_Win_test are polls', {bool(s['flags'] & POLLS) for s in calls(p, 'MPI_Win_test')} - {True}, {False})
    ids = same_everywhere(processes, DEF_WINDOW)
    kinds = [len(set(x)) for x in zip(*ids)]
    nodes = RANKS if kinds[3] == RANKS else 1 # MPICH 5 over UCX shares no memory: each is alone
    t.equal(who + 'windows on the whole world have one id on all ranks, two halves have two',
            (kinds, len({i for x in ids for i in x})), ([1, 1, 2, nodes, 1], 5 + nodes))
    t.equal(who + 'names are kept', [d['name'] for d in p['defs'] if d['def'] == DEF_WINDOW_NAME], ['fenced'])
    windows = place.analysis('rma')['windows']
    t.equal(who + 'the analysis counts by window', sorted((w['name'] or '', w['created_by'], w['puts'], w['fences'], w['posts'], w['locks'])
                                                         for w in windows),
            sorted([('fenced', 'MPI_Win_create', 40, 64, 0, 0), ('', 'MPI_Win_create', 40, 0, 20, 0),
                    ('', 'MPI_Win_allocate', 12, 0, 0, 12), ('', 'MPI_Win_allocate', 12, 0, 0, 12),
                    *[('', 'MPI_Win_allocate_shared', 4 // nodes, 8 // nodes, 0, 0)] * nodes, ('', 'MPI_Win_create_dynamic', 4, 8, 0, 0)]))


def extra_words(process, name):
    ids = {(s['thread'], s['sig']) for s in calls(process, name)}
    return [e['extra'] for e in process['events'] if (e['thread'], e['event_of']) in ids]


def files(t, place):
    who = place.flavour + ', files: '
    program = place.compile('counts_io.c')
    place.traced(RANKS, program, place.dir, name='io')
    processes = place.records('io')
    ids = same_everywhere(processes, DEF_FILE)
    t.equal(who + 'both openings have one id on all ranks', [len(set(x)) for x in zip(*ids)] + [len({i for x in ids for i in x})],
            [1, 1, 2])
    p = processes[2]
    t.equal(who + 'names and modes are kept', [(d['name'], d['mode']) for d in p['defs'] if d['def'] == DEF_FILE],
            [(place.dir + '/first', 7), (place.dir + '/second', 7)])
    t.equal(who + 'offsets go with the events', extra_words(p, 'MPI_File_write_at_all'), [[(RANKS + 2) * 32]])
    t.equal(who + 'pointer and collectivity are told', [calls(p, 'MPI_File_' + x)[0]['how'] for x in (
        'write', 'write_at', 'write_at_all', 'write_shared', 'write_ordered', 'read_ordered_begin', 'read_ordered_end')],
        [0, EXPLICIT, EXPLICIT | COLLECTIVE, SHARED, SHARED | COLLECTIVE, SHARED | COLLECTIVE | BEGIN, SHARED | COLLECTIVE | END])
    t.equal(who + 'a short read tells what it found', sorted(s['bytes'] for s in calls(p, 'MPI_File_read_at')), [16, 32])
    t.check(who + 'signatures do not multiply', len(p['sigs']) < 150, len(p['sigs']))


def datatypes(t, place):
    who = place.flavour + ', datatypes: '
    program = place.compile('types.c')
    plain = place.plain(1, program)
    traced = place.traced(1, program, name='types')
    t.equal(who + 'the output is that of the untraced program', (traced.stdout, traced.returncode), (plain.stdout, 0))
    p = place.records('types')[0]
    types = [d for d in p['defs'] if d['def'] == DEF_DATATYPE]
    by_name = {d['name']: (d['hash'], d['elements'], d['bytes']) for d in types}
    ints = {n: v for n, v in by_name.items() if n.startswith('ints6')}
    t.check(who + 'six ints are six ints in %d ways' % len(ints), len(ints) >= 11 and len(set(ints.values())) == 1 and
            list(ints.values())[0][1:] == (6, 24), ints)
    t.equal(who + 'other signatures differ', len({by_name[n][:2] for n in ('floats6', 'ints5', 'int double', 'double int')} |
                                                 {by_name['ints6 vector'][:2]}), 5)
    t.equal(who + 'MPI_DOUBLE_INT is a double and an int', by_name['double int pair'][:2], by_name['double int'][:2])
    t.equal(who + 'nothing has no elements, packed data fit everything',
            (by_name['nothing'][1:], by_name['packed'][1:]), ((0, 0), (0, 3)))
    t.check(who + 'types made anew in a loop are told once', len(types) < 60 and len(p['sigs']) < 120, (len(types), len(p['sigs'])))
    sends = [(s['count'], [d['bytes'] for d in types if d['id'] == s['datatype']][0]) for s in calls(p, 'MPI_Send') if s['calls'] > 100]
    t.equal(who + 'a handle that comes back as another type has its new size', sorted(sends), [(1, 14), (2, 1), (2, 2), (2, 3)])


def communicators(t, place):
    who = place.flavour + ', communicators: '
    program = place.compile('counts_comms.c')
    place.traced(RANKS, program, name='comms')
    processes = place.records('comms')
    ids = [[d['global_id'] for d in processes[r]['defs'] if d['def'] == DEF_COMM] for r in range(RANKS)]
    t.check(who + 'no rank gives two communicators one id', all(len(set(x)) == len(x) > 200 for x in ids), [len(x) for x in ids])
    pairs = [set(ids[r]) for r in range(RANKS)]
    t.check(who + 'ranks of a pair share what others do not', len((pairs[0] & pairs[1]) - pairs[2] - pairs[3]) == 2 and
            len((pairs[2] & pairs[3]) - pairs[0] - pairs[1]) == 2, [len(x) for x in pairs])
    a = place.analysis('comms')
    t.equal(who + 'names, creators and members are in the analysis',
            sorted((c['name'], c['created_by'], c['ranks']) for c in a['communicators'] if c['name'] and 'MPI_' not in c['name']),
            sorted([('even', 'MPI_Comm_create_group', [0, 2]), ('graph', 'MPI_Dist_graph_create', [0, 1, 2, 3])] +
                   [(n, 'MPI_Comm_create_group', m) for n in ('first pair', 'second pair') for m in ([0, 1], [2, 3])]))


def plugins(t, place):
    who = place.flavour + ', loaded later: '
    plugin = place.compile('plugin.c', '-shared', '-fPIC')
    program = place.compile('loads.c', '-ldl')
    place.traced(1, program, plugin, name='loads')
    sites = [s for s in place.analysis('loads')['callsites'] if s['op'] == 'MPI_Barrier']
    t.equal(who + 'call sites are told by file, line and function', [(os.path.basename(s['file']), s['line'], s['function'], s['calls'])
                                                                     for s in sites], [('plugin.c', 9, 'plugin_work', 6)])
    run = place.traced(1, program, plugin, name='frames', MPITRACE_STACK='6')
    t.equal(who + 'stack=N does not disturb a program whose frames vary in size', run.returncode, 0)
    p = place.records('frames')[0]
    barriers = calls(p, 'MPI_Barrier')
    recursive = [s['frames'] for s in barriers if s['calls'] == 3]
    t.check(who + 'stack=N tells the callers', len(recursive) == 1 and len(recursive[0]) == 6 and len(set(recursive[0])) < 6, barriers)
    roomy = [s['frames'] for s in barriers if s['calls'] == 1]
    t.equal(who + 'stack=N tells the callers of frames that vary', (len(roomy), [len({f[i] for f in roomy}) for i in range(3)]),
            (3, [1, 3, 1]))
    a = place.analysis('frames')
    above = [[a['frames'][i]['function'] for i in s['frames']] for s in a['stacks']]
    t.check(who + 'callers are in the analysis by name', any('main' in s for s in above) and a['stacks_left_out'] == 0, above)
    t.equal(who + 'with callers the call sites stay', [(s['line'], s['calls']) for s in place.analysis('frames')['callsites']
                                                       if s['op'] == 'MPI_Barrier'], [(9, 6)])


def reloaded(t, place):
    """A library closed and another one opened, at the same addresses: whose call sites those there are is not known, and said."""
    who = place.flavour + ', one library in place of another: '
    plugins = []
    for name in ('first', 'second', 'third'):
        plugins.append(place.dir + '/lib%s.so' % name)
        os.rename(place.compile('plugin.c', '-shared', '-fPIC', '-Wl,-soname,lib%s.so' % name), plugins[-1])
    others = ['./libfirst.so'] + plugins[1:]
    for name, opened, replaced, flags in (('again', plugins[:1] * 3, 0, ()), ('others', others, 2, ()), ('past us', others, 2, ('-DPAST',))):
        program = place.compile('reloads.c', '-ldl', *flags)
        plain, run = place.plain(1, program, *opened), place.traced(1, program, *opened, name='reloads-' + name)
        t.equal(who + 'the result is that of the untraced program (%s)' % name, (run.stdout, run.returncode), (plain.stdout, 0))
        a = place.analysis('reloads-' + name)
        sites = [(os.path.basename(s['module']), s['function'], s['line'], s['calls']) for s in a['callsites'] if s['op'] == 'MPI_Barrier']
        t.equal(who + 'each call is recorded, and has its place in the source (%s)' % name, sites,
                [('lib%s.so' % ('third' if replaced else 'first'), 'plugin_work', 9, 6)])
        said = ['%d libraries were loaded where another one' % replaced] * (replaced > 0)
        t.equal(who + 'how often it happened is said (%s)' % name, [r for r in a['coverage']['reasons'] if 'were loaded where' in r],
                ['rank 0: %s that called MPI had been: call sites of one may be shown in the other' % x for x in said])


def main():
    t = Tests()
    for flavour in FLAVOURS:
        with Place(flavour) as place:
            one_sided(t, place)
            files(t, place)
            datatypes(t, place)
            communicators(t, place)
            plugins(t, place)
            reloaded(t, place)
    t.end()


main()
