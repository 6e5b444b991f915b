// statistics.ts - statistics of an interval as tables; to be copied as CSV.
import { bytes, count, duration, plural } from '../layout/format';
import { counted, opensInWords } from '../layout/unrecorded_words';
import type { Json } from '../model/analysis';
import { isRunning } from '../model/open';
import { cell } from '../model/sheet';
import type { Row, Stats } from '../work/stats';
import type { Session } from '../work/session';
import { callSite } from './describe';
import { h } from './dom';
import { button, save } from './tools';

const ROWS_SHOWN = 12;

function bar(share: number): HTMLElement {
  const inner = h('span', {});
  inner.style.width = `${Math.min(100, share * 100)}%`;
  return h('span', { class: 'bar' }, inner);
}

function table(title: string, head: string[], rows: (string | HTMLElement)[][], left: number): HTMLElement {
  const cell = (text: string | HTMLElement, i: number) => h('td', i > 0 ? { class: 'n' } : {}, text);
  return h(
    'div',
    {},
    h('h3', {}, title),
    h(
      'table',
      { class: 'ops' },
      h('thead', {}, h('tr', {}, ...head.map((text, i) => h('th', i > 0 ? { class: 'n' } : {}, text)))),
      h('tbody', {}, ...rows.map((cells) => h('tr', {}, ...cells.map(cell)))),
    ),
    left > 0 ? h('p', { class: 'hint' }, `and ${count(left)} more`) : null,
  );
}

/** What the mark means. */
export function openHint(analysis: Json): string {
  const until = isRunning(analysis) ? 'until then' : 'to the end of their ranks';
  return `open: ${opensInWords(analysis)}; they count ${until}`;
}

/** With how many of them are open. */
export function callsWithOpen(calls: number, open: number): string {
  return open > 0 ? `${count(calls)}, ${count(open)} open` : count(calls);
}

function named(row: Row, text: string, most: number): HTMLElement {
  return h('span', {}, text, bar(row.ns / Math.max(1, most)));
}

function rowsOf<R extends Row>(
  title: string,
  first: string,
  rows: R[],
  nameOf: (row: R) => string,
): HTMLElement | null {
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map((r) => r.ns));
  const cells = rows
    .slice(0, ROWS_SHOWN)
    .map((r) => [
      named(r, nameOf(r), most),
      callsWithOpen(r.calls, r.open),
      duration(r.ns),
      r.waitNs > 0 ? duration(r.waitNs) : '–',
    ]);
  return table(title, [first, 'calls', 'time', 'waiting'], cells, rows.length - ROWS_SHOWN);
}

/** Calls by their length, a column for each power of two. */
function histogram(lengths: number[]): HTMLElement | null {
  const used = lengths.map((n, i) => [n, i] as const).filter(([n]) => n > 0);
  if (used.length === 0) return null;
  const [first, last] = [used[0]![1], used[used.length - 1]![1]];
  const most = Math.max(...lengths);
  const columns = lengths.slice(first, last + 1).map((n, k) => {
    const column = h('span', {
      title: `${plural(n, 'call')} of ${duration(2 ** (first + k))} to ${duration(2 ** (first + k + 1))}`,
    });
    column.style.height = n > 0 ? `${Math.max(4, (Math.log1p(n) / Math.log1p(most)) * 100)}%` : '0';
    return column;
  });
  return h(
    'div',
    {},
    h('h3', {}, 'Lengths of calls'),
    h('div', { class: 'histogram', role: 'img', 'aria-label': 'Calls by length, logarithmic' }, ...columns),
    h('p', { class: 'hint ends' }, h('span', {}, duration(2 ** first)), h('span', {}, duration(2 ** (last + 1)))),
  );
}

export function csvOf(trace: Session, s: Stats): string {
  const lines = ['table,name,calls,open,seconds,bytes,waiting_s'];
  const put = (kind: string, name: string, r: Row) =>
    lines.push(
      [kind, cell(name), r.calls, r.open, r.ns / 1e9, r.calls > r.open ? r.bytes : '', r.waitNs / 1e9].join(','),
    );
  for (const r of s.operations) put('operation', r.name, r);
  for (const r of s.sites) put('call site', `${r.name} ${callSite(trace, r.site)}`, r);
  for (const r of s.ranks) put('rank', r.name, r);
  for (const w of s.waits) lines.push(['waiting', cell(w.state), w.count, '', w.ns / 1e9, '', w.ns / 1e9].join(','));
  lines.push(['messages', 'sent', s.messages.count, '', '', s.messages.bytes, ''].join(','));
  return `${lines.join('\n')}\n`;
}

/** All rows to the clipboard or, where a page may not write there, to a file. Returns what was done. */
async function copy(text: string): Promise<string> {
  const rows = `${plural(text.trimEnd().split('\n').length - 1, 'row')}`;
  try {
    await navigator.clipboard.writeText(text);
    return `${rows} copied`;
  } catch {
    save('interval.csv', new Blob([text], { type: 'text/csv' }));
    return `${rows} saved as interval.csv`;
  }
}

/** say: to whom does not see the button. */
export function statistics(
  trace: Session,
  s: Stats,
  ranks: ReadonlySet<number>,
  say: (text: string) => void,
): HTMLElement {
  const states = s.waits.map((w) => [w.state, count(w.count), duration(w.ns)]);
  const toCopy = button('Copy as CSV', 'Copy all rows as CSV', () => {
    const done = (text: string) => ((toCopy.textContent = text), say(text));
    void copy(csvOf(trace, s)).then(done);
  });
  const m = s.messages;
  const all =
    `${plural(s.calls, 'call')}${s.open > 0 ? `, ${count(s.open)} of them open` : ''}, ${duration(s.ns)} in MPI, ` +
    `${plural(m.count, 'message')} sent (${bytes(m.bytes)}, the largest ${bytes(m.largest)})`;
  return h(
    'div',
    { class: 'statistics' },
    h('p', {}, `${duration(s.to - s.from)}: ${counted(s.calls, all, trace, s, ranks)}`),
    s.open > 0 ? h('p', { class: 'open-key' }, openHint(trace.analysis)) : null,
    s.read < s.of ? h('p', { class: 'hint' }, `so far: ${count(s.read)} of ${plural(s.of, 'chunk')} read`) : null,
    rowsOf('Operations', 'operation', s.operations, (r) => r.name),
    s.waits.length > 0 ? table('Waiting', ['state', 'calls', 'time'], states, 0) : null,
    rowsOf('Call sites', 'call site', s.sites, (r) => `${r.name} ${callSite(trace, r.site)}`),
    rowsOf(
      'Ranks, most time first',
      'rank',
      [...s.ranks].sort((a, b) => b.ns - a.ns),
      (r) => r.name,
    ),
    histogram(s.lengths),
    toCopy,
  );
}
