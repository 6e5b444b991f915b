"""mpix.py - reads .mpix files (format/SPEC.md) by libmpix, which is installed with mpitrace; columns are NumPy arrays where NumPy is
installed, else array.array. What is damaged raises Damaged, with where and what.

    trace = mpix.open('job.mpix')
    trace.analysis['verdict']              # as `mpitrace show --json`
    events = trace.events(rank=3)          # a Table: events['start_ns'], events['op'], len(events)
    messages = trace.messages()

Times are nanoseconds since the start of the record. The library is looked for where the loader does, or is what MPIX_LIBRARY names.
Without it the analysis can be read (no checksum is looked at) and nothing else: what needs it raises NoLibrary."""
import array
import builtins
import ctypes
import errno
import json
import os
import struct
import zlib

try:
    import numpy
except ImportError:
    numpy = None

LIBRARY = 'libmpix.so.1'
CLASSES = ('outside', 'p2p', 'wait', 'collective', 'sync', 'rma', 'io', 'other')
NO_CALLSITE = -1
WRONG_ORDER, LATE_COMPLETE = 2, 17 # wait states that are a part of another one
CAME_BYTES = 3
NOWHERE = 0xffffffff
EVENT_COLUMNS = ('rank', 'thread', 'start_ns', 'end_ns', 'op', 'cls', 'peer', 'tag', 'bytes', 'calls', 'comm', 'callsite', 'wait_ns')
MESSAGE_COLUMNS = ('src', 'src_thread', 'dst', 'dst_thread', 'tag', 'comm', 'bytes', 'send_start_ns', 'send_end_ns', 'recv_start_ns',
                   'completion_start_ns', 'recv_end_ns', 'send_callsite', 'recv_callsite')
MAGIC = bytes([0x89, 0x4d, 0x50, 0x49, 0x58, 0x0d, 0x0a, 0x1a])
ANALYSIS, ENTRY, ANALYSIS_BYTES_MAX = 2, struct.Struct('<BBHIIIqqQIIII'), 512 << 20


class Damaged(Exception):
    """The file is cut, damaged, or no .mpix."""


class NoLibrary(Exception):
    """libmpix is not there."""


# ---- mpix.h ----

I32, U32, I64, U64 = ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64


def of_c(name, *fields):
    """The struct of mpix.h; each field is a type and its names."""
    pairs = [(n, kind) for kind, names in fields for n in names.split()]
    return type(name, (ctypes.Structure,), {'_fields_': pairs})


Error = of_c('Error', (ctypes.c_char * 1024, 'text'))
Info = of_c('Info', (U32, 'ranks'), (I64, 'runtime_ns'), (ctypes.POINTER(ctypes.c_char_p), 'ops'), (U32, 'nops')) # the first ones
Position = of_c('Position', (U32, 'window lane index'))
Event = of_c('Event', (I64, 'start_ns end_ns'), (U64, 'bytes calls'), (I32, 'peer tag'), (U32, 'op callsite comm object'), (U64, 'came_bytes'),
             (U32, 'thread'), (I64, 'wait_ns'), (ctypes.c_uint8, 'cls'), (Position, 'at'), (U64, 'number'), (U32, 'signature'),
             (ctypes.c_uint8, 'flags'), (U32, 'stack'), (U64, 'message_bytes'))
Message = of_c('Message', (I64, 'send_start_ns send_end_ns recv_start_ns completion_start_ns recv_end_ns'), (U64, 'bytes'), (U32, 'src dst'),
               (I32, 'tag'), (U32, 'comm send_callsite recv_callsite'))
Link = of_c('Link', (Position, 'recv completion send sent'), (U32, 'signature'), (Message, 'message'))
Wait = of_c('Wait', (Position, 'at causer'), (ctypes.c_uint8, 'state how'), (I64, 'ns start_ns end_ns'))
VISIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
ALL = (-1 << 63, (1 << 63) - 1)


def load():
    """The library, or None."""
    try:
        lib = ctypes.CDLL(os.environ.get('MPIX_LIBRARY', LIBRARY))
    except OSError:
        return None
    one, visit, e = ctypes.c_void_p, (VISIT, ctypes.c_void_p), ctypes.POINTER(Error)
    for name, result, *args in (('open', ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(one), e), ('close', None, one),
                                ('info', ctypes.POINTER(Info), one), ('analysis', ctypes.c_char_p, one), ('windows', U32, one),
                                ('first_lane', U32, one, U32), ('each_event', ctypes.c_int, one, U32, I64, I64, *visit, e),
                                ('each_message', ctypes.c_int, one, I64, I64, *visit, e),
                                ('each_wait', ctypes.c_int, one, I64, I64, *visit, e)):
        function = getattr(lib, 'mpix_' + name)
        function.restype, function.argtypes = result, args
    return lib


# ---- columns ----

def whole(values, signed=False):
    """Numbers of 64 bits: above 2^63 they are no times or bytes of a sane trace, and become the largest. signed: of 32 bits, 2^32 - 1 is
    none, -1."""
    if numpy is not None:
        values = numpy.asarray(values)
        if signed:
            return values.astype('uint32').astype('int32').astype('int64')
        return numpy.minimum(values, ALL[1]).astype('int64') if values.dtype == 'uint64' else values.astype('int64')
    return array.array('q', [NO_CALLSITE if signed and v == NOWHERE else min(v, ALL[1]) for v in values])


