"""agree.py - the page and the summary in the terminal say the same numbers, and no share is above its whole. trace.shown() asks for
every trace that a test makes; fixtures.py for those of tests/corpus."""
import html
import re

OPERATIONS, STATES, SITES = 'MPI operations, most time first', 'Wait states, total over ranks', 'Calls in the source, most time first'


def plain(markup):
    """What a reader sees, in the terminal's letters."""
    text = html.unescape(re.sub(r'<[^>]*>', ' ', markup))
    for a, b in (('\u00a0', ' '), ('\u00b5', 'u'), ('\u2013', '-'), ('\u2019', "'")):
        text = text.replace(a, b)
    return ' '.join(text.split())


def table(page, caption):
    """Rows of a table: its head cell, then the cells with numbers."""
    if caption not in page:
        return []
    part = page[page.index(caption):].split('</table>')[0].split('<tbody>')[-1]
    rows = re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', part, re.S)
    return [[plain(head)] + [plain(x) for x in re.findall(r'<td class="n">(.*?)</td>', rest, re.S)] for head, rest in rows]


def columns(text, title, edges):
    """The same in the terminal: what stands between these columns, below a title and the heads."""
    if '\n' + title not in text:
        return []
    part = text[text.index('\n' + title) + 1:].split('\n\n')[0].split('\n')[2:]
    return [[line[a:b].strip() for a, b in zip(edges, edges[1:])] for line in part if line.strip() and not line.startswith(('  ... ', '      ', '  last most '))]


def empty(cell):
    return '-' if cell in ('', '0 B', 'not known') else cell


def figure(page, label):
    found = re.search(r'<dt>%s</dt><dd>(.*?)</dd>' % label, page, re.S)
    return plain(found[1]) if found else None


def operations(page, text):
    there = [[r[0], r[3], empty(r[1]), empty(r[2]), empty(r[5])] for r in table(page, OPERATIONS)]
    here = [r[:2] + [empty(r[2]), empty(r[3]), empty(r[4])] for r in columns(text, 'Where the time went', (2, 24, 38, 50, 59, 71))]
    return [('operations', x, y) for x, y in zip(here, there) if x[1:] != y[1:] or (y[0].startswith('MPI_') and x[0] != y[0][:22])] + ([('operations', here, there)] if bool(here) != bool(there) else [])


def states(page, text):
    there = [[r[3], r[1], empty(r[2])] for r in table(page, STATES)]
    here = [r[1:3] + [empty(r[3])] for r in columns(text, 'Waiting for others', (2, 25, 38, 50, 59))]
    return [] if here == there else [('wait states', here, there)]


def sites(page, text):
    there = [[r[3], r[1]] for r in table(page, SITES)]
    here = [r[1:3] for r in columns(text, 'Call sites', (2, 20, 32, 44))]
    return [('call sites', x, y) for x, y in zip(here, there) if x != y]


def one_line(text):
    return ' '.join(text.replace('\u2192', '->').split())


# Of the page: caption, which cells with numbers; of the terminal: title, where columns begin and end, which of them; and how the first
# column of the one is made that of the other (None: it is not compared).
TABLES = (
    ('nodes', 'Nodes, most useful time first; means of their ranks', (1, 2, 3, 4, 5), 'Nodes, most useful', (2, 22, 30, 42, 54, 66, 78),
     (1, 2, 3, 4, 5), lambda x: x.split(' \u25b2')[0][:20]),
    ('links', 'Heaviest links, point-to-point', (2, 1), 'Heaviest links', (2, 26, 38, 48), (1, 2), one_line),
    ('places', 'How far data goes', (1, 2, 3, 4), 'How far data goes', (2, 36, 48, 58, 70, 80), (1, 2, 3, 4), one_line),
    ('sizes', 'Sizes of messages, and of what', (1, 2, 3, 4), 'Sizes of messages', (2, 14, 28, 38, 52, 62), (1, 2, 3, 4),
     lambda x: x.replace('from ', '')),
    ('arrivals', 'Collectives by call site, where', (1, 2, 3, 4, 5), 'Collectives by call site', (2, 20, 32, 44, 56, 68, 77), (1, 2, 3, 4, 5),
     lambda x: x.split(' ')[0][:18]),
    ('delays', 'What others waited for', (1, 2, 3), 'Delays', (2, 8, 26, 36, 50, 63), (2, 3, 4),
     lambda x: 'before' if x.startswith('computing before') else 'in'),
)


