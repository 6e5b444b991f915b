"""mpix.py - reads .mpix files of version 2 (format/SPEC.md) with nothing but Python; columns are NumPy arrays where NumPy is
installed, else array.array. Everything is checked; what is damaged raises Damaged, with where and what.

    trace = mpix.open('job.mpix')
    trace.analysis['verdict']              # as `mpitrace show --json`
    events = trace.events(rank=3)          # a Table: events['start_ns'], events['op'], len(events)
    messages = trace.messages()

Times are nanoseconds since the start of the record. The C library libmpix reads the same, a hundred times faster."""
import array
import builtins
import json
import math
import struct
import zlib

try:
    import numpy
except ImportError:
    numpy = None

MAGIC = bytes([0x89, 0x4d, 0x50, 0x49, 0x58, 0x0d, 0x0a, 0x1a])
META, ANALYSIS, EVENTS, MESSAGES, SIGNATURES, CLOCK, WAITS = 1, 2, 4, 5, 8, 9, 10
CLASSES = ('outside', 'p2p', 'wait', 'collective', 'sync', 'rma', 'io', 'other')
CHUNK_BYTES_MAX, ANALYSIS_BYTES_MAX, RECORDS_MAX, LANES_MAX = 64 << 20, 512 << 20, 1 << 22, 1 << 22
NO_CALLSITE = -1
WRONG_ORDER, LATE_COMPLETE = 2, 17 # wait states that are a part of another one
CAME_BYTES = 3
EVENT_COLUMNS = ('rank', 'thread', 'start_ns', 'end_ns', 'op', 'cls', 'peer', 'tag', 'bytes', 'calls', 'comm', 'callsite', 'wait_ns')
MESSAGE_COLUMNS = ('src', 'src_thread', 'dst', 'dst_thread', 'tag', 'comm', 'bytes', 'send_start_ns', 'send_end_ns', 'recv_start_ns',
                   'completion_start_ns', 'recv_end_ns', 'send_callsite', 'recv_callsite')


class Damaged(Exception):
    """The file is cut, damaged, or no .mpix of version 2."""


class Table:
    """Columns of equal length by name."""

    def __init__(self, names, rows):
        columns = list(zip(*rows)) or [()] * len(names)
        self.columns = {name: column_of(column) for name, column in zip(names, columns)}

    def __getitem__(self, name):
        return self.columns[name]

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def rows(self):
        """Tuples in the order of columns."""
        return list(zip(*(c.tolist() for c in self.columns.values())))


def column_of(values):
    """Numbers above 2^63 are no times or bytes of a sane trace; they become the largest."""
    values = [min(v, (1 << 63) - 1) for v in values]
    return numpy.array(values, dtype='int64') if numpy is not None else array.array('q', values)


def crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
        table.append(n)
    return table


CRC = crc_table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = CRC[(crc ^ byte) & 0xff] ^ crc >> 8
    return crc ^ 0xffffffff


def unzigzag(n):
    return n >> 1 ^ -(n & 1)


class Cursor:
    """Bytes to be read one after the other."""

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def left(self):
        return self.end - self.at

    def take(self, n):
        if n > self.left():
            raise Damaged('cut')
        self.at += n
        return Cursor(self.data, self.at - n, self.at)

    def number(self, layout):
        size = struct.calcsize('<' + layout)
        if size > self.left():
            raise Damaged('cut')
        self.at += size
        return struct.unpack_from('<' + layout, self.data, self.at - size)[0]

    def varint(self):
        value = shift = 0
        while True:
            if self.at >= self.end or shift > 63:
                raise Damaged('a number is cut or too long')
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                if value >> 64:
                    raise Damaged('a number is too large')
                return value
            shift += 7

    def zigzag(self):
        return unzigzag(self.varint())

    def columns(self, n):
        lengths = [self.varint() for _ in range(n)]
        if sum(lengths) != self.left():
            raise Damaged('columns do not fill their chunk')
        return [self.take(length) for length in lengths]


def require(good, what):
    if not good:
        raise Damaged(what)


class Entry:
    """One chunk, as the index has it."""

    def __init__(self, data, at):
        (self.kind, self.level, self.rank_level, self.group, self.seq, self.records, self.start_ns, self.end_ns, self.offset,
         self.packed, self.raw, self.crc) = struct.unpack_from('<BBHIIIqqQIII', data, at)

    def name(self):
        return (self.kind, self.rank_level, self.level, self.group, self.seq)


# ---- times of events, coded as in .mpic ----

