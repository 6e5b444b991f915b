#!/usr/bin/env python3
"""Make wrappers from mpi.h (preprocessed) and calls.tab.

  generate.py wrappers calls.tab mpi.i          -> C: one wrapper a function, table of wrappers
  generate.py stubs    calls.tab a.i [b.i ...]  -> assembly: MPI_X and PMPI_X for every function of any of them
"""
import re
import sys


def prototypes(path):
    """name -> (return type, [(declaration with the name as %s, name)], variadic)"""
    text = open(path).read()
    text = re.sub(r'^#.*$', '', text, flags=re.M)
    text = re.sub(r'__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)', '', text)
    text = re.sub(r'\s+', ' ', text)
    found = {}
    for statement in text.split(';'):
        m = re.fullmatch(r' ?(?:[^{}]*[{}] ?)?([A-Za-z_][\w \*]*?)\b(MPI_[A-Z]\w*) ?\(([^{}]*)\) ?', statement)
        if m is None or m.group(1).startswith('typedef'):
            continue
        found[m.group(2)] = (m.group(1).replace('extern', '').strip(), parameters(m.group(3)))
    return found


def parameters(text):
    result = []
    for i, p in enumerate(re.split(r',(?![^()]*\))', text)):
        p = p.strip()
        if p in ('void', ''):
            continue
        if p == '...':
            result.append((p, p))
            continue
        m = re.search(r'\( ?\* ?(\w+) ?\)', p) or re.search(r'(\w+)((?: ?\[\w*\])*)$', p)
        result.append((p, m.group(1)))
    return result


def rows(path):
    table, leave = {}, []
    for line in open(path):
        if line.strip() == '' or line.startswith('#'):
            continue
        name, kind, rest = (line.split(None, 2) + [''])[:3]
        if kind == 'leave':
            leave.append(re.compile(name + '$'))
        elif kind in ('hand', 'count'):
            table[name] = (kind, '', '')
        else:
            flags, args = (rest.strip().split(None, 1) + [''])[:2]
            table[name] = (kind, flags.replace('-', ''), args)
    return table, leave


def row_for(name, table):
    """The row of a call; _c, I- and _init forms borrow that of their plain form."""
    if name in table:
        return table[name]
    base = re.sub(r'_c$', '', name)
    if base != name:
        return row_for(base, table)
    started = re.match(r'MPI_I([a-z])(\w+)$', name)
    if started:
        plain = 'MPI_' + started.group(1).upper() + started.group(2)
        if plain in table and table[plain][0] not in ('hand', 'count'):
            kind, flags, args = table[plain]
            return kind, flags + 'R', args
    if name.endswith('_init') and name[:-5] in table and table[name[:-5]][0] not in ('hand', 'count'):
        kind, flags, args = table[name[:-5]]
        return kind, flags + 'RP', args
    return 'record_time', '', ''


FLAGS = {'R': 'SIG_STARTS_REQUEST', 'P': 'SIG_PERSISTENT', 'Y': 'SIG_SYNCHRONOUS'}


# Recorders of calls whose signature follows from their arguments, and what finds it (pmpi/quick.h).
QUICK = {'record_send': 'quick_send', 'record_recv': 'quick_recv', 'record_equal': 'quick_equal'}


# A message that was too long for them is received all the same.
RECEIVERS = ('record_recv', 'record_sendrecv')


def with_names(args, names):
    return re.sub(r'\$(\d+)', lambda m: names[int(m.group(1)) - 1], args)


def wrapper(name, proto, row):
    """The wrapper of one call, in front of it the quick one where there is such."""
    returns, params = proto
    kind, flags, args = row
    quick = kind in QUICK and returns == 'int' and not ('S' in flags and 'status' in [n for _, n in params])
    out = long_wrapper(name, proto, row, 'NOINLINE static int long_%s' % name if quick else 'static %s wrap_%s' % (returns, name))
    return out + (quick_wrapper(name, proto, row) if quick else [])


