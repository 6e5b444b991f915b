// server.ts - the side of the worker: opens the trace, runs queries by priority, gives up those that nobody wants any more.
import { Cancelled } from '../io/chunks';
import { sourceOf } from '../io/source';
import type { SourceName } from '../io/source';
import { Trace } from '../model/trace';
import { QUERIES } from './queries';
import type { Query, Run } from './queries';

export type ToServer =
  | { what: 'open'; id: number; source: SourceName }
  | { what: 'ask'; id: number; query: Query; given: unknown }
  | { what: 'cancel'; id: number };

export interface FromServer {
  id: number;
  value?: unknown;
  last: boolean;
  error?: string;
  bytesRead: number;
  chunksRead: number;
}

interface Task {
  id: number;
  query: Query;
  given: unknown;
  priority: number;
  abort: AbortController;
}

const URGENT = 1;
const PROGRESS_MS = 200;

export class Server {
  private trace: Trace | null = null;
  private opening = Promise.resolve();
  private readonly waiting: Task[] = [];
  private readonly running = new Map<number, Task>();
  private saidAt = 0;

  constructor(private readonly post: (message: FromServer) => void) {}

  /** Queries under way. */
  get active(): number {
    return this.running.size;
  }

  receive(m: ToServer): void {
    if (m.what === 'open') this.opening = this.open(m.id, m.source);
    else if (m.what === 'cancel') this.cancel(m.id);
    else {
      const { priority } = QUERIES[m.query];
      this.waiting.push({ id: m.id, query: m.query, given: m.given, priority, abort: new AbortController() });
      this.waiting.sort((a, b) => a.priority - b.priority || a.id - b.id);
      this.startNext();
    }
  }

  private say(id: number, last: boolean, rest: { value?: unknown; error?: string }): void {
    const { bytesRead, chunksRead } = this.trace?.chunks ?? { bytesRead: 0, chunksRead: 0 };
    this.saidAt = performance.now();
    this.post({ id, last, ...rest, bytesRead, chunksRead });
  }

  /** Long work shows progress: an answer to nobody. */
  private sayRead(): void {
    if (this.running.size > 0 && performance.now() - this.saidAt >= PROGRESS_MS) this.say(0, false, {});
  }

  private fail(id: number, error: unknown): void {
    this.say(id, true, { error: error instanceof Error ? error.message : String(error) });
  }

  private async open(id: number, name: SourceName): Promise<void> {
    try {
      // the page parses the analysis while this thread does: that is faster than to be given what was parsed
      this.trace = await Trace.open(sourceOf(name), (known) => this.say(id, true, { value: known }));
      this.trace.chunks.onRead = () => this.sayRead();
    } catch (error) {
      this.fail(id, error);
    }
  }

  private cancel(id: number): void {
    const at = this.waiting.findIndex((t) => t.id === id);
    if (at >= 0) this.waiting.splice(at, 1);
    this.running.get(id)?.abort.abort(new Cancelled('cancelled'));
  }

  /** Urgent ones at once; of the others one at a time, and none beside urgent ones. */
  private startNext(): void {
    for (let task = this.waiting[0]; task; task = this.waiting[0]) {
      if (task.priority > URGENT && this.running.size > 0) return;
      this.waiting.shift();
      void this.run(task);
    }
  }

  private async run(task: Task): Promise<void> {
    this.running.set(task.id, task);
    const { signal } = task.abort;
    try {
      await this.opening; // who asks may know of the trace before it can be read here
      if (!this.trace) throw new Error('There is no trace.');
      const run = QUERIES[task.query].run as Run<Query>;
      const say = (value: unknown) => !signal.aborted && this.say(task.id, false, { value });
      const value = await run(this.trace, task.given as never, signal, say);
      if (!signal.aborted) this.say(task.id, true, { value });
    } catch (error) {
      if (!signal.aborted) this.fail(task.id, error);
    } finally {
      this.running.delete(task.id);
      this.startNext();
    }
  }
}
