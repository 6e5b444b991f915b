// side.ts - the panel beside the views: what is picked, the issues, where the time went.
import { segmentOf } from '../decode/records';
import { issues, list, num, str } from '../model/analysis';
import type { Issue, Json } from '../model/analysis';
import type { Picked, Store } from '../model/state';
import type { Trace } from '../model/trace';
import { count, duration } from '../layout/format';
import { describe } from './describe';
import { fill, h } from './dom';
import { button } from './tools';

/** From when to when, in ns. */
function extent(picked: Picked): [number, number] {
  const { index: i } = picked;
  if (picked.kind === 'message') return [picked.chunk.sendStart[i]!, picked.chunk.recvEnd[i]!];
  return [picked.chunk.start[i]!, picked.chunk.start[i]! + picked.chunk.duration[i]!];
}

/** What a call waited for longest, if that is known. */
function causeOf(picked: Picked): Picked | null {
  if (picked.kind !== 'event') return null;
  const [longest] = (picked.waits ?? []).filter((w) => w.causer && w.ns > 0).sort((a, b) => b.ns - a.ns);
  return longest ? { kind: 'event', ...longest.causer! } : null;
}

/** The first row, so that both calls are in view where they are near each other. */
function topRank(...both: Picked[]): number {
  const ranks = both.map((p) => (p.kind === 'event' ? segmentOf(p.chunk, p.index).rank : 0));
  return Math.max(0, Math.min(...ranks) - 2);
}

function picked(trace: Trace, store: Store): HTMLElement[] {
  const { state } = store;
  if (!state.picked)
    return [
      h(
        'p',
        { class: 'hint' },
        'Click a call or a message to see all about it. Drag pans, the wheel zooms, ' +
          'shift-drag marks an interval, alt-wheel changes the height of the rows.',
      ),
    ];
  const tip = describe(trace, state.picked);
  const [start, end] = extent(state.picked);
  const air = Math.max(50, (end - start) * 0.4);
  const cause = causeOf(state.picked);
  const goThere = () => {
    if (!cause) return;
    const other = extent(cause);
    const both = [Math.min(start, other[0]), Math.max(end, other[1])] as const;
    const more = Math.max(50, (both[1] - both[0]) * 0.2);
    store.set({ picked: cause, view: 'timeline', rowFirst: state.rowHeight > 0 ? topRank(state.picked!, cause) : 0 });
    store.showInterval(both[0] - more, both[1] + more);
  };
  return [
    h('h3', {}, tip.title),
    h('dl', {}, ...tip.rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    h(
      'div',
      { class: 'group' },
      button('Zoom to it', 'Zoom to it', () => store.showInterval(start - air, end + air)),
      cause ? button('Go to the cause', 'Select the call that was waited for longest', goThere) : null,
      button('Clear', 'Clear the selection (Escape)', () => store.set({ picked: null })),
    ),
  ];
}

function issueItem(store: Store, issue: Issue): HTMLElement {
  const show = () => {
    if (issue.window) store.showInterval(issue.window[0], issue.window[1]);
    store.set({ selected: new Set(issue.ranks), view: 'timeline' });
  };
  const can = issue.window !== null || issue.ranks.length > 0;
  return h(
    'li',
    { class: `issue ${issue.severity}` },
    h(
      'h3',
      {},
      issue.title,
      issue.loss > 0 ? h('span', { class: 'loss' }, `${duration(issue.loss * 1e9)} lost`) : null,
    ),
    issue.what ? h('p', {}, issue.what) : null,
    issue.why ? h('p', {}, issue.why) : null,
    issue.next ? h('p', { class: 'next' }, issue.next) : null,
    can ? button('Show', `Show ${issue.title} in the timeline`, show) : null,
  );
}

function operations(trace: Trace): HTMLElement {
  const rows = list(trace.analysis, 'operations')
    .map((x: Json) => ({ op: str(x, 'op'), calls: num(x, 'calls') ?? 0, time: num(x, 'time_s') }))
    .sort((a, b) => (b.time ?? 0) - (a.time ?? 0));
  const most = rows[0]?.time || 1;
  const bar = (time: number | undefined) => {
    const inner = h('span', {});
    inner.style.width = `${((time ?? 0) / most) * 100}%`;
    return h('span', { class: 'bar' }, inner);
  };
  return h(
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
        .slice(0, 14)
        .map((r) =>
          h(
            'tr',
            {},
            h('td', {}, r.op, bar(r.time)),
            h('td', { class: 'n' }, count(r.calls)),
            h('td', { class: 'n' }, r.time === undefined ? 'not known' : duration(r.time * 1e9)),
          ),
        ),
    ),
  );
}

export function side(trace: Trace, store: Store): HTMLElement {
  const selection = h('section', { class: 'selection', 'aria-label': 'Selection' });
  const found = issues(trace.analysis);
  const draw = () => fill(selection, h('h2', {}, 'Selection'), ...picked(trace, store));
  draw();
  store.subscribe((state, before) => state.picked !== before.picked && draw());
  return h(
    'aside',
    { class: 'side' },
    selection,
    h(
      'section',
      {},
      h('h2', {}, 'Issues'),
      found.length
        ? h('ol', {}, ...found.map((x) => issueItem(store, x)))
        : h('p', { class: 'hint' }, str(trace.analysis, 'job', 'imported') ? 'Not judged.' : 'Nothing to fix.'),
    ),
    h('section', {}, h('h2', {}, 'Where the time went'), operations(trace)),
  );
}