def quick_wrapper(name, proto, row):
    params, (kind, flags, args) = proto[1], row
    names = [n for _, n in params]
    decl, call = ', '.join(d for d, _ in params), ', '.join(names)
    bits = ' | '.join(FLAGS[f] for f in flags if f in FLAGS) or '0'
    args = re.sub(r', NULL$', '', with_names(args, names)) # no status
    out = ['static int wrap_%s(%s)' % (name, decl), '{', '\tstruct quick q;',
           '\tif (!QUICK_OPEN(&q) || !%s(&q, OP_%s, %s, %s))' % (QUICK[kind], name, bits, args),
           '\t\treturn long_%s(%s);' % (name, call), '\tQUICK_START(&q);', '\tint rc = next.%s(%s);' % (name, call),
           '\tuint64_t exit = tick_now();', '\tif (__builtin_expect(rc != MPI_SUCCESS, false)) {',
           '\t\tQUICK_FAILED(&q, OP_%s, exit);' % name, '\t\treturn rc;', '\t}']
    if 'R' in flags:
        out.append('\tquick_request(&q, %s, request);' % bits)
    return out + ['\tquick_end(&q, exit);', '\treturn rc;', '}', '']


# Blocking calls say beforehand what they wait for: shape and which arguments are communicator, peer and tag.
WAITS = {'record_send': ('SIG_SEND', 0, 1, 2), 'record_recv': ('SIG_RECV', 0, 1, 2), 'record_probe': ('SIG_PROBE', 0, 1, 2)}
COLLECTIVES = {'record_reduce_scatter': 'COLL_REDUCE_SCATTER', 'record_gatherv': 'COLL_GATHERV', 'record_scatterv': 'COLL_SCATTERV',
               'record_allgatherv': 'COLL_ALLGATHERV', 'record_alltoallv': 'COLL_ALLTOALLV', 'record_alltoallw': 'COLL_ALLTOALLV'}


def waits_of(name, row, names):
    kind, flags, args = row
    if 'R' in flags or 'flag' in names:
        return None
    args = [a.strip() for a in with_names(args, names).split(',')]
    if kind in WAITS:
        shape, comm, peer, tag = WAITS[kind]
        return 'span_waits(&s, OP_%s, %s, 0, %s, %s, %s);' % (name, shape, args[comm], args[peer], args[tag])
    if kind == 'record_sendrecv':
        return 'span_waits_both(&s, OP_%s, %s, %s, %s, %s, %s);' % (name, args[0], args[1], args[2], args[5], args[6])
    if args[0].startswith('COLL_'):
        root = 'root' if 'root' in args else '-1'
        return 'span_waits(&s, OP_%s, SIG_COLL, %s, %s, %s, 0);' % (name, args[0], args[1], root)
    if kind in COLLECTIVES:
        root = 'root' if 'root' in args else '-1'
        return 'span_waits(&s, OP_%s, SIG_COLL, %s, %s, %s, 0);' % (name, COLLECTIVES[kind], args[0], root)
    return None


def long_wrapper(name, proto, row, head):
    returns, params = proto
    kind, flags, args = row
    names = [n for _, n in params]
    decl = ', '.join(d for d, _ in params) or 'void'
    call = 'next.%s(%s)' % (name, ', '.join(names))
    out = ['%s(%s)' % (head, decl), '{']
    if kind == 'count':
        out += ['\tcount_call(OP_%s);' % name, '\treturn %s;' % call, '}', '']
        return out
    has_status = 'S' in flags and 'status' in names
    if has_status:
        out.append('\tMPI_Status own_status;')
    waits = waits_of(name, row, names)
    out += ['\tstruct call_span s;', '\tif (!%s(&s, OP_%s))' % ('SPAN_OPEN' if waits else 'SPAN_BEGIN', name), '\t\treturn %s;' % call]
    if has_status:
        out += ['\tif (status == MPI_STATUS_IGNORE)', '\t\tstatus = &own_status;']
    if waits:
        out += ['\t%s' % waits, '\tspan_start(&s);']
    out += ['\t%s rc = %s;' % (returns, call)]
    out += ['\tspan_stop(&s, %s);' % ('rc' if returns == 'int' else 'MPI_SUCCESS')]
    args = with_names(args, names)
    bits = ' | '.join(FLAGS[f] for f in flags if f in FLAGS) or '0'
    if kind == 'record_time':
        out.append('\trecord_time(&s, OP_%s);' % name)
    else:
        # After an error the arguments may be nothing that MPI can be asked about. But of a truncated message they are good.
        if returns == 'int':
            truncated = ' && !was_truncated(rc)' if has_status and kind in RECEIVERS else ''
            out += ['\tif (__builtin_expect(s.failed, false)%s) {' % truncated, '\t\trecord_time(&s, OP_%s);' % name, '\t\treturn rc;', '\t}']
        request = 'request' if 'R' in flags else 'NULL'
        out.append('\t%s(&s, OP_%s, %s, %s, %s);' % (kind, name, bits, request, args))
    return out + ['\treturn rc;', '}', '']


