// state_words.ts - a state in words: what a process does and what it waits for. Pure.
import { Doing } from '../model/snapshot';
import type { Active, Change, Snapshot } from '../model/snapshot';
import { writeNumbers } from '../model/address';
import { count, duration, plural } from './format';
import { STILL_OPEN } from './unrecorded_words';

export const DOING = [
  'not begun',
  'outside MPI',
  'in a call that does not wait',
  'in a call that may wait',
  'waiting for others',
  'finished',
  'dead',
  'not known',
];

/** Names that the trace gives. */
export interface Names {
  comm(id: number): string;
  site(id: number): string;
  running: boolean; // when the file was read
}

const RANKS_MAX = 6;

export function ranksInWords(ranks: readonly number[]): string {
  if (ranks.length === 1) return `rank ${ranks[0]}`;
  const parts = writeNumbers(ranks).split(',');
  const shown = parts.slice(0, RANKS_MAX).join(', ').replaceAll('-', '–');
  return `ranks ${shown}${parts.length > RANKS_MAX ? ` … (${count(ranks.length)})` : ''}`;
}

function waitsFor(s: Snapshot, rank: number): string {
  const needs = s.needs[rank] ?? [];
  const missing = needs.filter((x) => !x.there).map((x) => x.rank);
  if (missing.length === 0) return needs.length > 0 ? `with ${ranksInWords(needs.map((x) => x.rank))}` : '';
  const collective = s.collectives.find((c) => c.comm === s.comm[rank] && c.came.includes(rank));
  const has = missing.length === 1 ? 'has' : 'have';
  if (collective) return `for ${ranksInWords(missing)}, which ${has} not come to it`;
  const receive = needs.every((x) => x.receives);
  return `for ${ranksInWords(missing)}, which ${has} not ${receive ? 'begun to receive' : 'sent yet'}`;
}

/** A call that nobody came back from is no event: only how long it was is known. */
function diesInWords(s: Snapshot, rank: number, since: string): string {
  const unreturned = s.unreturned[rank] ?? 0;
  if (unreturned > 0) return `never returns from its next call: it dies after ${duration(unreturned)} in it`;
  return s.since[rank]! >= 0 ? `made its last call ${since} ago and dies outside MPI` : 'dies outside MPI';
}

/** What it is in when its record ends. */
function openInWords(s: Snapshot, rank: number, names: Names): string {
  const site = names.site(s.site[rank]!);
  const comm = s.comm[rank]! >= 0 ? ` on ${names.comm(s.comm[rank]!)}` : '';
  const call = `${s.ops[s.op[rank]!] ?? 'a call'}${site ? ` (${site})` : ''}${comm}`;
  const waits = s.doing[rank] === Doing.Waits;
  const whom = (s.needs[rank] ?? []).map((x) => x.rank);
  const rest = !waits ? '' : whom.length > 0 ? ` for ${ranksInWords(whom)}` : ' for others';
  const length = duration(Math.max(0, s.until[rank]! - s.since[rank]!));
  return `rank ${rank} ${waits ? 'waits' : 'is'} in ${call}${rest} ${names.running ? `for ${length}, ${STILL_OPEN}` : `and never comes back: ${length}, to its end`}`;
}

export function processInWords(s: Snapshot, rank: number, names: Names): string {
  const doing = s.doing[rank]!;
  const since = duration(Math.max(0, s.time - s.since[rank]!));
  if (s.open[rank]) return openInWords(s, rank, names);
  if (doing === Doing.Dead) return `rank ${rank} ${diesInWords(s, rank, since)} (${s.ends[rank]})`;
  if (doing === Doing.Outside) return `rank ${rank} is outside MPI for ${since}`;
  if (doing === Doing.Unknown) return `rank ${rank}: not known, single calls were not recorded`;
  if (doing < Doing.NonBlocking || doing === Doing.Over) return `rank ${rank}: ${DOING[doing]}`;
  const op = s.ops[s.op[rank]!] ?? '';
  const site = names.site(s.site[rank]!);
  const where = `${op}${site ? ` (${site})` : ''} on ${names.comm(s.comm[rank]!)}`;
  const rest = waitsFor(s, rank);
  const verb = doing === Doing.Waits ? 'waits in' : 'is in';
  return `rank ${rank} ${verb} ${where} for ${since}${rest ? `, ${rest}` : ''}`;
}

export function changeInWords(c: Change | null, names: Names): string {
  if (!c) return 'the beginning';
  if (c.kind === 'complete') return `all have come to ${c.op} on ${names.comm(c.comm)}`;
  return `rank ${c.rank} ${c.kind === 'enter' ? 'enters' : 'leaves'} ${c.op}`;
}

export function activeInWords(c: Active, names: Names): string {
  const missing = c.missing.length > 0 ? `; ${ranksInWords(c.missing)} to come` : '';
  return `${c.op} on ${names.comm(c.comm)}: ${count(c.gone)} of ${plural(c.size, 'member')} came${missing}`;
}

/** How many processes do what, those that are none left out. */
export function tally(s: Snapshot, ranks: readonly number[]): number[] {
  const sums = new Array<number>(DOING.length).fill(0);
  for (const rank of ranks) sums[s.doing[rank]!]!++;
  return sums;
}
