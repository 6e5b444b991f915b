// legend.ts - what the colours and patterns of the timeline mean; only classes that occur.
import { CLASSES, WAITING_STYLE, css } from '../layout/color';
import type { ClassStyle } from '../layout/color';
import { isFiltering } from '../model/filter';
import { isTotals, operationsOf, recordedUntil } from '../model/open';
import type { Store } from '../model/state';
import { inPattern } from '../layout/raster';
import type { Session } from '../work/session';
import { add, h, paper } from './dom';

/** Colour and pattern as the timeline has them. */
function swatch(style: ClassStyle, stroke: string): HTMLCanvasElement {
  const canvas = h('canvas', { class: 'swatch', 'aria-hidden': 'true' });
  requestAnimationFrame(() => drawSwatch(canvas, style, stroke));
  return canvas;
}

function drawSwatch(canvas: HTMLCanvasElement, style: ClassStyle, stroke: string): void {
  const { g, width, height } = paper(canvas);
  g.fillStyle = css(style.color);
  g.fillRect(0, 0, width, height);
  g.fillStyle = stroke;
  for (let x = 0; x < width; x += 0.5)
    for (let y = 0; y < height; y += 0.5) if (inPattern(style.pattern, x, y)) g.fillRect(x, y, 0.5, 0.5);
}

/** Classes of the operations that were called, guessed from their names; all when the analysis does not say. */
function occurring(trace: Session): boolean[] {
  const names = operationsOf(trace.analysis)
    .filter((x) => x.calls !== 0)
    .map((x) => x.op);
  const has = (pattern: RegExp) => names.length === 0 || names.some((n) => pattern.test(n));
  return [
    true,
    has(/send|recv|start/i),
    has(/wait|test|probe/i),
    has(/bcast|reduce|gather|scatter|alltoall|scan/i),
    has(/barrier|fence/i),
    has(/^MPI_(Put|Get|Rput|Rget|R?accumulate|Win_\w+)$/i),
    has(/MPI_File_/i),
    true,
  ];
}

/** While a filter holds, the calls that it hides are there, too. */
function hidden(store: Store): HTMLElement {
  const key = h('span', { class: 'key' }, h('span', { class: 'swatch hidden-calls' }), 'hidden by the filter');
  const update = () => (key.hidden = !isFiltering(store.state.filter));
  store.subscribe(update);
  update();
  return key;
}

export function legend(trace: Session, store: Store): HTMLElement {
  const shown = occurring(trace);
  const box = h('div', { class: 'legend', 'aria-label': 'Colours' });
  const faint = 'rgb(255 255 255 / 0.4)';
  const key = (mark: HTMLElement, text: string) => add(box, h('span', { class: 'key' }, mark, text));
  CLASSES.forEach((c, i) => {
    if (i === 0) key(h('span', { class: 'swatch idle' }), c.name);
    else if (shown[i]) key(swatch(c, faint), c.name);
  });
  key(swatch(WAITING_STYLE, 'rgb(255 255 255 / 0.9)'), WAITING_STYLE.name);
  add(box, hidden(store));
  const { analysis, meta } = trace;
  const isWhole = recordedUntil(analysis, meta.ranks, meta.events).every((ns) => ns === Infinity);
  const unknown = isWhole ? 'not loaded' : isTotals(analysis, meta.events) ? 'not known' : 'not known or not loaded';
  key(h('span', { class: 'swatch unknown' }), unknown);
  key(h('span', { class: 'swatch ended' }), 'no record any more');
  add(box, h('span', { class: 'key' }, h('span', { class: 'line-key' }), 'message, in its sender’s colour'));
  return box;
}
