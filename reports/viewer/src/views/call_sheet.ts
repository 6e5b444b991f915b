// call_sheet.ts - the calls of some ranks in the interval shown as rows and columns, in order of time; also those that ranks never came back
// from, which are no events.
import { count, plural } from '../layout/format';
import { openPasses } from '../model/filter';
import { opensOf } from '../model/open';
import type { Open } from '../model/open';
import type { Cell, Column, Sheet } from '../model/sheet';
import type { EventRow, TablePage } from '../work/table';
import { EVENT_COLUMNS } from './table_columns';
import type { TableColumn } from './table_columns';
import type { App } from './view';

export const FILE_ROWS = 50000; // in a file, a copy or a table twin

/** Columns of a table as those of a sheet: what people read follows from the values alone. */
export function sheetColumns<R>(columns: TableColumn<R>[]): Column[] {
  return columns.map(({ key, title, show }) => ({ name: key, title, ...(show ? { show } : {}) }));
}

const START = EVENT_COLUMNS.findIndex((c) => c.key === 'start_ns');
const RETURNED = EVENT_COLUMNS.findIndex((c) => c.key === 'duration_ns') + 1; // the column of that, where some did not

/** To the end of the rank; what it would have moved, and from or to whom, is not known. */
function openCells(app: App, rank: number, x: Open): Cell[] {
  const { thread, op, class: kind, site, comm, from } = x;
  const duration = x.to - from;
  const unknown = { ref: '', calls: 1, bytes: 0, peer: -1, tag: -1 };
  const row: EventRow = {
    ...{ rank, thread, op, class: kind, site, comm, start: from, duration },
    ...{ wait: x.waits ? duration : 0, ...unknown },
  };
  return EVENT_COLUMNS.map((c) => (c.key === 'bytes' ? null : c.value(row, app.session)));
}

export function callSheet(app: App, ranks: number[], title: string): Promise<Sheet> {
  const { session, store } = app;
  const { from, to, filter, filterText } = store.state;
  const opens = opensOf(session.analysis);
  const isShown = (rank: number, x: Open) => x.from < to && x.to > from && openPasses(filter, rank, x);
  const open = ranks.flatMap((rank) =>
    (opens.get(rank) ?? []).filter((x) => isShown(rank, x)).map((x) => openCells(app, rank, x)),
  );
  const common = { from, to, filter, sort: 'start', descending: false, picked: '' };
  const query = { ...common, kind: 'events' as const, ranks, first: 0, count: FILE_ROWS };
  return new Promise((take, refuse) => {
    const done = ({ rows, total }: TablePage, last: boolean) => {
      if (!last) return;
      const some = total > rows.length ? ` the first ${count(rows.length)} of` : '';
      const ended = `${some} ${plural(total, 'call')} of the ranks and the time shown${filterText ? `, only ${filterText}` : ''}`;
      const note =
        open.length > 0 ? `${ended}, and ${plural(open.length, 'call')} from which no rank came back` : ended;
      const cells = rows.map((row) => EVENT_COLUMNS.map((c) => c.value(row as EventRow, session)));
      const columns = sheetColumns(EVENT_COLUMNS);
      if (opens.size > 0) {
        columns.splice(RETURNED, 0, { name: 'returned', title: 'returned' });
        for (const row of cells) row.splice(RETURNED, 0, 'yes');
        for (const row of open) row.splice(RETURNED, 0, 'no');
      }
      const all = [...cells, ...open].sort((a, b) => Number(a[START]) - Number(b[START]));
      take({ title, note: note.trim(), columns, rows: all });
    };
    session.ask('sheet', 'table', query, done, refuse);
  });
}
