// live.ts - a running step, from `mpitrace live --view` (docs/LIVE.md): JSON when it is asked for, and a stream that says when to ask.

async function json(path: string): Promise<unknown> {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

/** Null when there is none (any more). */
const jsonOrNull = (path: string): Promise<unknown> => json(path).catch(() => null);

export const liveSummary = (since: number): Promise<unknown> => json(`summary?since=${since}`);
export const liveNow = (): Promise<unknown> => json('now');
export const liveSample = (number: number): Promise<unknown> => jsonOrNull(`samples/${number}`);
/** Asks for the events so far; the stream says when they are there. */
export const askTimeline = (): Promise<unknown> => json('timeline');

export interface LiveEvents {
  sample(): void; // there are new ones; also after a connection that was lost, when there may be
  timeline(said: unknown): void;
  end(): void;
  connected(is: boolean): void;
}

/** The browser connects anew by itself. Returns how to end it. */
export function listen(to: LiveEvents): () => void {
  const stream = new EventSource('events');
  stream.addEventListener('open', () => (to.connected(true), to.sample()));
  stream.addEventListener('error', () => to.connected(false));
  stream.addEventListener('sample', () => to.sample());
  stream.addEventListener('timeline', (e: MessageEvent) => to.timeline(JSON.parse(String(e.data))));
  stream.addEventListener('end', () => to.end());
  return () => stream.close();
}
