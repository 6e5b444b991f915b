// session.ts - the side of the page: an open trace as views know it. What is large stays in the worker; asked is by query, answered
// with plain facts. Who asks anew gives up what he asked before.
import type { Meta } from '../decode/meta';
import type { Source } from '../io/source';
import { callSites, communicators, list, num, parseJson, str } from '../model/analysis';
import type { Alike } from '../model/alike';
import type { CallSite, Json } from '../model/analysis';
import { recordedUntilOf } from '../model/open';
import type { Raw } from '../model/trace';
import type { Queries, Query } from './queries';
import type { FromServer, ToServer } from './server';

interface Asked {
  asker: string;
  take(value: never, last: boolean): void;
  refuse(error: Error): void;
}

/** Where queries go. */
interface Line {
  send(message: ToServer): void;
  close(): void;
}

let spare: Worker | null = null;

function newWorker(code: string): Worker {
  const url = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
  const worker = new Worker(url);
  URL.revokeObjectURL(url);
  return worker;
}

/** Let a worker start while it is being found out what to open. */
export function prepare(code: string): void {
  if (code !== '') spare ??= newWorker(code);
}

function workerLine(code: string, receive: (m: FromServer) => void, broken: (why: string) => void): Line {
  const worker = spare ?? newWorker(code);
  spare = null;
  worker.onmessage = (e: MessageEvent<FromServer>) => receive(e.data);
  worker.onerror = (e) => broken(e.message || 'The worker stopped.');
  return { send: (m) => worker.postMessage(m), close: () => worker.terminate() };
}

export class Session {
  meta!: Meta;
  version = 0;
  analysis: Json = null;
  callSites = new Map<number, CallSite>();
  comms = new Map<number, string>();
  nodes: string[] = []; // by rank
  laneRecordedUntil: Float64Array = new Float64Array(); // by lane, ns: from then on single calls are missing
  alike: Alike | null = null; // ranks that do the same, once a view has asked
  bytesRead = 0;
  chunksRead = 0;
  watch: () => void = () => undefined; // something was asked, answered or given up, or more was read
  isPart = false; // most of its calls are somewhere else
  private readonly asked = new Map<number, Asked>();
  private readonly last = new Map<string, number>(); // by asker
  private nextId = 1;
  private readonly line: Line;

  private constructor(
    readonly name: string,
    code: string,
  ) {
    this.line = workerLine(
      code,
      (m) => this.receive(m),
      (why) => this.breakDown(why),
    );
  }

  /** code: of the worker. */
  static async open(source: Source, code: string): Promise<Session> {
    const session = new Session(source.name, code);
    try {
      const { version, meta, text } = await session.sendOpen(source);
      const analysis = parseJson(text);
      Object.assign(session, { version, meta, analysis, isPart: source.has !== undefined });
      session.laneRecordedUntil = recordedUntilOf(analysis, meta);
      session.callSites = callSites(analysis);
      session.comms = communicators(analysis, meta.ranks);
      for (const x of list(analysis, 'per_rank')) session.nodes[num(x, 'rank') ?? -1] = str(x, 'node');
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /** Queries that are not answered to the end. */
  get busy(): number {
    return this.asked.size;
  }

  private sendOpen(source: Source): Promise<Raw> {
    return new Promise((take, refuse) => {
      const id = this.nextId++;
      this.asked.set(id, { asker: '', take, refuse });
      this.line.send({ what: 'open', id, source: source.named() });
    });
  }

  /** Ask; what the same asker asked before is given up. take() may be called with parts before the last. */
  ask<Q extends Query>(
    asker: string,
    query: Q,
    given: Queries[Q]['given'],
    take: (answer: Queries[Q]['answer'], last: boolean) => void,
    refuse: (error: Error) => void,
  ): void {
    this.forget(asker);
    const id = this.nextId++;
    this.asked.set(id, { asker, take, refuse });
    this.last.set(asker, id);
    this.line.send({ what: 'ask', id, query, given });
    this.watch();
  }

  giveUp(asker: string): void {
    this.forget(asker);
    this.watch();
  }

  /** By a view: its name, or a name that begins with it, asked. */
  isAsked(view: string): boolean {
    for (const { asker } of this.asked.values()) if (asker === view || asker.startsWith(`${view} `)) return true;
    return false;
  }

  private forget(asker: string): void {
    const id = this.last.get(asker);
    if (id === undefined || !this.asked.delete(id)) return;
    this.line.send({ what: 'cancel', id });
  }

  private receive(m: FromServer): void {
    [this.bytesRead, this.chunksRead] = [m.bytesRead, m.chunksRead];
    const asked = this.asked.get(m.id);
    if (!asked) return this.watch();
    if (m.last) this.asked.delete(m.id);
    this.watch();
    if (m.error !== undefined) asked.refuse(new Error(m.error));
    else asked.take(m.value as never, m.last);
  }

  private breakDown(why: string): void {
    const all = [...this.asked.values()];
    this.asked.clear();
    for (const asked of all) asked.refuse(new Error(why));
  }

  close(): void {
    this.asked.clear();
    this.line.close();
  }
}
