// instance.ts - the worst instance of an issue: of what it is about, the longest wait (or else the longest call) of its ranks, at its call
// sites, in its time. What opens it shows minutes of a run in milliseconds.
import type { Entry } from '../decode/layout';
import type { EventRef } from '../decode/records';
import { NOWHERE } from '../decode/records';
import { How, isWaiting } from '../decode/waits';
import type { Issue } from '../model/analysis';
import { Cursor } from '../model/messages';
import type { EventThing } from '../model/picked';
import type { Trace } from '../model/trace';
import { waitLength } from '../model/waits';
import { wholeEvent } from './things';

const CHUNKS_MAX = 96; // of waits, those with most records first

interface Worst {
  at: EventRef;
  ns: number;
}

async function worstWait(trace: Trace, e: Entry, issue: Issue, least: number): Promise<Worst | null> {
  const w = await trace.waits(e);
  const list: number[] = [];
  const ranks = new Set(issue.ranks);
  const pairs = new Set(issue.pairs.map(([a, b]) => `${a} ${b}`));
  for (let k = 0; k < w.count; k++) {
    if (w.how[k] === How.Bytes || !isWaiting(w.state[k]!) || w.at.window[k] === NOWHERE) continue;
    if (w.how[k] === How.Ns && w.ns[k]! <= least) continue;
    const rank = trace.rankOfLane(w.at.lane[k]!);
    const causer = w.causer.window[k] === NOWHERE ? -1 : trace.rankOfLane(w.causer.lane[k]!);
    const concerned = ranks.size === 0 || ranks.has(rank) || ranks.has(causer);
    if (concerned && (pairs.size === 0 || pairs.has(`${causer} ${rank}`))) list.push(k);
  }
  const parts = await trace.partsFor(w, list);
  const [at, its] = [new Cursor(parts), new Cursor(parts)];
  const sites = new Set(issue.callSites);
  let best = null as Worst | null;
  for (const k of list) {
    at.find(w.at, k);
    const causer = w.how[k] === How.Ns || w.causer.window[k] === NOWHERE ? null : its.find(w.causer, k);
    const ns = waitLength(w.how[k]!, w.ns[k]!, at, causer);
    const site = at.chunk.signatures.callSite[at.signature]!;
    const { chunk, index } = at;
    if (ns > Math.max(least, best?.ns ?? 0) && (sites.size === 0 || sites.has(site)))
      best = { at: { chunk, index }, ns };
  }
  return best;
}

export async function worstInstance(trace: Trace, issue: Issue, signal: AbortSignal): Promise<EventThing | null> {
  const [from, to] = issue.window ?? [-Infinity, Infinity];
  const last = trace.meta.ranks - 1;
  const all = trace.waitEntriesOf(from, to, 0, last).sort((a, b) => b.records - a.records);
  for (const narrow of [true, false]) {
    // the call sites of some issues are those of the cause: then any wait of theirs
    const asked = narrow ? issue : { ...issue, callSites: [], pairs: [] };
    let best = null as Worst | null;
    for (const e of all.slice(0, CHUNKS_MAX)) {
      signal.throwIfAborted();
      best = (await worstWait(trace, e, asked, best?.ns ?? 0)) ?? best;
    }
    if (best) return wholeEvent(trace, best.at);
  }
  return null;
}
