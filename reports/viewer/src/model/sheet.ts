// sheet.ts - what a view shows as rows and columns: for its table twin, for CSV and JSON. Pure.

export type Cell = string | number | null;

export interface Column {
  name: string; // with its unit: duration_ns
  title: string; // for people
  show?(value: Cell, row: Cell[]): string; // for people; else as it is
}

export interface Sheet {
  title: string;
  note: string; // what it is of, and what it leaves out
  columns: Column[];
  rows: Cell[][];
}

// eslint-disable-next-line no-control-regex
const UNSEEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g;
/** Also in the wide form of East Asian keyboards; or behind a sign at which a cell may end elsewhere. */
const FORMULA = /(^|[,;"])(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])/g;

/** A cell that a spreadsheet would take for a formula is text there. */
export function cell(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = value.replaceAll(FORMULA, "$1'").replaceAll(UNSEEN, '?');
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(sheet: Sheet): string {
  const lines = [sheet.columns.map((c) => cell(c.name)).join(',')];
  for (const row of sheet.rows) lines.push(row.map(cell).join(','));
  return `${lines.join('\n')}\n`;
}

export function jsonOf(sheet: Sheet, about: Record<string, unknown>): string {
  const rows = sheet.rows.map((row) => Object.fromEntries(sheet.columns.map((c, i) => [c.name, row[i] ?? null])));
  const head = JSON.stringify({ schema: 'mpitrace/view/1', title: sheet.title, note: sheet.note, ...about }, null, 1);
  return `${head.slice(0, -2)},\n "rows": [\n${rows.map((row) => `  ${JSON.stringify(row)}`).join(',\n')}\n ]\n}\n`;
}

export function shownIn(sheet: Pick<Sheet, 'columns'>, row: Cell[], column: number): string {
  const value = row[column] ?? null;
  const { show } = sheet.columns[column]!;
  if (show) return show(value, row);
  return value === null ? '' : typeof value === 'number' ? value.toLocaleString('en-US') : value;
}
