// compare_parts.ts - what differs between two runs as rows, where their iterations begin, and how the second is opened.
import { h } from '../draw/dom';
import { bytes, duration, percent } from '../layout/format';
import { list, num, str } from '../model/analysis';
import { EFFICIENCIES } from '../model/efficiencies';
import { NEVER_RETURNED, openSums, operationsOf, opensOf } from '../model/open';
import type { Session } from '../work/session';

export interface Difference {
  what: string;
  name: string;
  a: number | null;
  b: number | null;
  isShare: boolean;
}

/** By operation the time of both runs, waiting by state, efficiencies, runtime: what differs most first. */
export function differences(a: Session, b: Session): Difference[] {
  const rows: Difference[] = [];
  const share = (name: string, key: string) => {
    const of = (s: Session) => num(s.analysis, 'efficiency', key) ?? null;
    rows.push({ what: 'efficiency', name, a: of(a), b: of(b), isShare: true });
  };
  rows.push({ what: 'run, s', name: 'runtime', a: a.meta.runtime / 1e9, b: b.meta.runtime / 1e9, isShare: false });
  for (const [key, name, , depth] of EFFICIENCIES) if (depth < 2) share(name, key);
  rows.push(...byName(a, b, 'operation, s', timesOf, (n) => n));
  rows.push(...byName(a, b, 'waiting, s', waitsOf, (n) => n.replaceAll('_', ' ')));
  return rows;
}

type Values = Map<string, number>;

const timesOf = (s: Session): Values => new Map(operationsOf(s.analysis).map(({ op, time }) => [op, time ?? 0]));

/** By state, and in calls that ranks never came back from. */
function waitsOf({ analysis }: Session): Values {
  const waits = new Map(list(analysis, 'wait_totals').map((x) => [str(x, 'state'), num(x, 'seconds') ?? 0]));
  const open = openSums(opensOf(analysis), () => NEVER_RETURNED).get(NEVER_RETURNED)?.waitNs ?? 0;
  return open > 0 ? waits.set(NEVER_RETURNED, open / 1e9) : waits;
}

function byName(
  a: Session,
  b: Session,
  what: string,
  read: (s: Session) => Values,
  say: (name: string) => string,
): Difference[] {
  const [of, other] = [read(a), read(b)];
  const names = new Set([...of.keys(), ...other.keys()]);
  const rows = [...names].map((n) => {
    const [x, y] = [of.get(n) ?? null, other.get(n) ?? null];
    return { what, name: say(n), a: x, b: y, isShare: false };
  });
  const by = (d: Difference) => Math.abs((d.b ?? 0) - (d.a ?? 0));
  return rows.sort((x, y) => by(y) - by(x));
}

function text(d: Difference, value: number | null): string {
  if (value === null) return '–';
  return d.isShare ? percent(value) : duration(value * 1e9);
}

function change(d: Difference): string {
  if (d.a === null || d.b === null) return '';
  const by = Math.abs(d.b - d.a) < (d.isShare ? 5e-4 : 1e-9) ? 0 : d.b - d.a;
  const sign = by > 0 ? '+' : by < 0 ? '−' : '';
  if (d.isShare) return `${sign}${Math.abs(by * 100).toFixed(1)} points`;
  const ratio = d.a > 0 ? ` (${sign}${Math.abs((by / d.a) * 100).toFixed(0)} %)` : '';
  return `${sign}${duration(Math.abs(by) * 1e9)}${ratio}`;
}

export function differenceTable(rows: Difference[], a: string, b: string): HTMLElement {
  const cell = (value: string) => h('td', { class: 'n' }, value);
  const head = ['all ranks, whole run', 'A', 'B', 'B − A'].map((t, i) =>
    h('th', { class: i > 0 ? 'n' : '', title: ['', a, b, ''][i] }, t),
  );
  return h(
    'table',
    { class: 'ops wide-rows' },
    h('thead', {}, h('tr', {}, ...head)),
    h(
      'tbody',
      {},
      ...rows.map((d) =>
        h('tr', {}, h('td', { title: d.what }, d.name), cell(text(d, d.a)), cell(text(d, d.b)), cell(change(d))),
      ),
    ),
  );
}

/** The call site where a loop of the program begins: as the analysis found it, else that of most calls of a collective, else of any. */
export function loopSite(session: Session): number {
  const known = num(session.analysis, 'phases', 'callsite');
  if (known !== undefined) return known;
  const isCollective = (op: string) => /bcast|reduce|gather|scatter|alltoall|scan|barrier/i.test(op);
  const most = (wanted: (op: string) => boolean) => {
    let best = { id: -1, calls: session.meta.ranks }; // once a rank is no loop
    for (const x of list(session.analysis, 'callsites')) {
      const calls = num(x, 'calls') ?? 0;
      if (wanted(str(x, 'op')) && calls > best.calls) best = { id: num(x, 'id') ?? -1, calls };
    }
    return best.id;
  };
  const collective = most(isCollective);
  return collective >= 0 ? collective : most(() => true);
}

const SITES_SHOWN = 60;

export function siteNames(session: Session): [string, string][] {
  const calls = new Map(list(session.analysis, 'callsites').map((x, i) => [num(x, 'id') ?? i, num(x, 'calls') ?? 0]));
  const most = [...session.callSites].sort((a, b) => (calls.get(b[0]) ?? 0) - (calls.get(a[0]) ?? 0));
  return most.slice(0, SITES_SHOWN).map(([id, s]) => [String(id), `${s.op} ${s.place}`.trim()]);
}

/** The call site of the other run that has the same place and operation; else the same operation in a function of that name. */
export function sameSite(a: Session, b: Session, site: number): number {
  const own = a.callSites.get(site);
  if (!own) return -1;
  const find = (test: (s: { op: string; place: string; function: string }) => boolean) =>
    [...b.callSites].find(([, s]) => s.op === own.op && test(s))?.[0] ?? -1;
  const exact = find((s) => s.place === own.place && s.function === own.function);
  return exact >= 0 ? exact : find((s) => s.function === own.function);
}

/** Where the second run comes from. */
function fileInput(id: string, open: (file: File) => void): HTMLInputElement {
  const take = () => input.files?.[0] && open(input.files[0]);
  const input = h('input', { type: 'file', id, accept: '.mpix', onchange: take });
  return input;
}

export function anotherChooser(open: (file: File) => void): HTMLElement {
  return h('label', { class: 'choose-another' }, 'compare with another …', fileInput('another', open));
}

/** before: the second run that the address of the page speaks of. */
export function chooser(
  name: string,
  open: (file: File) => void,
  before: { other: string; otherBytes: number },
): HTMLElement {
  const { other, otherBytes } = before;
  const again = `It was compared with ${other} (${bytes(otherBytes)}). A page may not open a file again by itself: drop that one here, or`;
  return h(
    'div',
    { class: 'empty' },
    h('b', {}, `Compare ${name} with another run`),
    h('p', { class: 'again' }, other === '' ? 'Drop a second .mpix here, or' : again),
    h('label', { class: 'choose', for: 'other' }, 'choose the second run', fileInput('other', open)),
    h('p', { class: 'hint' }, 'mpitrace view A.mpix B.mpix opens both. With several runs of each: mpitrace diff.'),
  );
}
