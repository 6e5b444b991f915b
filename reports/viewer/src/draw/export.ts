// export.ts - what a view shows, for the user to keep: SVG and PNG as it is drawn, CSV and JSON as rows; and its table twin, a dialogue
// with the same rows, for whoever cannot see the picture.
import { csvOf, jsonOf, shownIn } from '../model/sheet';
import type { Sheet } from '../model/sheet';
import { plural } from '../layout/format';
import { FONT, fill, h, theme } from './dom';
import { Grid } from './grid';
import { svgOf } from './svg';
import { save } from './tools';

/** What is exported: a view as it is now. */
export interface Shown {
  name: string; // of files
  sheet(): Sheet | Promise<Sheet>;
  paint?: ((g: CanvasRenderingContext2D, width: number, height: number) => void) | undefined;
  size: { width: number; height: number };
  about: Record<string, unknown>;
}

const FORMATS = ['svg', 'png', 'csv', 'json'] as const;
export type Format = (typeof FORMATS)[number];

const LINE = 18;
const PICTURE_ROWS = 200;

/** A sheet as a picture: the rows that a page has room for. */
function paintSheet(g: CanvasRenderingContext2D, sheet: Sheet): void {
  const colors = theme();
  const rows = sheet.rows.slice(0, PICTURE_ROWS);
  g.font = FONT;
  g.textBaseline = 'middle';
  g.textAlign = 'left';
  g.fillStyle = colors.text;
  g.fillText(sheet.title, 12, 16);
  g.fillStyle = colors.dim;
  g.fillText(sheet.note, 12, 16 + LINE);
  let x = 12;
  sheet.columns.forEach((column, i) => {
    const texts = [column.title, ...rows.map((row) => shownIn(sheet, row, i))];
    const wide = Math.max(...texts.map((text) => g.measureText(text).width));
    const isNumber = rows.length > 0 && typeof rows[0]![i] === 'number';
    g.textAlign = isNumber ? 'right' : 'left';
    texts.forEach((text, k) => {
      g.fillStyle = k === 0 ? colors.dim : colors.text;
      g.fillText(text, isNumber ? x + wide : x, 16 + (k + 2.5) * LINE);
    });
    x += wide + 18;
  });
}

/** How large its picture is. */
function sheetSize(sheet: Sheet): { width: number; height: number } {
  const g = document.createElement('canvas').getContext('2d')!;
  g.font = FONT;
  const rows = sheet.rows.slice(0, PICTURE_ROWS);
  const wide = sheet.columns.map((column, i) =>
    Math.max(...[column.title, ...rows.map((row) => shownIn(sheet, row, i))].map((text) => g.measureText(text).width)),
  );
  const width = wide.reduce((sum, w) => sum + w + 18, 24);
  return { width: Math.ceil(Math.max(width, g.measureText(sheet.note).width + 24)), height: (rows.length + 4) * LINE };
}

interface Drawing {
  width: number;
  height: number;
  draw(g: CanvasRenderingContext2D): void;
}

async function drawingOf(shown: Shown): Promise<Drawing> {
  const { paint, size } = shown;
  if (paint) return { ...size, draw: (g) => paint(g, size.width, size.height) };
  const sheet = await shown.sheet();
  return { ...sheetSize(sheet), draw: (g) => paintSheet(g, sheet) };
}

function png({ width, height, draw }: Drawing): Promise<Blob> {
  const canvas = document.createElement('canvas');
  const ratio = Math.max(2, devicePixelRatio || 1); // it may be printed
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  const g = canvas.getContext('2d')!;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.fillStyle = theme().paper;
  g.fillRect(0, 0, width, height);
  draw(g);
  return new Promise((take, refuse) =>
    canvas.toBlob(
      (blob) => (blob ? take(blob) : refuse(new Error('The picture is too large to be saved.'))),
      'image/png',
    ),
  );
}

async function blobOf(shown: Shown, format: Format): Promise<Blob> {
  if (format === 'png') return png(await drawingOf(shown));
  if (format === 'svg') {
    const { width, height, draw } = await drawingOf(shown);
    return new Blob([svgOf(width, height, theme().paper, draw)], { type: 'image/svg+xml' });
  }
  const sheet = await shown.sheet();
  if (format === 'csv') return new Blob([csvOf(sheet)], { type: 'text/csv' });
  return new Blob([jsonOf(sheet, shown.about)], { type: 'application/json' });
}

/** As text where a person can paste it, else as a file. */
async function copy(shown: Shown, say: (text: string) => void): Promise<void> {
  const sheet = await shown.sheet();
  try {
    await navigator.clipboard.writeText(csvOf(sheet));
    say(`${plural(sheet.rows.length, 'row')} copied as CSV`);
  } catch {
    save(`${shown.name}.csv`, await blobOf(shown, 'csv'));
  }
}

async function twin(shown: Shown): Promise<void> {
  const sheet = await shown.sheet();
  const { rows, columns } = sheet;
  const close = () => dialog.close();
  const grid = new Grid({
    label: `${sheet.title} as a table`,
    want: (first, number) => put(first, number),
    pick: () => undefined,
    open: () => undefined,
  });
  const put = (first: number, number: number) =>
    grid.put({
      total: rows.length,
      first: Math.min(first, rows.length),
      rows: rows.slice(first, first + number).map((row) => columns.map((_, i) => shownIn(sheet, row, i))),
      sort: '',
      descending: false,
      picked: -1,
    });
  const dialog = h('dialog', { class: 'twin', 'aria-label': `${sheet.title} as a table` });
  fill(
    dialog,
    h('h2', {}, sheet.title),
    h('p', { class: 'hint' }, sheet.note),
    grid.element,
    h('button', { type: 'button', onclick: close }, 'Close'),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  const isNumber = (i: number) => rows.length > 0 && typeof rows[0]![i] === 'number';
  grid.setColumns(columns.map((c, i) => ({ key: c.name, title: c.title, width: 110, isNumber: isNumber(i) })));
  put(0, 60);
  grid.look();
  grid.element.focus();
}

export interface Exporter {
  element: HTMLElement;
  twin(): void;
}

/** A menu: files of each kind, a copy, the table. */
export function exporter(now: () => Shown, say: (text: string) => void, fail: (error: unknown) => void): Exporter {
  const act = async (what: string) => {
    const shown = now();
    try {
      if (what === 'table') await twin(shown);
      else if (what === 'copy') await copy(shown, say);
      else save(`${shown.name}.${what}`, await blobOf(shown, what as Format));
    } catch (error) {
      fail(error);
    }
  };
  const option = (value: string, text: string) => h('option', { value }, text);
  const menu = h(
    'select',
    {
      class: 'export',
      'aria-label': 'Export this view',
      title: 'Keep what this view shows; T: as a table',
      onchange: () => {
        void act(menu.value);
        menu.value = '';
      },
    },
    option('', 'Export'),
    ...FORMATS.map((format) => option(format, format.toUpperCase())),
    option('copy', 'Copy as CSV'),
    option('table', 'Show as a table'),
  );
  return { element: menu, twin: () => void act('table') };
}
