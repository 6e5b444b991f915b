// chain.ts - how it came to a wait, as a list: who waited, for how long, for whom, and what that one had waited for before. Asked for by
// a button or a key; the timeline draws the same.
import { duration } from '../layout/format';
import type { Thing } from '../model/picked';
import type { Chain, ChainStep } from '../work/chain';
import { fill, h } from './dom';
import { goTo } from './follow';
import type { Context } from './follow';
import { button, choice } from './tools';

const STEPS = [
  ['3', '3 steps'],
  ['10', '10 steps'],
  ['30', '30 steps'],
] as const;

const ENDS: Record<Chain['end'], string> = {
  begin: 'No rank waited before that.',
  steps: 'Goes on.',
  cause: 'Its causer is not known.',
};

export class ChainList {
  readonly element = h('div', { class: 'chain' });
  private readonly list = h('ol', { class: 'steps' });
  private readonly steps;
  private number = '10';
  private ref = '';
  private readonly along = new Set<string>(); // what was asked about, and the calls that lead there

  constructor(private readonly c: Context) {
    this.steps = choice('', 'How many steps back', STEPS, (value) => ((this.number = value), this.ask()));
    this.steps.put(this.number);
    const back = button('How this wait came about', 'Follow waits back to their causes, several steps (B)', () =>
      this.ask(),
    );
    this.element.append(h('div', { class: 'group' }, back, this.steps.element), this.list);
    this.element.hidden = true;
  }

  /** What is picked; what it came from stays while one goes along it, and is forgotten with what is no part of it. */
  put(thing: Thing | null): void {
    this.element.hidden = thing?.kind !== 'event';
    this.ref = thing?.kind === 'event' ? thing.ref : '';
    if (thing === null || !this.along.has(thing.ref)) this.forget();
  }

  private forget(): void {
    if (this.along.size === 0) return;
    this.along.clear();
    this.c.trace.giveUp('chain');
    fill(this.list);
    this.c.showChain(null);
  }

  ask(): void {
    const { c } = this;
    if (this.ref === '') return c.announce('pick a call first');
    this.along.clear();
    this.along.add(this.ref);
    fill(this.list, h('li', { class: 'hint' }, 'looking …'));
    const query = { ref: this.ref, steps: Number(this.number) };
    c.trace.ask('chain', 'chain', query, (chain) => this.take(chain), c.fail);
  }

  private take(chain: Chain): void {
    this.c.showChain(chain);
    for (const { waiter, cause } of chain.steps) this.along.add(waiter.ref).add(cause.ref);
    const [first] = chain.steps;
    if (!first) return fill(this.list, h('li', { class: 'hint' }, 'There is no wait with a known cause before it.'));
    const items = chain.steps.map((step, n) => this.item(step, n));
    fill(this.list, ...items, h('li', { class: 'hint' }, ENDS[chain.end]));
    this.c.announce(`${chain.steps.length} steps back, to rank ${chain.steps[chain.steps.length - 1]!.cause.rank}`);
  }

  private item({ waiter, waitNs, state, cause }: ChainStep, n: number): HTMLElement {
    const times = [waiter.start, waiter.start + waiter.duration, cause.start, cause.start + cause.duration];
    const go = (ref: string) => () => goTo(this.c, ref, [waiter.rank, cause.rank], times);
    return h(
      'li',
      {},
      `${n + 1}. `,
      button(`rank ${waiter.rank} ${waiter.op}`, 'Go to the call that waited', go(waiter.ref)),
      ` waited ${duration(waitNs)} (${state}) for `,
      button(`rank ${cause.rank} ${cause.op}`, 'Go to the call that caused it', go(cause.ref)),
    );
  }
}
