// legend.ts - what the colours and patterns of the timeline mean; only classes that occur.
import { list, num, str } from '../model/analysis';
import type { Trace } from '../model/trace';
import { CLASSES, css } from '../layout/color';
import { add, h, paper } from './dom';

/** The pattern of the shader, on a canvas. */
function swatch(index: number): HTMLCanvasElement {
  const canvas = h('canvas', { class: 'swatch', 'aria-hidden': 'true' });
  requestAnimationFrame(() => drawSwatch(canvas, index));
  return canvas;
}

function inPattern(kind: number, x: number, y: number): boolean {
  if (kind === 1) return (x + y) % 6 < 1.5;
  if (kind === 2) return Math.hypot((x % 5) - 2.5, (y % 5) - 2.5) < 1;
  if (kind === 3) return x % 4 < 1.2;
  if (kind === 4) return (x - y + 60) % 6 < 1.5;
  if (kind === 5) return y % 4 < 1.2;
  return kind === 6 && (x % 6 < 1 || y % 6 < 1);
}

function drawSwatch(canvas: HTMLCanvasElement, index: number): void {
  const { g, width, height } = paper(canvas);
  const style = CLASSES[index]!;
  g.fillStyle = css(style.color);
  g.fillRect(0, 0, width, height);
  g.fillStyle = 'rgb(255 255 255 / 0.4)';
  for (let x = 0; x < width; x += 0.5)
    for (let y = 0; y < height; y += 0.5) if (inPattern(style.pattern, x, y)) g.fillRect(x, y, 0.5, 0.5);
}

/** Classes of the operations that were called, guessed from their names; all when the analysis does not say. */
function occurring(trace: Trace): boolean[] {
  const names = list(trace.analysis, 'operations')
    .filter((x) => num(x, 'calls') !== 0)
    .map((x) => str(x, 'op'));
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

export function legend(trace: Trace): HTMLElement {
  const shown = occurring(trace);
  const box = h('div', { class: 'legend', 'aria-label': 'Colours' });
  CLASSES.forEach(
    (c, i) =>
      shown[i] &&
      add(box, h('span', { class: 'key' }, i === 0 ? h('span', { class: 'swatch idle' }) : swatch(i), c.name)),
  );
  add(
    box,
    h(
      'span',
      { class: 'key' },
      h('span', { class: 'line-key' }),
      'message, in its sender’s colour; as wide as it is large',
    ),
  );
  return box;
}
