// boxes.ts - where icons of processes and containers stand: few on a ring, so that no arrow runs over an icon; more in rows, open containers as
// frames about what lies in them. Pure.
import type { Box, Item } from '../model/containers';

export interface Placed {
  item: Item;
  x: number; // centre
  y: number;
  width: number; // of its cell
  height: number;
  open: boolean; // a frame
}

const RING_MAX = 10;
const MARGIN = 0.3; // about what lies in a frame, in cells
const HEAD = 0.34; // of a frame

interface Block {
  width: number; // in cells
  height: number;
  place(x: number, y: number, cell: number, out: Placed[]): void;
}

function icon(item: Item): Block {
  return {
    width: 1,
    height: 1,
    place: (x, y, cell, out) =>
      out.push({ item, x: x + cell / 2, y: y + cell / 2, width: cell, height: cell, open: false }),
  };
}

function frame(box: Box, isOpen: (box: Box) => boolean): Block {
  const inner = rows(box.inner, isOpen, 1.3);
  const width = Math.max(1, inner.width) + 2 * MARGIN;
  const height = inner.height + 2 * MARGIN + HEAD;
  return {
    width,
    height,
    place: (x, y, cell, out) => {
      const at = { x: x + (width * cell) / 2, y: y + (height * cell) / 2 };
      out.push({ item: box, ...at, width: (width - 0.15) * cell, height: (height - 0.15) * cell, open: true });
      inner.place(x + MARGIN * cell, y + (MARGIN + HEAD) * cell, cell, out);
    },
  };
}

/** About so many columns, but that all rows are full if that can be: processes are often numbered along such a grid. */
function wholeRows(n: number, ideal: number): number {
  for (let columns = Math.max(2, Math.ceil(ideal * 0.6)); columns <= ideal * 1.4; columns++)
    if (n % columns === 0) return columns;
  return ideal;
}

/** One after the other in rows, about `aspect` times as wide as high. */
function rows(items: readonly Item[], isOpen: (box: Box) => boolean, aspect: number): Block {
  const blocks = items.map((x) => (typeof x !== 'number' && isOpen(x) ? frame(x, isOpen) : icon(x)));
  const area = blocks.reduce((sum, b) => sum + b.width * b.height, 0);
  const widest = blocks.reduce((most, b) => Math.max(most, b.width), 0);
  const ideal = Math.max(widest, Math.ceil(Math.sqrt(area * aspect) - 0.01));
  const limit = blocks.every((b) => b.width === 1) ? wholeRows(blocks.length, ideal) : ideal;
  const places: { block: Block; x: number; y: number }[] = [];
  let [x, y, high, width] = [0, 0, 0, 0];
  for (const block of blocks) {
    if (x > 0 && x + block.width > limit + 1e-6) [x, y, high] = [0, y + high, 0];
    places.push({ block, x, y });
    x += block.width;
    high = Math.max(high, block.height);
    width = Math.max(width, x);
  }
  return {
    width,
    height: y + high,
    place: (x0, y0, cell, out) => places.forEach((p) => p.block.place(x0 + p.x * cell, y0 + p.y * cell, cell, out)),
  };
}

function ring(items: readonly Item[], width: number, height: number): Placed[] {
  const n = items.length;
  const most = n < 5 ? 120 : 96;
  const room = Math.min(width, height);
  const cell = Math.min(most, n === 1 ? room / 2 : (room / (1 + 1 / Math.sin(Math.PI / n))) * 0.95);
  const [rx, ry] = [Math.min(width / 2 - cell * 0.7, height * 0.8), height / 2 - cell * 0.62];
  return items.map((item, k) => {
    const angle = (k / n) * 2 * Math.PI - Math.PI / 2 - (n === 2 ? Math.PI / 2 : 0) + (n === 4 ? -Math.PI / 4 : 0);
    const [x, y] = n === 1 ? [0, 0] : [rx * Math.cos(angle), ry * Math.sin(angle)];
    return { item, x: width / 2 + x, y: height / 2 + y, width: cell, height: cell, open: false };
  });
}

const CELL_MAX = 104;
const CONTAINER_MAX = 168; // its name is longer than a rank's

export function placeItems(
  items: readonly Item[],
  isOpen: (box: Box) => boolean,
  width: number,
  height: number,
): Placed[] {
  const plain = items.every((x) => typeof x === 'number' || !isOpen(x));
  if (plain && items.length > 0 && items.length <= RING_MAX) return ring(items, width, height);
  const block = rows(items, isOpen, Math.max(0.4, width / Math.max(1, height)));
  const most = items.every((x) => typeof x !== 'number') ? CONTAINER_MAX : CELL_MAX;
  const cell = Math.min(most, (width - 8) / Math.max(1, block.width), (height - 8) / Math.max(1, block.height));
  const out: Placed[] = [];
  block.place((width - block.width * cell) / 2, (height - block.height * cell) / 2, cell, out);
  return out;
}

/** The innermost one at a point. */
export function placedAt(placed: readonly Placed[], x: number, y: number): Placed | null {
  for (let k = placed.length - 1; k >= 0; k--) {
    const p = placed[k]!;
    const reach = p.open ? 1 : 0.84;
    if (Math.abs(p.x - x) <= (p.width * reach) / 2 && Math.abs(p.y - y) <= (p.height * reach) / 2) return p;
  }
  return null;
}
