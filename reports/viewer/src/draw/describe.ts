// describe.ts - an event or a message in words: the rows of tooltips and of the details panel.
import type { Picked } from '../model/state';
import type { Trace } from '../model/trace';
import { CLASSES } from '../layout/color';
import { bytes, count, duration, exactMoment } from '../layout/format';
import type { Tip } from './tooltip';

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

function event(trace: Trace, c: Extract<Picked, { kind: 'event' }>): Tip {
  const { chunk, index: i } = c;
  const length = chunk.duration[i]!;
  const hasPeer = chunk.peer[i]! !== -1;
  return described(trace.meta.ops[chunk.op[i]!] ?? '?', [
    ['rank', rank(trace, chunk.rank[i]!)],
    ['thread', trace.meta.threads > 1 ? String(chunk.thread[i]!) : ''],
    ['class', CLASSES[chunk.class[i]!]!.name],
    ['start', exactMoment(chunk.start[i]!)],
    ['duration', duration(length)],
    ['of it waiting', chunk.wait[i]! > 0 ? duration(chunk.wait[i]!) : ''],
    ['calls', chunk.calls[i]! > 1 ? `${count(chunk.calls[i]!)} unsuccessful tests` : ''],
    ['peer', peer(trace, chunk.peer[i]!)],
    ['tag', hasPeer ? String(chunk.tag[i]!) : ''],
    ['size', chunk.bytes[i]! > 0 ? `${bytes(chunk.bytes[i]!)} (${count(chunk.bytes[i]!)} bytes)` : ''],
    ['communicator', trace.comms.get(chunk.comm[i]!) ?? ''],
    ['call site', callSite(trace, chunk.callSite[i]!)],
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
