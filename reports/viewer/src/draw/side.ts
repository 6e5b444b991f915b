// side.ts - the panel beside the views: what is picked, statistics of the interval, the issues, where the time went.
import { issues, str } from '../model/analysis';
import type { Issue } from '../model/analysis';
import { extentOf, ranksOfThing } from '../model/picked';
import type { Thing } from '../model/picked';
import { scopeOf } from '../model/state';
import { count, duration, plural } from '../layout/format';
import { operationsOf } from '../model/open';
import type { Session } from '../work/session';
import type { Stats } from '../work/stats';
import { ChainList } from './chain';
import { describe } from './describe';
import { fill, h } from './dom';
import { causeOf, goTo, links } from './follow';
import type { Context } from './follow';
import { callsWithOpen, openHint, statistics } from './statistics';
import { button } from './tools';

const OPERATIONS_SHOWN = 14;

export interface Panel {
  element: HTMLElement;
  /** What is picked, and the collective that it is a part of. */
  pick(thing: Thing | null, collective: Thing | null): void;
  /** Look for how it came to what is picked. */
  askChain(): void;
  /** Open the worst instance of the n-th issue. */
  openIssue(n: number): void;
  destroy(): void;
}

function messageList(c: Context, thing: Thing): HTMLElement | null {
  if (thing.kind !== 'event' || !thing.messages?.length) return null;
  const items = thing.messages.slice(0, 8).map((m) => {
    const go = () => goTo(c, m.ref, [m.src, m.dst], [m.sendStart, m.recvEnd]);
    return button(m.dst === thing.rank ? `← ${m.src}` : `→ ${m.dst}`, `Go to the message ${m.src} to ${m.dst}`, go);
  });
  return h('div', { class: 'group wrap' }, ...items);
}

