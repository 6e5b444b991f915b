// follow.ts - from what is picked to what belongs to it: from a message to its calls, from a call to its messages, from a wait to its
// cause, from a part of a collective to all of it. For the panel's buttons and for keys.
import { extentOf, ranksOfThing } from '../model/picked';
import type { Call, Thing } from '../model/picked';
import type { Store } from '../model/state';
import type { Chain } from '../work/chain';
import type { Session } from '../work/session';
import { button } from './tools';

export interface Context {
  trace: Session;
  store: Store;
  /** Bring ranks into view. */
  reveal(ranks: number[]): void;
  /** How it came to what is picked has become known, or is forgotten. */
  showChain(chain: Chain | null): void;
  announce(text: string): void;
  fail(error: unknown): void;
}

/** The call that was waited for longest, if that is known. */
export function causeOf(thing: Thing): Call | null {
  if (thing.kind !== 'event') return null;
  const [longest] = (thing.waits ?? []).filter((w) => w.causer && w.ns > 0).sort((a, b) => b.ns - a.ns);
  return longest?.causer ?? null;
}

/** Show two things at once and pick one. */
export function goTo(c: Context, ref: string, ranks: number[], times: number[]): void {
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const air = Math.max(50, (last - first) * 0.2);
  c.store.set({ picked: ref, view: 'timeline' });
  c.store.showInterval(first - air, last + air);
  c.reveal(ranks);
}

export function links(c: Context, thing: Thing, collective: Thing | null): HTMLElement[] {
  const [start, end] = extentOf(thing);
  const buttons: HTMLElement[] = [];
  const cause = causeOf(thing);
  if (cause && thing.kind === 'event') {
    const times = [start, end, cause.start, cause.start + cause.duration];
    const go = () => goTo(c, cause.ref, [cause.rank, thing.rank], times);
    buttons.push(button('Go to the cause', 'Select the call that was waited for longest', go));
  }
  if (collective && collective.ref !== thing.ref) {
    const go = () => goTo(c, collective.ref, ranksOfThing(collective), extentOf(collective));
    buttons.push(button('All its ranks', 'Select this collective operation on all its ranks', go));
  }
  if (thing.kind === 'message')
    for (const [label, call] of [['Its send', thing.sendCall] as const, ['Its receive', thing.receiveCall] as const]) {
      if (!call) continue;
      const times = [start, end, call.start, call.start + call.duration];
      const go = () => goTo(c, call.ref, [thing.src, thing.dst], times);
      buttons.push(button(label, `Select the call: ${label.toLowerCase()}`, go));
    }
  if (thing.kind === 'collective' && thing.parts.length > 0) {
    const last = thing.parts.reduce((a, b) => (b.start > a.start ? b : a));
    buttons.push(
      button('Last in', 'Select the call of the rank that came last', () => c.store.set({ picked: last.ref })),
    );
  }
  return buttons;
}

/** From a call to its message (of several the one sent last), from a message to the call at its other end: the receive, then the send. */
export function follow(c: Context, thing: Thing | null, from: string): void {
  if (thing?.kind === 'event' && thing.messages?.length) {
    const m = thing.messages.reduce((a, b) => (b.sendStart > a.sendStart ? b : a));
    return goTo(c, m.ref, [m.src, m.dst], [m.sendStart, m.recvEnd]);
  }
  if (thing?.kind === 'message') {
    const ends = [thing.receiveCall, thing.sendCall].filter((call) => call !== null && call !== undefined);
    const call = ends.find((x) => x.ref !== from) ?? ends[0];
    if (call)
      return goTo(c, call.ref, [thing.src, thing.dst], [...extentOf(thing), call.start, call.start + call.duration]);
  }
  c.announce('nothing to follow: pick a call that sends, receives or waits, or a message');
}

export function goToCause(c: Context, thing: Thing | null): void {
  const cause = thing && causeOf(thing);
  if (!thing || !cause) return c.announce('no cause is known: pick a call that waited');
  goTo(
    c,
    cause.ref,
    [cause.rank, ...ranksOfThing(thing)],
    [...extentOf(thing), cause.start, cause.start + cause.duration],
  );
}
