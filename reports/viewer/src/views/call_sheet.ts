// call_sheet.ts - the calls of some ranks in the interval shown as rows and columns, in order of time.
import { count, plural } from '../layout/format';
import type { Column, Sheet } from '../model/sheet';
import type { EventRow, TablePage } from '../work/table';
import { eventColumns, openKey } from './table_columns';
import type { TableColumn } from './table_columns';
import type { App } from './view';

export const FILE_ROWS = 50000; // in a file, a copy or a table twin

/** Columns of a table as those of a sheet: what people read follows from the values alone. */
export function sheetColumns<R>(columns: TableColumn<R>[]): Column[] {
  return columns.map(({ key, title, show }) => ({ name: key, title, ...(show ? { show } : {}) }));
}

export function callSheet(app: App, ranks: number[], title: string): Promise<Sheet> {
  const { session, store } = app;
  const { from, to, filter, filterText } = store.state;
  const common = { from, to, filter, sort: 'start', descending: false, picked: '' };
  const query = { ...common, kind: 'events' as const, ranks, first: 0, count: FILE_ROWS };
  const shown = eventColumns(session);
  return new Promise((take, refuse) => {
    const done = ({ rows, total, open }: TablePage, last: boolean) => {
      if (!last) return;
      const some = total > rows.length ? `the first ${count(rows.length)} of ` : '';
      const of = `${some}${plural(total, 'call')} of the ranks and the time shown${filterText ? `, only ${filterText}` : ''}`;
      const note = open > 0 ? `${of}, ${count(open)} of them ${openKey(session.analysis)}` : of;
      const cells = rows.map((row) => shown.map((c) => c.value(row as EventRow, session)));
      take({ title, note, columns: sheetColumns(shown), rows: cells });
    };
    session.ask('sheet', 'table', query, done, refuse);
  });
}
