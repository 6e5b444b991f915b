// mprov.ts - MPROV's logs: `process:E=number:S:destination:line;` for a send, `process:E=number:R:source:line;` for a receive. Read, joined
// and given times of a logical clock as `mpitrace import --from mprov` does (postproc/protocol/import_mprov.c), with the same error texts.

const RANKS_MAX = 1 << 20;
const NUMBER_MAX = (1 << 27) - 1;
const LINE_MAX = 2147483647;
const EVENTS_MAX = 1_000_000; // that a page makes a trace of
const FORM = 'process:E=number:S:process:line;';
const NEWLINE = 10;
export const TICK_NS = 1000;

export interface LogEvent {
  sends: boolean;
  peer: number;
  line: number;
  ns: number;
  partner: number; // event of the peer; -1: nobody
}

/** A message: events of two ranks. */
export interface LogLink {
  src: number;
  send: number;
  dst: number;
  receive: number;
}

export interface Log {
  ranks: LogEvent[][];
  links: LogLink[]; // by source, then by destination
  events: number;
  unmatchedSends: number;
  unmatchedReceives: number;
}

/** A log that is wrong: the message names file and line. */
export class LogError extends Error {}

interface Entry {
  process: number;
  number: number;
  peer: number;
  line: number;
  at: number; // line of the file
  sends: boolean;
}

const isBlank = (byte: number) => byte === 0x20 || (byte >= 9 && byte <= 13);
const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39;

class Reader {
  private at = 0;
  private line = 1;

  constructor(
    private readonly name: string,
    private readonly bytes: Uint8Array,
  ) {}

  private get next(): number | undefined {
    return this.bytes[this.at];
  }

  private advance(): void {
    if (this.bytes[this.at] === NEWLINE) this.line++;
    this.at++;
  }

  private skipBlank(): void {
    while (this.at < this.bytes.length && isBlank(this.bytes[this.at]!)) this.advance();
  }

  private wrong(what: string): LogError {
    const { next } = this;
    const place = `${this.name}:${this.line}: `;
    if (next === undefined) return new LogError(`${place}the file ends where ${what} should be; an entry is ${FORM}`);
    const isSeen = next > 0x20 && next < 0x7f;
    const found = isSeen ? `'${String.fromCharCode(next)}'` : `byte 0x${next.toString(16).padStart(2, '0')}`;
    return new LogError(`${place}${found} where ${what} should be; an entry is ${FORM}`);
  }

  private take(text: string, what = `"${text}"`): void {
    for (let i = 0; i < text.length; i++) {
      this.skipBlank();
      if (this.next !== text.charCodeAt(i)) throw this.wrong(what);
      this.advance();
    }
  }

  private takeNumber(most: number, what: string): number {
    let n = 0;
    this.skipBlank();
    if (!isDigit(this.next)) throw this.wrong(what);
    for (; isDigit(this.next); this.advance()) {
      n = n * 10 + this.next! - 0x30;
      if (n > most) throw new LogError(`${this.name}:${this.line}: ${what} is over the limit of ${most}`);
    }
    return n;
  }

  private takeKind(): boolean {
    this.skipBlank();
    const { next } = this;
    if (next !== 0x53 && next !== 0x52) throw this.wrong('S or R');
    this.advance();
    return next === 0x53;
  }

  private takeEntry(): Entry {
    const at = this.line;
    const process = this.takeNumber(RANKS_MAX - 1, 'a process');
    this.take(':E=');
    const number = this.takeNumber(NUMBER_MAX, 'an event number');
    this.take(':');
    const sends = this.takeKind();
    this.take(':');
    const peer = this.takeNumber(RANKS_MAX - 1, 'a process');
    this.take(':');
    const line = this.takeNumber(LINE_MAX, 'a source line');
    this.take(';');
    return { process, number, peer, line, at, sends };
  }

