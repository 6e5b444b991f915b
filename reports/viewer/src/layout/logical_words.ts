// logical_words.ts - logical time in words: a call, what is shown, and the same as rows. Pure.
import { rankOfLane } from '../decode/meta';
import type { Meta } from '../decode/meta';
import type { CallSite } from '../model/analysis';
import { UNKNOWN } from '../model/logical';
import type { Logical } from '../model/logical';
import type { Cell, Sheet } from '../model/sheet';
import { count, duration, exactMoment, plural, shortPlace } from './format';
import { Code, codeOf, laneOf } from './logical';

/** What calls are named by. */
export interface Names {
  meta: Meta;
  nodes: readonly string[];
  callSites: ReadonlyMap<number, CallSite>;
}

const TITLE = 'Logical time';
const SITES_SHOWN = 3;

/** Where a lane is, as its row is called: the rank, of other threads than the first with their number. */
export function laneName(meta: Meta, lane: number): string {
  const rank = rankOfLane(meta, lane);
  const thread = lane - meta.firstLane[rank]!;
  return thread === 0 ? String(rank) : `${rank}.${thread}`;
}

/** What is shown and what it leaves out. */
export function shownInWords(l: Logical): string[] {
  if (l.tooMany > 0) return [`about ${plural(l.tooMany, 'call')}: too many for logical time`];
  const compared = l.sites.reduce((sum, x) => sum + x.calls, 0);
  const total = l.sites.reduce((sum, x) => sum + x.totalNs, 0);
  const parts = [
    `${plural(l.step.length, 'call')} at ${plural(l.steps, 'step')}, counted from the beginning of the interval`,
    compared === 0
      ? 'no call could be compared with another'
      : l.most === 0
        ? `${count(compared)} compared, nobody is late`
        : `${count(compared)} compared: ${duration(total)} late in all, at most ${duration(l.most)}`,
  ];
  if (l.outside > 0) parts.push(`${plural(l.outside, 'wait')} left out: for calls outside of the interval`);
  if (l.leftOut > 0) parts.push(`${plural(l.leftOut, 'wait')} left out: clocks or records contradict`);
  return parts;
}

/** Call sites that are late most; '' where none is late. */
export function lateSites(l: Logical, { callSites }: Names): string {
  const late = l.sites.filter((x) => x.totalNs > 0).slice(0, SITES_SHOWN);
  const name = (site: number) => {
    const s = callSites.get(site);
    return s ? `${s.op}${s.place ? ` ${shortPlace(s.place)}` : ''}` : 'unknown call site';
  };
  return late.map((x) => `${name(x.site)} ${duration(x.totalNs)}`).join(', ');
}

function lateInWords(l: Logical, call: number, op: string): string {
  const late = l.late[call]!;
  if (/^MPI_(Init|Finalize)/.test(op)) return 'not known: starting up and shutting down are no part of the run';
  if (late === UNKNOWN) return 'not known: no other call of its site at this step';
  return late === 0 ? '0: the earliest of its site at this step' : `${duration(late)} after the earliest of its site`;
}

export function callInWords(l: Logical, call: number, names: Names): { title: string; rows: [string, string][] } {
  const { meta, nodes, callSites } = names;
  const lane = laneOf(l, call);
  const rank = rankOfLane(meta, lane);
  const node = nodes[rank];
  const title = meta.ops[l.op[call]!] ?? '?';
  const rows: [string, string][] = [
    ['rank', node ? `${rank} on ${node}` : String(rank)],
    ['thread', meta.threads > 1 ? String(lane - meta.firstLane[rank]!) : ''],
    ['step', count(l.step[call]!)],
    ['late by', lateInWords(l, call, title)],
    ['start', exactMoment(l.start[call]!)],
    ['duration', duration(l.end[call]! - l.start[call]!)],
    ['call site', callSites.get(l.site[call]!)?.place ?? ''],
    ['', codeOf(l, call) === Code.Hidden ? 'hidden by the filter' : ''],
  ];
  return { title, rows: rows.filter(([, value]) => value !== '') };
}

const COLUMNS = [
  { name: 'step', title: 'step' },
  { name: 'rank', title: 'rank' },
  { name: 'thread', title: 'thread' },
  { name: 'operation', title: 'operation' },
  { name: 'call_site', title: 'call site' },
  { name: 'late_ns', title: 'late by', show: (v: Cell) => (v === null ? 'not known' : duration(Number(v))) },
  { name: 'start_ns', title: 'start', show: (v: Cell) => exactMoment(Number(v)) },
  { name: 'duration_ns', title: 'duration', show: (v: Cell) => duration(Number(v)) },
];

/** Calls as rows in the order of steps, at most so many; null: there are none yet. */
export function logicalSheet(l: Logical | null, calls: number[], names: Names, note: string, most: number): Sheet {
  if (!l) return { title: TITLE, note, columns: COLUMNS, rows: [] };
  const { meta, callSites } = names;
  calls.sort((a, b) => l.step[a]! - l.step[b]! || a - b);
  const rows = calls.slice(0, most).map((call): Cell[] => {
    const lane = laneOf(l, call);
    const rank = rankOfLane(meta, lane);
    const late = l.late[call]!;
    return [
      l.step[call]!,
      rank,
      lane - meta.firstLane[rank]!,
      meta.ops[l.op[call]!] ?? '?',
      callSites.get(l.site[call]!)?.place ?? '',
      late === UNKNOWN ? null : late,
      l.start[call]!,
      l.end[call]! - l.start[call]!,
    ];
  });
  const some = calls.length > most ? `; the first ${count(most)} of ${plural(calls.length, 'call')}` : '';
  return { title: TITLE, note: `${note}${some}`, columns: COLUMNS, rows };
}
