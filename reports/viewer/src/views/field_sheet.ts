// field_sheet.ts - a field as rows and columns: its table twin, CSV and JSON.
import { inUnit } from '../layout/field';
import { METRICS, NO_EVENT, fieldAt } from '../model/field';
import type { Field } from '../model/field';
import type { Cell, Column, Sheet } from '../model/sheet';

const COLUMNS_MAX = 256; // of a table; the others are left out, and it is said

const UNITS = {
  share: 'share',
  ns: 'ns',
  count: 'number',
  'per second': 'per_s',
  bytes: 'bytes',
  'bytes per second': 'bytes_per_s',
};

function columnName(f: Field, at: number): string {
  const c = f.columns[at]!;
  const of =
    c.event === NO_EVENT ? c.title.replace(/^samples? /, 'sample_').replace('–', '_to_') : c.title.replaceAll(' ', '_');
  return `${of}_${UNITS[f.unit]}`;
}

export function fieldSheet(f: Field | null, note: string): Sheet {
  if (!f) return { title: 'Profile over time', note, columns: [], rows: [] };
  const shown = f.columns.slice(0, COLUMNS_MAX);
  const left = f.columns.length - shown.length;
  const show = (v: Cell) => (v === null ? '–' : inUnit(f.unit, Number(v)));
  const columns: Column[] = [
    {
      name: f.rows[0]?.event === NO_EVENT ? 'ranks' : 'event',
      title: f.rows[0]?.event === NO_EVENT ? 'ranks' : 'event',
    },
    ...shown.map((c, i) => ({ name: columnName(f, i), title: c.title, show })),
  ];
  const rows = f.rows.map((row, r): Cell[] => [
    row.title.replace(/^ranks? /, ''),
    ...shown.map((_, c) => {
      const v = fieldAt(f, r, c);
      return Number.isNaN(v) ? null : v;
    }),
  ]);
  const more = left > 0 ? `; ${left} more columns are left out: show fewer` : '';
  return { title: `Profile over time: ${METRICS[f.query.metric].title}`, note: `${note}${more}`, columns, rows };
}
