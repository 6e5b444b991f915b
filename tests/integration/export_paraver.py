"""export_paraver.py - an export to Paraver against the grammar of its manual ("Paraver trace file format", BSC): every line of the three
files is of a known form, and names only what header, .pcf and .row define."""
import collections
import re

HEADER = re.compile(r'#Paraver \((\d\d)/(\d\d)/(\d{4}|\d\d) at (\d\d):(\d\d)\):(\d+)(?:_ns)?:(\d+)\(([\d,]+)\):(\d+):(\d+)\(([\d:,]+)\)(?:,(\d+))?')
FIELDS = {'1': 8, '3': 15}


class Machine:
    """What the header says there is."""

    def __init__(self, header):
        m = HEADER.fullmatch(header)
        if m is None:
            raise ValueError('header: ' + header)
        self.length, self.nodes = int(m[6]), [int(n) for n in m[8].split(',')]
        self.tasks = [tuple(map(int, t.split(':'))) for t in m[11].split(',')]
        self.comms, self.sane = int(m[12] or 0), (len(self.nodes), 1, len(self.tasks)) == (int(m[7]), int(m[9]), int(m[10]))
        ends = [sum(self.nodes[:i + 1]) for i in range(len(self.nodes))]
        self.cpus_of_node = [range(end - n + 1, end + 1) for n, end in zip(self.nodes, ends)]

    def has_object(self, cpu, application, task, thread):
        """Is the thread of that task, and the processor of its node?"""
        if application != 1 or not 1 <= task <= len(self.tasks):
            return False
        threads, node = self.tasks[task - 1]
        return 1 <= thread <= threads and 1 <= node <= len(self.nodes) and cpu in self.cpus_of_node[node - 1]


def definitions(path):
    """States, and values by event type; None: any value."""
    states, types, block, current = set(), {}, '', []
    with open(path, encoding='utf-8') as f:
        for line in f.read().splitlines():
            m = re.match(r'(\d+) +(\S.*)$', line)
            if line in ('STATES', 'EVENT_TYPE', 'VALUES', 'DEFAULT_OPTIONS'):
                block = line
                current = current if line == 'VALUES' else []
            elif line == '':
                block = '' if block != 'DEFAULT_OPTIONS' else block
            elif block == 'STATES' and m:
                states.add(int(m[1]))
            elif block == 'EVENT_TYPE' and re.match(r'\d+ +\d+ +\S', line):
                current.append(int(line.split()[1]))
                types[current[-1]] = None
            elif block == 'VALUES' and m:
                for t in current:
                    types[t] = (types[t] or set()) | {int(m[1])}
            elif block != 'DEFAULT_OPTIONS' or not re.match(r'[A-Z]+ +\S', line):
                raise ValueError('pcf: ' + line)
    return states, types


def levels(path):
    """Names by level of a .row."""
    found, left, name = {}, 0, ''
    with open(path, encoding='utf-8') as f:
        for line in f.read().splitlines():
            m = re.fullmatch(r'LEVEL ([A-Z]+) SIZE (\d+)', line)
            if left > 0:
                found[name].append(line)
                left -= 1
            elif m:
                name, left = m[1], int(m[2])
                found[name] = []
            elif line:
                raise ValueError('row: ' + line)
    return found if left == 0 else {}


def wrong_record(line, machine, states, types):
    """What is wrong with it, or None."""
    r = line.split(':')
    if not all(re.fullmatch(r'-?\d+', x) for x in r) or r[0] not in '123' or len(r) < 8 or (
            len(r) != FIELDS[r[0]] if r[0] in FIELDS else len(r) % 2 != 0):
        return 'form'
    n = [int(x) for x in r]
    if not machine.has_object(*n[1:5]):
        return 'object'
    if r[0] == '1':
        return None if 0 <= n[5] <= n[6] <= machine.length and n[7] in states else 'state'
    if r[0] == '2':
        pairs = zip(n[6::2], n[7::2])
        known = all(t in types and (types[t] is None or v in types[t]) for t, v in pairs)
        return None if 0 <= n[5] <= machine.length and known else 'event'
    times = n[5:7] + n[11:13]
    return None if machine.has_object(*n[7:11]) and min(times) >= 0 and max(times) <= machine.length and n[13] >= 0 else 'communication'


def check_comms(lines, machine):
    """Those whose numbers or members are wrong."""
    wrong = []
    for at, line in enumerate(lines):
        r = [int(x) for x in line.split(':')[1:]]
        if r[:2] != [1, at + 1] or r[2] != len(r) - 3 or len(set(r[3:])) != r[2] or not all(1 <= t <= len(machine.tasks) for t in r[3:]):
            wrong.append(line)
    return wrong


def check(t, who, path):
    with open(path + '/trace.prv', encoding='utf-8') as f:
        lines = f.read().splitlines()
    machine = Machine(lines[0])
    t.check(who + 'paraver: the header is of one piece', machine.sane, lines[0])
    comms = 1 + machine.comms
    t.equal(who + 'paraver: communicators stand behind it', check_comms(lines[1:comms], machine), [])
    states, types = definitions(path + '/trace.pcf')
    wrong = collections.Counter(filter(None, (wrong_record(line, machine, states, types) for line in lines[comms:])))
    t.equal(who + 'paraver: every record has the form of its kind and names what is defined', dict(wrong), {})
    row = levels(path + '/trace.row')
    t.equal(who + 'paraver: rows are named', {k: len(v) for k, v in row.items()},
            {'NODE': len(machine.nodes), 'TASK': len(machine.tasks), 'THREAD': sum(n for n, _ in machine.tasks)})