def wrappers(tab, header):
    table, leave = rows(tab)
    protos = prototypes(header)
    names = [n for n in sorted(protos) if not any(p.match(n) for p in leave)]
    out = ['/* Generated by generate.py from mpi.h and calls.tab. */', '#include "pmpi/recorders.h"', '']
    for n in names:
        row = row_for(n, table)
        if row[0] != 'hand':
            out += wrapper(n, protos[n], row)
    out += ['const struct wrapper wrappers[] = {']
    out += ['\t{"%s", (void *)wrap_%s},' % (n, n) for n in names]
    out += ['\t{NULL, NULL},', '};']
    print('\n'.join(out))


def declarations(tab, header):
    """ops.h: numbers and names of all operations, pointers to the real functions, hand-written wrappers."""
    table, leave = rows(tab)
    protos = prototypes(header)
    names = [n for n in sorted(protos) if not any(p.match(n) for p in leave)]
    out = ['/* Generated by generate.py from mpi.h and calls.tab. */', '#pragma once', '#include <mpi.h>', '', 'enum op {']
    out += ['\tOP_%s,' % n for n in names] + ['\tOP_COUNT', '};', '', 'struct next {']
    for n in names:
        returns, params = protos[n]
        out.append('\t%s (*%s)(%s);' % (returns, n, ', '.join(d for d, _ in params) or 'void'))
    out += ['};', '']
    for n in names:
        if row_for(n, table)[0] == 'hand':
            returns, params = protos[n]
            out.append('%s wrap_%s(%s);' % (returns, n, ', '.join(d for d, _ in params) or 'void'))
            out.append('#define HAVE_%s 1' % n)
    out += ['', '#define OP_NAMES \\'] + ['\t"%s", \\' % n for n in names] + ['', '']
    out += ['#define NEXT_ROWS(ROW) \\'] + ['\tROW(%s) \\' % n for n in names] + ['']
    print('\n'.join(out))


def stubs(tab, headers):
    _, leave = rows(tab)
    names = sorted({n for h in headers for n in prototypes(h)})
    names = [n for n in names if not any(p.match(n) for p in leave)]
    out = ['# Generated by generate.py: MPI_X and PMPI_X jump through slot X; a slot first leads to the resolver.', '\t.text']
    for i, n in enumerate(names):
        out += ['\t.globl %s, P%s' % (n, n), '\t.type %s, @function' % n, '\t.type P%s, @function' % n, '\t.p2align 4',
                '%s:' % n, 'P%s:' % n, '\tjmp *front_slots+%d(%%rip)' % (8 * i), '.Llazy%d:' % i, '\tpushq $%d' % i, '\tjmp front_lazy',
                '\t.size %s, .-%s' % (n, n), '\t.size P%s, .-P%s' % (n, n)]
    out += ['\t.section .rodata', '\t.hidden front_names', '\t.globl front_names', 'front_names:']
    for n in names:
        out.append('\t.asciz "%s"' % n)
    out += ['\t.byte 0', '\t.data', '\t.p2align 6', '\t.hidden front_slots', '\t.globl front_slots', 'front_slots:']
    out += ['\t.quad .Llazy%d' % i for i in range(len(names))]
    out += ['\t.hidden front_count', '\t.globl front_count', 'front_count:', '\t.quad %d' % len(names),
            '\t.section .note.GNU-stack,"",@progbits']
    print('\n'.join(out))


if __name__ == '__main__':
    mode, tab, headers = sys.argv[1], sys.argv[2], sys.argv[3:]
    {'wrappers': lambda: wrappers(tab, headers[0]), 'declarations': lambda: declarations(tab, headers[0]),
     'stubs': lambda: stubs(tab, headers)}[mode]()
