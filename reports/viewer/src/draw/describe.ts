// describe.ts - an event or a message in words: the rows of tooltips and of the details panel.
import { bytesOf, callsOf, collectiveOf, segmentOf, threadOf } from '../decode/records';
import type { EventRef } from '../decode/records';
import type { Picked } from '../model/state';
import type { Trace } from '../model/trace';
import { totalNs } from '../model/waits';
import type { Wait } from '../model/waits';
import { CLASSES } from '../layout/color';
import { bytes, count, duration, exactMoment } from '../layout/format';
import type { Tip } from './tooltip';

const WAITS_SHOWN = 3;

function callSite(trace: Trace, id: number): string {
  const s = trace.callSites.get(id);
  if (!s) return '';
  return s.function && s.place ? `${s.place} (${s.function})` : s.place || s.function;
}

function rank(trace: Trace, n: number): string {
  const node = trace.nodes[n];
  return node ? `${n} on ${node}` : String(n);
}

function peer(trace: Trace, n: number): string {
  return n === -2 ? 'MPI_PROC_NULL' : n < 0 ? '' : rank(trace, n);
}

function described(title: string, rows: [string, string][]): Tip {
  return { title, rows: rows.filter(([, value]) => value !== '') };
}

/** A call in one line: of whom it is, what, where. */
function inShort(trace: Trace, { chunk, index }: EventRef): string {
  const s = chunk.signature[index]!;
  const site = callSite(trace, chunk.signatures.callSite[s]!);
  const op = trace.meta.ops[chunk.signatures.op[s]!] ?? '?';
  return `rank ${rank(trace, segmentOf(chunk, index).rank)}: ${op}${site ? `, ${site}` : ''}`;
}

/** How long it waited, then for whom: the longest waits. */
function waiting(trace: Trace, waits: Wait[]): [string, string][] {
  const known = waits.filter((w) => w.ns > 0 && (w.state !== '' || w.causer)).sort((a, b) => b.ns - a.ns);
  const rows = known.slice(0, WAITS_SHOWN).map((w): [string, string] => {
    const causer = w.causer ? `, caused by ${inShort(trace, w.causer)}` : '';
    return [w.state || 'waited', `${duration(w.ns)}${causer}`];
  });
  const more = known.length - rows.length;
  const total = totalNs(waits);
  return [
    ['of it waiting', total > 0 ? duration(total) : ''],
    ...rows,
    ['', more > 0 ? `and ${count(more)} more` : ''],
  ];
}

function collective(c: EventRef): string {
  const number = collectiveOf(c.chunk, c.index);
  return number < 0 ? '' : `number ${count(number + 1)} of this communicator`;
}

function event(trace: Trace, c: Extract<Picked, { kind: 'event' }>): Tip {
  const { chunk, index: i } = c;
  const { signatures: of } = chunk;
  const s = chunk.signature[i]!;
  const hasPeer = of.peer[s]! !== -1;
  const calls = callsOf(chunk, i);
  const size = bytesOf(chunk, i) + (c.came ?? 0);
  return described(trace.meta.ops[of.op[s]!] ?? '?', [
    ['rank', rank(trace, segmentOf(chunk, i).rank)],
    ['thread', trace.meta.threads > 1 ? String(threadOf(chunk, i)) : ''],
    ['class', CLASSES[of.class[s]!]!.name],
    ['start', exactMoment(chunk.start[i]!)],
    ['duration', duration(chunk.duration[i]!)],
    ...waiting(trace, c.waits ?? []),
    ['calls', calls > 1 ? `${count(calls)} unsuccessful tests` : ''],
    ['peer', peer(trace, of.peer[s]!)],
    ['tag', hasPeer ? String(of.tag[s]!) : ''],
    ['size', size > 0 ? `${bytes(size)} (${count(size)} bytes)` : ''],
    ['communicator', trace.comms.get(of.comm[s]!) ?? ''],
    ['collective', collective(c)],
    ['call site', callSite(trace, of.callSite[s]!)],
  ]);
}

function message(trace: Trace, c: Extract<Picked, { kind: 'message' }>): Tip {
  const { chunk, index: i } = c;
  const waited = chunk.sendStart[i]! - chunk.completionStart[i]!;
  return described(`Message ${chunk.src[i]!} → ${chunk.dst[i]!}`, [
    ['from', rank(trace, chunk.src[i]!)],
    ['to', rank(trace, chunk.dst[i]!)],
    ['size', `${bytes(chunk.bytes[i]!)} (${count(chunk.bytes[i]!)} bytes)`],
    ['tag', String(chunk.tag[i]!)],
    ['sent', exactMoment(chunk.sendStart[i]!)],
    ['received', exactMoment(chunk.recvEnd[i]!)],
    ['under way', duration(chunk.recvEnd[i]! - chunk.sendStart[i]!)],
    ['receiver waited', waited > 0 ? `${duration(waited)} for the send` : ''],
    ['communicator', trace.comms.get(chunk.comm[i]!) ?? ''],
    ['send call site', callSite(trace, chunk.sendCallSite[i]!)],
    ['receive call site', callSite(trace, chunk.recvCallSite[i]!)],
  ]);
}

export function describe(trace: Trace, picked: Picked): Tip {
  return picked.kind === 'event' ? event(trace, picked) : message(trace, picked);
}
