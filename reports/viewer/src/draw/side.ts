// side.ts - the panel beside the views: what is picked, the issues, where the time went.
import { issues, list, num, str } from '../model/analysis';
import type { Issue, Json } from '../model/analysis';
import type { Store } from '../model/state';
import type { Trace } from '../model/trace';
import { count, duration } from '../layout/format';
import { describe } from './describe';
import { fill, h } from './dom';
import { button } from './tools';

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
  const { chunk, index: i } = state.picked;
  const [start, end] =
    'start' in chunk
      ? [chunk.start[i]!, chunk.start[i]! + chunk.duration[i]!]
      : [chunk.sendStart[i]!, chunk.recvEnd[i]!];
  const air = Math.max(50, (end - start) * 0.4);
  return [
    h('h3', {}, tip.title),
    h('dl', {}, ...tip.rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    h(
      'div',
      { class: 'group' },
      button('Zoom to it', 'Zoom to it', () => store.showInterval(start - air, end + air)),
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
    .map((x: Json) => ({ op: str(x, 'op'), calls: num(x, 'calls') ?? 0, time: num(x, 'time_s') ?? 0 }))
    .sort((a, b) => b.time - a.time);
  const most = rows[0]?.time || 1;
  const bar = (time: number) => {
    const inner = h('span', {});
    inner.style.width = `${(time / most) * 100}%`;
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
            h('td', { class: 'n' }, duration(r.time * 1e9)),
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
        : h('p', { class: 'hint' }, 'Nothing to fix.'),
    ),
    h('section', {}, h('h2', {}, 'Where the time went'), operations(trace)),
  );
}