function picked(c: Context, thing: Thing | null, collective: Thing | null): (HTMLElement | null)[] {
  if (!thing)
    return [
      h(
        'p',
        { class: 'hint' },
        'Click a call or a message to see all about it. Drag pans, the wheel zooms, shift-drag marks an interval, ' +
          'alt-wheel changes the height of the rows; ? shows all keys.',
      ),
    ];
  const tip = describe(c.trace, thing);
  const [start, end] = extentOf(thing);
  const air = Math.max(50, (end - start) * 0.4);
  const zoom = () => {
    c.store.showInterval(start - air, end + air);
    c.reveal(ranksOfThing(thing));
  };
  return [
    h('h3', {}, tip.title),
    h('dl', {}, ...tip.rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    messageList(c, thing),
    h(
      'div',
      { class: 'group wrap' },
      button('Zoom to it', 'Zoom to it', zoom),
      ...links(c, thing, collective),
      button('Clear', 'Clear the selection (Escape)', () => c.store.set({ picked: '' })),
    ),
  ];
}

function openInstance(c: Context, issue: Issue): void {
  const show = () => {
    if (issue.window) c.store.showInterval(issue.window[0], issue.window[1]);
    c.store.set({ selected: new Set(issue.ranks), view: 'timeline' });
    if (issue.ranks.length > 0) c.reveal(issue.ranks);
  };
  const take = (thing: Thing | null) => {
    if (thing?.kind !== 'event') return show();
    const cause = causeOf(thing);
    const times = [...extentOf(thing), ...(cause ? [cause.start, cause.start + cause.duration] : [])];
    goTo(c, thing.ref, cause ? [thing.rank, cause.rank] : [thing.rank], times);
    c.store.set({ selected: new Set(issue.ranks) });
  };
  c.trace.ask('instance', 'instance', issue, take, c.fail);
}

function issueItem(c: Context, issue: Issue): HTMLElement {
  const show = () => {
    if (issue.window) c.store.showInterval(issue.window[0], issue.window[1]);
    c.store.set({ selected: new Set(issue.ranks), view: 'timeline' });
    if (issue.ranks.length > 0) c.reveal(issue.ranks);
  };
  const can = issue.window !== null || issue.ranks.length > 0;
  const lost = issue.loss > 0 ? h('span', { class: 'loss' }, `${duration(issue.loss * 1e9)} lost`) : null;
  return h(
    'li',
    { class: `issue ${issue.severity}` },
    h('h3', {}, h('span', { class: 'name' }, issue.title), lost),
    issue.what ? h('p', {}, issue.what) : null,
    issue.why ? h('p', {}, issue.why) : null,
    issue.next ? h('p', { class: 'next' }, issue.next) : null,
    h(
      'div',
      { class: 'group' },
      can ? button('Show', `Show ${issue.title} in the timeline`, show) : null,
      c.trace.meta.waits > 0
        ? button('Worst', `Show the worst instance of ${issue.title}`, () => openInstance(c, issue))
        : null,
    ),
  );
}

function operations(trace: Session): HTMLElement {
  const rows = operationsOf(trace.analysis).sort((a, b) => (b.time ?? 0) - (a.time ?? 0));
  const most = rows[0]?.time || 1;
  const bar = (time: number | undefined) => {
    const inner = h('span', {});
    inner.style.width = `${((time ?? 0) / most) * 100}%`;
    return h('span', { class: 'bar' }, inner);
  };
  const time = (t: number | undefined) => (t === undefined ? 'not known' : duration(t * 1e9));
  const table = h(
    'table',
    { class: 'ops' },
    h(
      'thead',
      {},
      h('tr', {}, h('th', {}, 'operation'), h('th', { class: 'n' }, 'calls'), h('th', { class: 'n' }, 'time')),
    ),
    h(
      'tbody',
      {},
      ...rows
        .slice(0, OPERATIONS_SHOWN)
        .map((r) =>
          h(
            'tr',
            {},
            h('td', {}, r.op, bar(r.time)),
            h('td', { class: 'n' }, callsWithOpen(r.calls, r.open)),
            h('td', { class: 'n' }, time(r.time)),
          ),
        ),
    ),
  );
  const key = rows.some((r) => r.open > 0) && h('p', { class: 'open-key' }, openHint(trace.analysis));
  const left = rows.length - OPERATIONS_SHOWN;
  return h('div', {}, table, left > 0 && h('p', { class: 'hint' }, `and ${count(left)} more`), key);
}

/** Statistics of the marked interval, asked for anew when it, the ranks or the filter change. */
class Marked {
  readonly element = h('section', { 'aria-label': 'Interval' });
  private key = '';

  constructor(private readonly c: Context) {}

  update(): void {
    const { store, trace } = this.c;
    const { markFrom, markTo } = store.state;
    const query = { ...scopeOf(store.state), from: markFrom, to: markTo };
    const key = markTo > markFrom ? JSON.stringify(query) : '';
    if (key === this.key) return;
    this.key = key;
    this.element.hidden = key === '';
    if (key === '') return trace.giveUp('stats');
    this.put(h('p', { class: 'hint' }, 'loading …'));
    const take = (s: Stats) => this.put(statistics(trace, s, store.state.selected, this.c.announce));
    trace.ask('stats', 'stats', query, take, (error) => this.put(h('p', { class: 'hint' }, error.message)));
  }

  private put(body: HTMLElement): void {
    const { store } = this.c;
    const { markFrom, markTo, selected } = store.state;
    const who = selected.size > 0 ? `, ${plural(selected.size, 'rank')} selected` : '';
    fill(
      this.element,
      h('h2', {}, `Interval${who}`),
      body,
      h(
        'div',
        { class: 'group' },
        button('Zoom to it', 'Zoom to the marked interval', () => store.showInterval(markFrom, markTo)),
        button('Clear', 'Clear the marked interval', () => store.set({ markFrom: 0, markTo: 0 })),
      ),
    );
  }
}

export function side(c: Context): Panel {
  const chain = new ChainList(c);
  const { trace, store } = c;
  const selection = h('section', { class: 'selection', 'aria-label': 'Selection' });
  const found = issues(trace.analysis);
  const marked = new Marked(c);
  marked.element.hidden = true;
  const pick = (thing: Thing | null, collective: Thing | null) => {
    chain.put(thing);
    fill(selection, h('h2', {}, 'Selection'), ...picked(c, thing, collective), chain.element);
  };
  pick(null, null);
  store.subscribe(() => marked.update());
  const element = h(
    'aside',
    { class: 'side' },
    selection,
    marked.element,
    h(
      'section',
      {},
      h('h2', {}, 'Issues'),
      found.length
        ? h('ol', {}, ...found.map((x) => issueItem(c, x)))
        : h('p', { class: 'hint' }, str(trace.analysis, 'job', 'imported') ? 'Not analysed.' : 'Nothing to fix.'),
    ),
    h('section', {}, h('h2', {}, 'Where the time went'), operations(trace)),
  );
  marked.update();
  return {
    element,
    pick,
    askChain: () => chain.ask(),
    openIssue: (n) => found[n] && openInstance(c, found[n]),
    destroy: () => ['stats', 'instance', 'chain'].forEach((asker) => trace.giveUp(asker)),
  };
}