  entries(): Entry[] {
    const list: Entry[] = [];
    for (this.skipBlank(); this.next !== undefined; this.skipBlank()) {
      if (list.length === EVENTS_MAX)
        throw new LogError(
          `${this.name}:${this.line}: more than ${EVENTS_MAX} events; mpitrace import --from mprov reads more`,
        );
      list.push(this.takeEntry());
    }
    if (list.length === 0) throw new LogError(`${this.name}: no entry in it, such as 0:E=0:S:1:12;`);
    return list;
  }
}

function ranksOf(name: string, entries: Entry[]): LogEvent[][] {
  const last = entries.reduce((most, e) => Math.max(most, e.process, e.peer), 0);
  const ranks: LogEvent[][] = Array.from({ length: last + 1 }, () => []);
  entries.sort((a, b) => a.process - b.process || a.number - b.number || a.at - b.at);
  for (const { process, number, peer, line, at, sends } of entries) {
    const events = ranks[process]!;
    const place = `${name}:${at}: `;
    if (number < events.length) throw new LogError(`${place}event ${number} of process ${process} is there twice`);
    if (number > events.length)
      throw new LogError(`${place}process ${process} has an event ${number}, but no event ${events.length}`);
    events.push({ sends, peer, line, ns: 0, partner: -1 });
  }
  return ranks;
}

/** The k-th send to a process meets the k-th receive there from the sender. */
function join(ranks: LogEvent[][]): Omit<Log, 'ranks' | 'events'> {
  const links: LogLink[] = [];
  const receives: Map<number, number[]>[] = ranks.map((events) => {
    const from = new Map<number, number[]>();
    events.forEach((x, i) => x.sends || (from.get(x.peer) ?? from.set(x.peer, []).get(x.peer)!).push(i));
    return from;
  });
  let unmatchedSends = 0;
  ranks.forEach((events, src) => {
    const next = new Map<number, number>();
    events.forEach((x, send) => {
      if (!x.sends) return;
      const k = next.get(x.peer) ?? 0;
      next.set(x.peer, k + 1);
      const receive = receives[x.peer]!.get(src)?.[k];
      if (receive === undefined) {
        unmatchedSends++;
        return;
      }
      links.push({ src, send, dst: x.peer, receive });
      x.partner = receive;
      ranks[x.peer]![receive]!.partner = send;
    });
  });
  links.sort((a, b) => a.src - b.src || a.dst - b.dst || a.send - b.send);
  const all = ranks.reduce((n, events) => n + events.reduce((m, x) => m + Number(!x.sends), 0), 0);
  return { links, unmatchedSends, unmatchedReceives: all - links.length };
}

/** Lamport's clock: an event is after the one before it on its process, a receive after its send. */
function setTimes(name: string, ranks: LogEvent[][]): void {
  const next = new Uint32Array(ranks.length);
  const ready = ranks.map((_, rank) => rank).reverse();
  for (let rank = ready.pop(); rank !== undefined; rank = ready.pop()) {
    const events = ranks[rank]!;
    for (let i = next[rank]!; i < events.length; i++) {
      const x = events[i]!;
      const waits = !x.sends && x.partner >= 0;
      if (waits && x.partner >= next[x.peer]!) break;
      const before = i > 0 ? events[i - 1]!.ns + TICK_NS : 0;
      x.ns = waits ? Math.max(before, ranks[x.peer]![x.partner]!.ns + TICK_NS) : before;
      next[rank] = i + 1;
      if (x.sends && x.partner >= 0) ready.push(x.peer);
    }
  }
  const stuck = ranks.findIndex((events, rank) => next[rank]! < events.length);
  if (stuck >= 0)
    throw new LogError(
      `${name}: no order of events is possible: process ${stuck} waits in event ${next[stuck]} for a message that is sent only after it`,
    );
}

/** Does a file begin as a log does? */
export function isLog(head: Uint8Array): boolean {
  const first = head.findIndex((byte) => !isBlank(byte));
  return first >= 0 && isDigit(head[first]);
}

export function readLog(name: string, bytes: Uint8Array): Log {
  const entries = new Reader(name, bytes).entries();
  const ranks = ranksOf(name, entries);
  const joined = join(ranks);
  setTimes(name, ranks);
  return { ranks, events: entries.length, ...joined };
}