def tables(page, text):
    """Rows that both have are the same, and both have some or neither."""
    wrong = []
    for what, caption, cells, title, edges, cols, name in TABLES:
        there = [[name(r[0])] + [r[i] or '-' for i in cells] for r in table(page, caption)]
        here = [[r[0]] + [r[i] or '-' for i in cols] for r in columns(text, title, edges)]
        there = [[x.replace('\u2013', '-') for x in r] for r in there]
        wrong += [(what, x, y) for x, y in zip(here, there) if x != y]
        if bool(here) != bool(there):
            wrong.append((what, here, there))
    return wrong


def seen(page, text):
    """What an issue was seen in, of the first five."""
    there = [plain(x) for x in re.findall(r'<figure class="evidence"><figcaption>(.*?)<span>', page, re.S)]
    here = [' '.join(x.split()) for x in re.findall(r'^     seen (.*?)\n          \|', text, re.S | re.M)]
    return [] if here == there else [('evidence', here, there)]


def head(page, text):
    """Figures of the masthead and of the strip."""
    wrong = []
    mpi = re.search(r'^MPI +(.*?) of the ranks\' .*,\n +(?:(.*) waiting for others$)?', text, re.M)
    parallel = re.search(r'^Efficiency  (\S+) parallel', text, re.M)
    pairs = [(mpi and mpi[1], figure(page, 'of the ranks\u2019 time in MPI')),
             (parallel and parallel[1], figure(page, 'parallel efficiency, 0.80 is good'))]
    if mpi and mpi[2]:
        pairs.append((mpi[2], figure(page, 'of the ranks\u2019 time waiting for others')))
    trust = figure(page, 'Calls')
    calls = re.search(r'^ +(\S+) calls; ', text, re.M)
    if trust and calls:
        pairs.append((calls[1], trust.split()[0]))
    here = re.search(r'^Processors  ranks waited (.*?) for a free core \(total over ranks\), (rank \d+)\n +longest: (.*?);', text, re.M)
    there = re.search(r'<p>Ranks waited (.*?) for a free core \(total over ranks\), (rank \d+) longest: (.*?)\. ', page)
    never = (re.search(r'^      in calls that never returned: (.*?), (.*?); in no row$', text, re.M),
             re.search(r'<p class="note">In calls that never returned: (.*?), (.*?) of the ranks', page))
    if any(never):
        pairs.append(tuple(str(x and [plain(y) for y in x.groups()]) for x in never))
    if here or there:
        pairs.append((str(here and here.groups()), str(there and (plain(there[1]), there[2], plain(there[3])))))
    wrong += [('head', a, b) for a, b in pairs if a and b and a != b]
    return wrong


ANSWERS = (('Who delays', 'Who delays whom?'), ('Network', 'Is it the network?'), ('More nodes', 'Would more nodes help?'))


def answers(page, text):
    """The same words to the same questions."""
    wrong = []
    for label, question in ANSWERS:
        there = re.search(rf'<dt>{re.escape(question)}</dt><dd>(.*?)</dd>', page, re.S)
        here = re.search(rf'^{label} +(\S.*(?:\n {{12}}\S.*)*)$', text, re.M)
        pair = (here and ' '.join(here[1].split()), there and plain(there[1]))
        wrong += [('answers', *pair)] if pair[0] != pair[1] else []
    return wrong


def issues(page, text):
    """As many, in the same order, with the same losses."""
    there = re.findall(r'<article class="card">(.*?)</article>', page, re.S)
    there = [(plain(re.search(r'<span class="name">(.*?)</span>', x, re.S)[1]),
              (re.search(r'total over ranks</dt><dd>(.*?)</dd>', x, re.S) or [0, ''])[1]) for x in there]
    there = [(a, plain(b).replace(' of the time', '').split(' of the ')[0]) for a, b in there]
    here = re.findall(r'^  \d+\. (.*?) \((?:high|medium|low)(.*)\)$', text, re.M)
    here = [(a, ', '.join(x for x in b.replace(' lost', '').replace(' of the time', '').split(', ') if x)) for a, b in here]
    return [] if here == there else [('issues', here, there)]


def shares(where, text):
    return [(where, 'a share above 100 %', x) for x in re.findall(r'(\d[\d,]*(?:\.\d+)?) %', text) if float(x.replace(',', '')) > 100]


def errors(page, text):
    """Where the two differ; [] if nowhere."""
    body = re.sub(r'<(style|title)>.*?</\1>', '', page, flags=re.S)
    parts = (head, answers, operations, states, sites, tables, issues, seen)
    return (sum((part(page, text) for part in parts), []) +
            shares('page', plain(body)) + shares('terminal', text))


def too_wide(text):
    return [line for line in text.split('\n') if len(line) > 80]