class Bits:
    """Places of numbers in their ranges, lowest bit first."""

    def __init__(self, cursor):
        self.cursor, self.pending, self.n = cursor, 0, 0

    def take(self, bits):
        while self.n < bits:
            chunk = self.cursor.take(min(8, self.cursor.left()) or 1)
            self.pending |= int.from_bytes(chunk.data[chunk.at:chunk.end], 'little') << self.n
            self.n += 8 * (chunk.end - chunk.at)
        value = self.pending & (1 << bits) - 1
        self.pending >>= bits
        self.n -= bits
        return value


def read_ranges(c):
    n, first, ranges = c.varint(), 0, []
    require(n <= 255, 'too many ranges')
    for _ in range(n):
        first += c.varint()
        bits = c.number('B')
        require(bits <= 32 and first + (1 << bits) <= 1 << 32, 'a range is too long')
        ranges.append((first, bits))
        first += 1 << bits
    return ranges


def read_column(symbols, ranges, clock, others, bits):
    times = []
    for s in symbols:
        require(s <= len(ranges), 'an unknown range')
        if s == len(ranges):
            times.append(others.varint())
        else:
            first, width = ranges[s]
            k = first + bits.take(width)
            times.append(k // len(clock[1]) * clock[0] + clock[1][k % len(clock[1])])
    return times


def read_times(count, period, tables, symbols, others, bits):
    """(gap, duration) of events, by signature."""
    n = tables.varint()
    require(1 <= n <= 4 and period >= 1, 'steps of the clock')
    clock, bits, found = (period, [tables.varint() for _ in range(n)]), Bits(bits), []
    while len(found) < count:
        part = tables.varint()
        joined, part = part & 1, part >> 1
        require(1 <= part <= count - len(found), 'parts of times')
        gaps, durations = read_ranges(tables), read_ranges(tables)
        one = symbols.take(part)
        one = one.data[one.at:one.end]
        if joined:
            two = [s // (len(gaps) + 1) for s in one]
            one = [s % (len(gaps) + 1) for s in one]
        else:
            two = symbols.take(part)
            two = two.data[two.at:two.end]
        first = read_column(one, gaps, clock, others, bits)
        found += zip(first, read_column(two, durations, clock, others, bits))
    require(tables.left() == symbols.left() == others.left() == bits.cursor.left() == 0 and bits.n < 8, 'times do not fill their chunk')
    return found


def read_payload(c):
    """[(signature, gap, duration, words)] in order of time."""
    count, period, sig, extra, tables, symbols, others, form = (c.number('I') for _ in range(8))
    c.number('Q')
    require(form == 1 and count <= RECORDS_MAX, 'a form of events that is not known')
    sig, extra, tables, symbols, others = (c.take(n) for n in (sig, extra, tables, symbols, others))
    words = [sig.varint() for _ in range(count)]
    require(sig.left() == 0, 'signatures do not fill their column')
    times = read_times(count, period, tables, symbols, others, c)
    order = sorted(range(count), key=lambda i: words[i] >> 1)
    by_event = [None] * count
    for place, event in enumerate(order):
        by_event[event] = times[place]
    events = [(w >> 1, *by_event[i], [extra.varint() for _ in range(extra.varint())] if w & 1 else ()) for i, w in enumerate(words)]
    require(extra.left() == 0, 'words do not fill their column')
    return events


class Trace:
    """One file. Chunks are read when they are asked for, and parts of time kept."""

    def __init__(self, path):
        self.path = path
        self.parts, self.signatures, self.clocks = {}, {}, {}
        self.guard('superblock', self.open)

    def guard(self, what, read, *args):
        """Whatever a damaged file makes of reading, it is one error."""
        try:
            return read(*args)
        except Damaged as e:
            if str(e).startswith(self.path):
                raise
            raise Damaged('%s: %s: %s; copy the file again or analyse again' % (self.path, what, e)) from None
        except (IndexError, KeyError, ValueError, OverflowError, MemoryError, struct.error, zlib.error, RecursionError) as e:
            raise Damaged('%s: %s: damaged (%s); copy the file again or analyse again' % (self.path, what, e)) from None

    def open(self):
        with builtins.open(self.path, 'rb') as f:
            self.data = f.read()
        require(len(self.data) >= 80 and self.data[:8] == MAGIC, 'not an .mpix file, or cut')
        version, _, length, index, entries, crc = struct.unpack_from('<IIQQII', self.data, 8)
        require(version == 2, 'version %d: this reader knows version 2' % version)
        require(crc32c(self.data[:60]) == struct.unpack_from('<I', self.data, 60)[0], 'damaged')
        require(length == len(self.data), 'cut: %d of %d bytes' % (len(self.data), length))
        require(index + entries * 56 + 16 == length, 'the index does not end the file')
        require(crc32c(self.data[index:index + entries * 56]) == crc, 'the index is damaged')
        self.entries = {}
        for i in range(entries):
            x = Entry(self.data, index + 56 * i)
            limit = ANALYSIS_BYTES_MAX if x.kind == ANALYSIS else CHUNK_BYTES_MAX
            require(64 <= x.offset and x.offset + x.packed <= index and x.raw <= limit, 'an impossible chunk')
            require(x.name() not in self.entries, 'a chunk is there twice')
            self.entries[x.name()] = x
        self.read_meta(self.chunk(self.entry(META)))
        text = self.chunk(self.entry(ANALYSIS))
        self.analysis = json.loads(bytes(text.data))

    def entry(self, kind, group=0, seq=0):
        return self.entries.get((kind, 0, 0, group, seq))

    def chunk(self, x):
        require(x is not None, 'a chunk is missing')
        packed = self.data[x.offset:x.offset + x.packed]
        require(crc32c(packed) == x.crc, 'offset %d: the chunk is damaged' % x.offset)
        unpack = zlib.decompressobj(-15)
        raw = unpack.decompress(packed, x.raw + 1)
        require(len(raw) == x.raw, 'offset %d: the chunk has another length' % x.offset)
        return Cursor(raw)

    # ---- what there is ----

    def read_meta(self, c):
        self.ranks, self.runtime_ns, self.group_ranks = c.number('I'), c.number('Q'), c.number('I')
        for _ in range(8):
            c.number('I')
        self.places, self.windows, self.nclocks, self.nlanes = (c.number('I') for _ in range(4))
        self.counts = dict(zip(('events', 'messages', 'waits'), (c.number('Q') for _ in range(3))))
        self.ops = []
        for _ in range(c.number('I')):
            name = c.take(c.number('B'))
            self.ops.append(name.data[name.at:name.end].decode('ascii'))
        require(1 <= self.ranks <= 1 << 20 and self.group_ranks > 0 and self.nlanes <= LANES_MAX, 'numbers of ranks and threads')
        threads = self.read_runs(c, self.ranks, 1)
        self.clock_of = self.read_runs(c, self.nlanes, 0)
        self.place_of = self.read_runs(c, self.ranks, 0)
        self.first_lane = [0]
        for n in threads:
            self.first_lane.append(self.first_lane[-1] + n)
        require(self.first_lane[-1] == self.nlanes and c.left() == 0, 'threads of ranks')
        self.rank_of = [r for r, n in enumerate(threads) for _ in range(n)]

    @staticmethod
    def read_runs(c, n, usual):
        values = []
        for _ in range(c.varint()):
            length, value = c.varint(), c.varint()
            require(length <= n - len(values), 'a list is too long')
            values += [value] * length
        require(len(values) in (0, n), 'a list is too short')
        return values or [usual] * n

    def groups(self):
        """How many rank groups there are."""
        return (self.ranks - 1) // self.group_ranks + 1

    def lanes_of_group(self, group):
        first = group * self.group_ranks
        return self.first_lane[first], self.first_lane[min(first + self.group_ranks, self.ranks)]

    def clock(self, number):
        if number not in self.clocks:
            c = self.chunk(self.entry(CLOCK, number))
            n = c.number('I')
            c.take(12)
            require(n >= 1 and c.left() == 24 * n, 'a clock')
            knots = [struct.unpack_from('<%d%s' % (n, kind), c.data, c.at + 8 * n * i) for i, kind in enumerate('Qdd')]
            self.clocks[number] = list(zip(*knots))
        return self.clocks[number]

    @staticmethod
    def nanoseconds(knots, tick, at):
        """SPEC.md, CLOCK; and the knot that held."""
        while at + 1 < len(knots) and knots[at + 1][0] <= tick:
            at += 1
        while at > 0 and knots[at][0] > tick:
            at -= 1
        x = knots[at][1] + (tick - knots[at][0]) * knots[at][2]
        whole = math.floor(x)
        return whole + (1 if x - whole >= 0.5 else 0), at

    def sigs(self, group):
        """Of each rank of the group, its signatures."""
        if group in self.signatures:
            return self.signatures[group]
        first = group * self.group_ranks
        ranks = range(first, min(first + self.group_ranks, self.ranks))
        x = self.entry(SIGNATURES, group)
        if x is None:
            found = {r: [] for r in ranks}
        else:
            c = self.chunk(x)
            counts = [c.varint() for _ in ranks]
            columns = c.columns(9)
            found = {r: [self.read_signature(r, columns) for _ in range(n)] for r, n in zip(ranks, counts)}
            require(all(column.left() == 0 for column in columns), 'signatures do not fill their chunk')
        self.signatures[group] = found
        return found

    def read_signature(self, rank, columns):
        op, cls, site, comm, peer, tag, size, message, _ = (c.varint() for c in columns)
        require(op < len(self.ops) and cls < len(CLASSES), 'a signature')
        peer = -1 if peer == 0 else -2 if peer == 1 else rank + unzigzag(peer - 2)
        return (op, cls, site - 1 if site else NO_CALLSITE, comm, peer, unzigzag(tag), size, message)

    # ---- events ----

    def part(self, group, window):
        """Of each lane its events: [(start_ns, end_ns, signature, calls, bytes or None)]."""
        if (group, window) not in self.parts:
            if len(self.parts) > 64:
                self.parts.clear()
            x = self.entry(EVENTS, group, window)
            self.parts[group, window] = self.guard('offset %d' % x.offset, self.read_part, x) if x is not None else {}
        return self.parts[group, window]

    def read_part(self, x):
        c = self.chunk(x)
        first, end = self.lanes_of_group(x.group)
        runs, lane = [], first - 1
        for _ in range(c.varint()):
            lane += c.varint() + 1
            n, begin = c.varint(), c.varint()
            require(lane < end and n >= 1, 'a run')
            for _ in range(c.varint()):
                c.varint(), c.varint(), c.varint()
            runs.append((lane, n, begin))
        for _ in range(c.varint()): # carried events are in the chunks in which they start
            for _ in range(7):
                c.varint()
            for _ in range(c.varint()):
                c.varint()
        events = read_payload(c)
        require(sum(r[1] for r in runs) == len(events), 'runs and events')
        part, at = {}, 0
        for lane, n, begin in runs:
            part[lane] = self.timed(lane, events[at:at + n], begin)
            at += n
        return part

    def timed(self, lane, events, clock):
        knots, knot, found = self.clock(self.clock_of[lane]), 0, []
        rank = self.rank_of[lane]
        sigs = self.sigs(rank // self.group_ranks)[rank]
        for sig, gap, duration, words in events:
            require(sig < len(sigs), 'a signature that is not there')
            start, knot = self.nanoseconds(knots, clock + gap, knot)
            clock += gap + duration
            finish, knot = self.nanoseconds(knots, clock, knot)
            extra = {w & 3: w >> 2 for w in words}
            found.append((start, finish, sigs[sig], extra.get(0, 1), extra.get(1)))
        return found

    def at(self, position):
        window, lane, index = position
        require(lane < self.nlanes, 'a lane')
        run = self.part(self.rank_of[lane] // self.group_ranks, window).get(lane, ())
        require(index < len(run), 'a call that is not there')
        return run[index]

    def events(self, rank=None):
        """All calls, or those of a rank, by rank, thread and time."""
        return self.guard('events', self.read_events, rank)

    def read_events(self, rank):
        rows = []
        for r in range(self.ranks) if rank is None else [rank]:
            waits, came = self.waits_of_group(r // self.group_ranks)
            for lane in range(self.first_lane[r], self.first_lane[r + 1]):
                for w in range(self.windows):
                    run = self.part(r // self.group_ranks, w).get(lane, ())
                    for i, (start, end, sig, calls, size) in enumerate(run):
                        op, cls, site, comm, peer, tag, usual, _ = sig
                        here = (w, lane, i)
                        rows.append((r, lane - self.first_lane[r], start, end, op, cls, peer, tag,
                                     (usual if size is None else size) + came.get(here, 0), calls, comm, site, waits.get(here, 0)))
        return Table(EVENT_COLUMNS, rows)

    # ---- wait states ----

    def waits(self):
        """[((window, lane, index), state, ns, causing position or None)]; states are numbered as in SPEC.md."""
        return self.guard('waits', lambda: [w[:4] for g in range(self.groups()) for w in self.read_waits(g) if w[4] != CAME_BYTES])

    def waits_of_group(self, group):
        """Nanoseconds, and bytes that came, by position of the call."""
        sums = ({}, {})
        for at, state, ns, _, how in self.read_waits(group):
            if state not in (WRONG_ORDER, LATE_COMPLETE):
                to = sums[how == CAME_BYTES]
                to[at] = to.get(at, 0) + ns
        return sums

    def read_waits(self, group):
        found = []
        for w in range(self.windows):
            x = self.entry(WAITS, group, w)
            if x is not None:
                found += self.guard('offset %d' % x.offset, self.read_wait_chunk, x)
        return found

    def read_wait_chunk(self, x):
        c = self.chunk(x)
        n = c.varint()
        columns, found = c.columns(11), []
        require(n <= columns[0].left(), 'waits')
        lane, last, index, memory = self.lanes_of_group(x.group)[0], None, 0, {}
        for _ in range(n):
            window, lane = x.seq - columns[0].varint(), lane + columns[1].zigzag()
            same = (window, lane) == last
            index = columns[2].zigzag() + (index if same else 0)
            memory = memory if same else {}
            last = (window, lane)
            state = columns[3].varint()
            how, known, state = state >> 1 & 3, state & 1, state >> 3
            ns = columns[4].varint() if how in (0, CAME_BYTES) else 0
            causer = None
            if known:
                collective = 4 <= state <= 14 or state == 21
                lanes, windows, indices = columns[8:] if collective else columns[5:8]
                other = lanes.varint() if collective else lanes.zigzag() + lane
                of = x.seq - windows.zigzag()
                key = other, collective
                memory[key] = indices.zigzag() + memory.get(key, 0)
                causer = (of, other, index + memory[key])
            require(0 <= window and 0 <= lane < self.nlanes and index >= 0, 'a wait')
            at = (window, lane, index)
            found.append((at, state, self.derived(how, ns, at, causer), causer, how))
        require(all(column.left() == 0 for column in columns), 'waits do not fill their chunk')
        return found

    def derived(self, how, ns, at, causer):
        if how in (0, CAME_BYTES):
            return ns
        require(causer is not None, 'a wait without its cause')
        own, other = self.at(at), self.at(causer)
        if how == 1:
            return max(min(other[0], own[1]) - own[0], 0)
        return max(own[1] - max(other[1], own[0]), 0)

    # ---- messages ----

    def messages(self):
        """All matched messages, in the order of the file."""
        return self.guard('messages', self.read_messages)

    def read_messages(self):
        rows = []
        for w in range(self.windows):
            for g in range(self.groups()):
                x = self.entry(MESSAGES, g, w)
                if x is not None:
                    rows += self.guard('offset %d' % x.offset, self.read_message_chunk, x)
        return Table(MESSAGE_COLUMNS, rows)

    def read_message_chunk(self, x):
        c = self.chunk(x)
        heads, lane = [], self.lanes_of_group(x.group)[0] - 1
        for _ in range(c.varint()):
            lane += c.varint() + 1
            heads.append((lane, c.varint()))
        columns, rows = c.columns(7), []
        for lane, n in heads:
            rows += self.read_messages_of(x, lane, n, columns)
        require(all(column.left() == 0 for column in columns), 'messages do not fill their chunk')
        return rows

    def read_messages_of(self, x, lane, n, columns):
        rows, window, index, memory = [], None, 0, {}
        for _ in range(n):
            flags = columns[0].number('B')
            other = columns[6]
            w = x.seq - (other.varint() if flags & 64 else 0)
            index = columns[1].varint() + (index if w == window else 0)
            window = w
            completion = recv = (w, lane, index)
            if flags & 1:
                recv = (w - other.varint(), lane + other.zigzag(), other.varint())
            elif not flags & 2:
                recv = (w, lane, index - columns[2].varint())
            src = lane + columns[3].zigzag()
            sw = w - (other.zigzag() if flags & 4 else 0)
            last = memory.get(src)
            si = columns[4].zigzag() + (last[1] if last is not None and last[0] == sw else 0)
            memory[src] = (sw, si)
            if flags & 8:
                other.zigzag(), other.zigzag(), other.varint()
            elif not flags & 16:
                columns[5].varint()
            rows.append(self.message((sw, src, si), recv, recv if flags & 2 else completion, other.varint() if flags & 32 else None))
        return rows

    def message(self, send, recv, completion, named):
        sent, begun, done = self.at(send), self.at(recv), self.at(completion)
        src, dst = self.rank_of[send[1]], self.rank_of[recv[1]]
        sig = sent[2] if named is None else self.sigs(src // self.group_ranks)[src][named]
        return (src, send[1] - self.first_lane[src], dst, recv[1] - self.first_lane[dst], sig[5], sig[3], sig[7], sent[0], sent[1], begun[0],
                done[0], done[1], sent[2][2], begun[2][2])


def open(path): # pylint: disable=redefined-builtin
    """The trace at path; raises Damaged or OSError."""
    return Trace(path)
