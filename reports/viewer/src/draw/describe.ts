// describe.ts - a call, a message, a collective in words: the rows of tooltips and of the details panel. A row for each kind of thing.
import type { Call, CollectiveThing, EventThing, MessageFact, MessageThing, Thing, WaitFact } from '../model/picked';
import { CLASSES } from '../layout/color';
import { bytes, count, duration, exactMoment } from '../layout/format';
import { openLength } from '../layout/unrecorded_words';
import type { Session } from '../work/session';
import type { Tip } from './tooltip';

const WAITS_SHOWN = 3;
const PEERS_SHOWN = 6;

export function callSite(trace: Session, id: number): string {
  const s = trace.callSites.get(id);
  if (!s) return '';
  return s.function && s.place ? `${s.place} (${s.function})` : s.place || s.function;
}

function rank(trace: Session, n: number): string {
  const node = trace.nodes[n];
  return node ? `${n} on ${node}` : String(n);
}

function peer(trace: Session, n: number): string {
  return n === -2 ? 'MPI_PROC_NULL' : n < 0 ? '' : rank(trace, n);
}

function size(n: number): string {
  return n > 0 ? `${bytes(n)} (${count(n)} bytes)` : '';
}

function described(title: string, rows: [string, string][]): Tip {
  return { title, rows: rows.filter(([, value]) => value !== '') };
}

/** A call in one line: of whom it is, what, where. */
function inShort(trace: Session, call: Call): string {
  const site = callSite(trace, call.callSite);
  return `rank ${rank(trace, call.rank)}: ${call.op}${site ? `, ${site}` : ''}`;
}

/** How long it waited, then for whom: the longest waits. */
function waiting(trace: Session, waits: WaitFact[]): [string, string][] {
  const known = waits.filter((w) => w.ns > 0 && (w.state !== '' || w.causer)).sort((a, b) => b.ns - a.ns);
  const rows = known.slice(0, WAITS_SHOWN).map((w): [string, string] => {
    const causer = w.causer ? `, caused by ${inShort(trace, w.causer)}` : '';
    return [w.state || 'waited', `${duration(w.ns)}${causer}`];
  });
  const more = known.length - rows.length;
  const total = waits.reduce((sum, w) => sum + (w.waits ? w.ns : 0), 0);
  return [
    ['of it waiting', total > 0 ? duration(total) : ''],
    ...rows,
    ['', more > 0 ? `and ${count(more)} more` : ''],
  ];
}

function named(trace: Session, comms: Iterable<number>): string {
  return [...new Set(comms)].map((id) => trace.comms.get(id) ?? `communicator ${id}`).join(', ');
}

/** Of a call that completes or starts messages: with whom, on which communicator, and which of them began last. */
function messages(trace: Session, e: EventThing): [string, string][] {
  const list = e.messages ?? [];
  if (list.length === 0) return [];
  const other = (m: MessageFact) => (m.dst === e.rank ? `from ${m.src}` : `to ${m.dst}`);
  const peers = [...new Set(list.map(other))];
  const more = peers.length - PEERS_SHOWN;
  const received = list.filter((m) => m.dst === e.rank && m.recvEnd === e.start + e.duration);
  const last = received.reduce<MessageFact | null>((a, b) => (!a || b.sendStart > a.sendStart ? b : a), null);
  const left = e.messagesLeftOut ?? 0;
  const total = list.reduce((sum, m) => sum + m.bytes, 0);
  return [
    [
      'messages',
      `${count(list.length + left)}${left > 0 ? `, the first ${count(list.length)} of them` : ''}: ${bytes(total)}`,
    ],
    ['with', `${peers.slice(0, PEERS_SHOWN).join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}`],
    [
      'on',
      named(
        trace,
        list.map((m) => m.comm),
      ),
    ],
    [
      'sent last',
      last && received.length > 1
        ? `the one from rank ${rank(trace, last.src)}, tag ${last.tag}, at ${exactMoment(last.sendStart)}`
        : '',
    ],
  ];
}

function event(trace: Session, e: EventThing): Tip {
  const hasPeer = e.peer !== -1;
  const isWait = e.class === 2;
  return described(e.op, [
    ['rank', rank(trace, e.rank)],
    ['thread', trace.meta.threads > 1 ? String(e.thread) : ''],
    ['class', CLASSES[e.class]!.name],
    ['start', exactMoment(e.start)],
    ['duration', e.open ? openLength(trace.analysis, e.duration) : duration(e.duration)],
    ['waits for', e.open && e.open.needs >= 0 ? `rank ${rank(trace, e.open.needs)}` : ''],
    ...waiting(trace, e.waits ?? []),
    ['calls', e.calls > 1 ? `${count(e.calls)} unsuccessful tests` : ''],
    ['peer', peer(trace, e.peer)],
    ['tag', hasPeer && !e.open ? String(e.tag) : ''],
    ['size', e.open ? '' : size(e.bytes)],
    ['communicator', isWait ? '' : (trace.comms.get(e.comm) ?? '')],
    ...messages(trace, e),
    ['collective', e.collective < 0 ? '' : `number ${count(e.collective + 1)} of this communicator`],
    ['call site', callSite(trace, e.callSite)],
  ]);
}

function message(trace: Session, m: MessageThing): Tip {
  const waited = m.sendStart - m.completionStart;
  return described(`Message ${m.src} → ${m.dst}`, [
    ['from', rank(trace, m.src)],
    ['to', rank(trace, m.dst)],
    ['size', `${bytes(m.bytes)} (${count(m.bytes)} bytes)`],
    ['tag', String(m.tag)],
    ['sent', exactMoment(m.sendStart)],
    ['received', exactMoment(m.recvEnd)],
    ['under way', duration(m.recvEnd - m.sendStart)],
    ['receiver waited', waited > 0 ? `${duration(waited)} for the send` : ''],
    ['communicator', trace.comms.get(m.comm) ?? ''],
    ['send call site', callSite(trace, m.sendCallSite)],
    ['receive call site', callSite(trace, m.recvCallSite)],
  ]);
}

function collective(trace: Session, c: CollectiveThing): Tip {
  if (c.parts.length === 0) return described(c.op, [['', 'none of its calls is loaded']]);
  const first = c.parts.reduce((a, b) => (b.start < a.start ? b : a));
  const last = c.parts.reduce((a, b) => (b.start > a.start ? b : a));
  const end = (p: Call) => p.start + p.duration;
  const out = c.parts.reduce((a, b) => (end(b) > end(a) ? b : a));
  const lost = c.parts.reduce((sum, p) => sum + Math.min(last.start, end(p)) - p.start, 0);
  const missing = c.members - c.parts.length;
  return described(`${c.op}, all its ranks`, [
    ['number', `${count(c.k + 1)} on ${trace.comms.get(c.comm) ?? `communicator ${c.comm}`}`],
    ['ranks', `${count(c.parts.length)}${missing > 0 ? `; ${count(missing)} more were not found` : ''}`],
    ['first in', `rank ${rank(trace, first.rank)} at ${exactMoment(first.start)}`],
    ['last in', `rank ${rank(trace, last.rank)}, ${duration(last.start - first.start)} later`],
    ['last out', `rank ${rank(trace, out.rank)} at ${exactMoment(end(out))}`],
    ['until the last came', `${duration(lost)} in all ranks together`],
    ['after that', duration(end(out) - last.start)],
  ]);
}

const DESCRIBE: { [K in Thing['kind']]: (trace: Session, thing: never) => Tip } = { event, message, collective };

export function describe(trace: Session, thing: Thing): Tip {
  return DESCRIBE[thing.kind](trace, thing as never);
}