class Records:
    """What a visit was given, one struct behind the other."""

    def __init__(self, kind):
        self.kind, self.bytes = kind, bytearray()
        size, data = ctypes.sizeof(kind), self.bytes

        def visit(_, at):
            data.extend(ctypes.string_at(at, size))
            return 0
        self.visit = VISIT(visit)

    def rows(self):
        """As numpy has them, or ctypes."""
        if numpy is not None:
            return numpy.frombuffer(bytes(self.bytes), dtype=numpy.dtype(self.kind))
        return list((self.kind * (len(self.bytes) // ctypes.sizeof(self.kind))).from_buffer(self.bytes))


def column(rows, *path):
    """One member of all."""
    if numpy is not None:
        for name in path:
            rows = rows[name]
        return rows
    for name in path:
        rows = [getattr(row, name) for row in rows]
    return rows


class Table:
    """Columns of equal length by name."""

    def __init__(self, names, columns):
        self.columns = dict(zip(names, columns))

    def __getitem__(self, name):
        return self.columns[name]

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def rows(self):
        """Tuples in the order of columns."""
        return list(zip(*(c.tolist() for c in self.columns.values())))


def joined(parts):
    """Columns one behind the other."""
    if numpy is not None:
        return numpy.concatenate(parts) if parts else numpy.zeros(0, 'int64')
    return sum(parts, array.array('q'))


# ---- a trace ----

class Trace:
    """One file; it is closed with its object."""

    def __init__(self, path):
        self.path, self.lib, self.file = path, load(), ctypes.c_void_p()
        if self.lib is None:
            self.analysis = analysis_alone(path)
            return
        self.call(self.lib.mpix_open, os.fsencode(path), ctypes.byref(self.file))
        info = self.lib.mpix_info(self.file).contents
        self.ranks, self.runtime_ns, self.windows = info.ranks, info.runtime_ns, self.lib.mpix_windows(self.file)
        self.ops = [info.ops[i].decode('ascii') for i in range(info.nops)]
        self.analysis = json.loads(self.lib.mpix_analysis(self.file))

    def __del__(self):
        if getattr(self, 'file', None):
            self.lib.mpix_close(self.file)

    def call(self, function, *args):
        """Of the library; what it says becomes an exception."""
        if self.lib is None:
            raise NoLibrary('%s is not there: install mpitrace, or name the library by MPIX_LIBRARY' % LIBRARY)
        error = Error()
        code = function(*args, ctypes.byref(error))
        text = error.text.decode('utf-8', 'replace')
        if code == -errno.EBADMSG:
            raise Damaged(text)
        if code < 0:
            raise OSError(-code, text)

    def gather(self, kind, name, *args):
        """Structs of all."""
        records = Records(kind)
        self.call(self.lib and getattr(self.lib, 'mpix_each_' + name), self.file, *args, *ALL, records.visit, None)
        return records.rows()

    def events(self, rank=None):
        """All calls, or those of a rank, by rank, thread and time."""
        parts = [self.events_of(r) for r in (range(self.ranks if self.lib else 1) if rank is None else [rank])]
        return Table(EVENT_COLUMNS, [joined([part[i] for part in parts]) for i in range(len(EVENT_COLUMNS))])

    def events_of(self, rank):
        rows = self.gather(Event, 'event', rank)
        return [whole([rank] * len(rows))] + [whole(column(rows, name), name == 'callsite') for name in EVENT_COLUMNS[1:]]

    def waits(self):
        """[((window, lane, index), state, ns, causing position or None)]; states are numbered as in SPEC.md."""
        rows = self.gather(Wait, 'wait')
        names = [('at', 'window'), ('at', 'lane'), ('at', 'index'), ('state',), ('ns',), ('causer', 'window'), ('causer', 'lane'),
                 ('causer', 'index'), ('how',)]
        found = zip(*(whole(column(rows, *name)).tolist() for name in names))
        return [((w, lane, i), state, ns, None if cw == NOWHERE else (cw, cl, ci)) for w, lane, i, state, ns, cw, cl, ci, how in found
                if how != CAME_BYTES]

    def messages(self):
        """All matched messages, in the order of the file."""
        rows = self.gather(Link, 'message')
        first = [self.lib.mpix_first_lane(self.file, r) for r in range(self.ranks + 1)]

        def thread(position, rank):
            lanes, ranks = (whole(column(rows, *name)).tolist() for name in ((position, 'lane'), ('message', rank)))
            return whole([0 if lane == NOWHERE else lane - first[r] for lane, r in zip(lanes, ranks)])
        columns = {name: whole(column(rows, 'message', name), name.endswith('callsite')) for name in MESSAGE_COLUMNS if 'thread' not in name}
        columns.update(src_thread=thread('send', 'src'), dst_thread=thread('recv', 'dst'))
        return Table(MESSAGE_COLUMNS, [columns[name] for name in MESSAGE_COLUMNS])


def analysis_alone(path):
    """Without the library: the index is looked through for the one chunk that is text."""
    with builtins.open(path, 'rb') as f:
        head = f.read(64)
        if len(head) < 64 or head[:8] != MAGIC:
            raise Damaged('%s: not an .mpix file, or cut' % path)
        index, entries = struct.unpack_from('<QI', head, 24)
        f.seek(index)
        table = f.read(min(entries, 1 << 22) * ENTRY.size)
        for kind, *_, offset, packed, raw, _, _ in ENTRY.iter_unpack(table[:len(table) // ENTRY.size * ENTRY.size]):
            if kind == ANALYSIS and raw <= ANALYSIS_BYTES_MAX:
                f.seek(offset)
                return analysis_of(path, f.read(packed), raw)
    raise Damaged('%s: no analysis in it' % path)


def analysis_of(path, packed, raw):
    try:
        return json.loads(zlib.decompressobj(-15).decompress(packed, raw))
    except (zlib.error, ValueError) as e:
        raise Damaged('%s: the analysis is damaged (%s)' % (path, e)) from None


def open(path): # pylint: disable=redefined-builtin
    """The trace at path; raises Damaged or OSError."""
    return Trace(path)
