// spacetime_sheet.ts - the space-time diagram as rows, an event each: its table twin, CSV, JSON.
import { Seen } from '../layout/spacetime';
import type { Diagram } from '../layout/spacetime';
import type { Names } from '../layout/spacetime_words';
import { Role } from '../model/section';
import type { Section } from '../model/section';
import type { Cell, Sheet } from '../model/sheet';
import type { Judged } from '../model/protocol';

const ROLES = ['send', 'receive', 'collective'];

export function spaceSheet(
  s: Section | null,
  d: Diagram | null,
  names: Names,
  verdictOf: (message: number) => Judged | null,
  note: string,
): Sheet {
  const columns = [
    { name: 'rank', title: 'rank' },
    { name: 'event', title: 'event' },
    { name: 'what', title: 'what' },
    { name: 'epoch', title: 'epoch' },
    { name: 'time_ns', title: 'time, ns' },
    { name: 'partner', title: 'partner' },
    { name: 'partner_event', title: 'its event' },
    { name: 'bytes', title: 'bytes' },
    { name: 'tag', title: 'tag' },
    { name: 'communicator', title: 'communicator' },
    { name: 'call_site', title: 'call site' },
    { name: 'check', title: 'check' },
  ];
  const rows: Cell[][] = [];
  for (let i = 0; s && d && i < s.events.count; i++)
    if (d.seen[i] === Seen.Drawn) rows.push(row(s, i, names, verdictOf));
  rows.sort((a, b) => Number(a[0]) - Number(b[0]) || Number(a[1]) - Number(b[1]));
  return { title: 'Space-time diagram', note, columns, rows };
}

/** Those of several runs as one, which then says of which run a row is. */
export function sheetOfRuns(sheets: readonly [string, Sheet][]): Sheet {
  const [, first] = sheets[0]!;
  if (sheets.length === 1) return first;
  return {
    title: first.title,
    note: sheets.map(([name, sheet]) => `${name}: ${sheet.note}`).join(' '),
    columns: [{ name: 'run', title: 'run' }, ...first.columns],
    rows: sheets.flatMap(([name, sheet]) => sheet.rows.map((cells) => [name, ...cells])),
  };
}

function row(s: Section, i: number, names: Names, verdictOf: (message: number) => Judged | null): Cell[] {
  const { events, messages: m } = s;
  const k = events.thing[i]!;
  const number = s.epochs[events.epoch[i]!]?.number ?? 0;
  const role = events.role[i]!;
  const head: Cell[] = [
    events.rank[i]!,
    events.number[i]!,
    ROLES[role]!,
    number > 0 ? number : null,
    Math.round(events.time[i]!),
  ];
  if (role === Role.Part) {
    const c = s.collectives[k]!;
    return [...head, null, null, null, null, names.comm(c.comm), names.site(c.callSite), null];
  }
  const isSend = role === Role.Send;
  const other = isSend ? m.receiveNumber[k]! : m.sendNumber[k]!;
  return [
    ...head,
    isSend ? m.dst[k]! : m.src[k]!,
    other < 0 ? null : other,
    m.bytes[k]!,
    m.tag[k]!,
    names.comm(m.comm[k]!),
    names.site(isSend ? m.sendSite[k]! : m.receiveSite[k]!),
    verdictOf(k)?.colour ?? null,
  ];
}
