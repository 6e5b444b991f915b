// tables.ts - calls, messages, call sites, communicators as tables of any length, sorted by any column. What is gone to here is picked
// everywhere, what is picked elsewhere is found here. They are of the interval shown, the ranks selected, what the filter lets through.
import { fill, h } from '../draw/dom';
import { Grid } from '../draw/grid';
import type { GridColumn } from '../draw/grid';
import { choice } from '../draw/tools';
import { count, duration, plural, stillReading } from '../layout/format';
import { UNRECORDED, asSentence, counted } from '../layout/unrecorded_words';
import { isFiltering } from '../model/filter';
import type { Cell, Sheet } from '../model/sheet';
import { scopeOf } from '../model/state';
import type { State } from '../model/state';
import type { Session } from '../work/session';
import type { Stats } from '../work/stats';
import type { EventRow, MessageRow, TablePage, TableQuery } from '../work/table';
import {
  MESSAGE_COLUMNS,
  commColumns,
  commsOfRun,
  eventColumns,
  siteColumns,
  sitesOfRun,
  openKey,
} from './table_columns';
import type { CommRow, SiteRow, TableColumn } from './table_columns';
import { FILE_ROWS, sheetColumns } from './call_sheet';
import type { App, View, ViewInstance } from './view';

const ID = 'tables';
const STALE_MS = 160;

interface TablesState {
  [key: string]: string | boolean;
  kind: string;
  sort: string; // a key of the columns
  descending: boolean;
}

const KINDS = [
  ['events', 'calls'],
  ['messages', 'messages'],
  ['sites', 'call sites'],
  ['comms', 'communicators'],
] as const;

const FIRST_SORT: Record<string, [string, boolean]> = {
  events: ['start_ns', false],
  messages: ['sent_ns', false],
  sites: ['time_ns', true],
  comms: ['calls', true],
};

type AnyRow = EventRow | MessageRow | SiteRow | CommRow;
type AnyColumn = TableColumn<AnyRow>;

const COLUMNS: Record<string, (session: Session) => unknown> = {
  events: eventColumns,
  messages: () => MESSAGE_COLUMNS,
  sites: siteColumns,
  comms: commColumns,
};

function isBefore(a: Cell, b: Cell): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a ?? '').localeCompare(String(b ?? ''), 'en', { numeric: true });
}

class Tables implements ViewInstance {
  private readonly grid: Grid;
  private readonly note = h('span', { class: 'note', role: 'status' });
  private readonly openKey = h('p', { class: 'open-key', hidden: true });
  private readonly empty = h('p', { class: 'empty hint', hidden: true });
  private readonly kind;
  private columns: AnyColumn[] = [];
  private rows: AnyRow[] = [];
  private first = 0; // number of the first of rows
  private total = 0; // that can be shown
  private stats: Stats | null = null;
  private wanted = { first: 0, count: 60 };
  private asked = '';
  private askedAt = 0;
  private shownKind = '';

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    this.kind = choice('table', 'What the table is of', KINDS, (kind) => this.setKind(kind));
    this.grid = new Grid({
      label: 'Table: arrow keys move, Enter shows the row in the timeline or filters by it',
      want: (first, number) => this.want(first, number),
      sort: (key) => this.sortBy(key),
      pick: (row) => this.pick(row),
      open: (row) => this.open(row),
    });
    const words = 'The interval shown, the ranks selected and the filter hold here too';
    const tools = h('div', { class: 'tools', title: words }, this.kind.element, this.note);
    this.openKey.textContent = openKey(app.session.analysis);
    fill(host, tools, this.openKey, this.grid.element, this.empty);
  }

  destroy(): void {
    for (const asker of ['table', 'table stats']) this.app.session.giveUp(asker);
    this.host.replaceChildren();
  }

  private state(): TablesState {
    return this.app.store.of<TablesState>(ID);
  }

  private setKind(kind: string): void {
    const [sort, descending] = FIRST_SORT[kind]!;
    this.app.store.setView(ID, { kind, sort, descending });
  }

  private sortBy(key: string): void {
    const { sort, descending } = this.state();
    const isNumber = this.columns.find((c) => c.key === key)?.isNumber === true;
    this.app.store.setView(ID, { sort: key, descending: key === sort ? !descending : isNumber });
  }

  private want(first: number, number: number): void {
    this.wanted = { first, count: number };
    this.update();
  }

  update(): void {
    const { kind } = this.state();
    this.kind.put(kind);
    if (kind !== this.shownKind) this.begin(kind);
    this.grid.look();
    if (kind === 'events' || kind === 'messages') this.askPage(kind);
    else if (kind === 'sites') this.showSites();
    else this.showComms();
  }

  private begin(kind: string): void {
    this.shownKind = kind;
    const { session } = this.app;
    const columns = (COLUMNS[kind]?.(session) ?? []) as AnyColumn[];
    this.columns = columns.filter((c) => c.key !== 'thread' || session.meta.threads > 1);
    const grid = (c: AnyColumn): GridColumn => {
      const { key, title, width } = c;
      return { key, title, width, isNumber: c.isNumber === true };
    };
    this.grid.setColumns(this.shownColumns().map(grid));
    [this.rows, this.stats, this.asked] = [[], null, ''];
    for (const asker of ['table', 'table stats']) this.app.session.giveUp(asker);
    this.put(0, -1);
  }

  // ---- calls and messages: sorted in the worker ----

  private query(kind: 'events' | 'messages'): TableQuery {
    const { picked } = this.app.store.state;
    const { sort, descending } = this.state();
    const column = this.columns.find((c) => c.key === sort) ?? this.columns[0]!;
    const scope = scopeOf(this.app.store.state);
    return { kind, ...scope, sort: column.sort ?? column.key, descending, ...this.wanted, picked };
  }

  private askPage(kind: 'events' | 'messages'): void {
    const query = this.query(kind);
    const key = JSON.stringify(query);
    const isBusy = this.askedAt !== 0 && performance.now() - this.askedAt < STALE_MS;
    if (key === this.asked || isBusy) return;
    this.asked = key;
    this.askedAt = performance.now();
    const take = (page: TablePage, last: boolean) => {
      this.takePage(page);
      if (!last) return;
      this.askedAt = 0;
      this.app.redraw(); // what changed meanwhile
    };
    const fail = (error: Error) => ((this.askedAt = 0), this.app.fail(error));
    this.app.session.ask('table', 'table', query, take, fail);
  }

  private takePage(page: TablePage): void {
    if (page.kind !== this.shownKind) return;
    [this.rows, this.first] = [page.rows, page.first];
    this.put(page.kept, page.at);
    const several = page.calls > page.total; // more calls than rows
    const noun = page.kind === 'messages' ? 'messages' : several ? 'rows' : 'calls';
    const tests = several ? ` of ${plural(page.calls, 'call')}, repeated tests as one` : '';
    const open = page.open > 0 ? ` (${count(page.open)} open)` : '';
    const some = page.kept < page.total ? `, of which the first ${count(page.kept)} in this order are listed` : '';
    const reading = stillReading(page.read, page.of);
    this.say(
      [`${count(page.total)} ${noun}${open}${tests}${some}`, reading].filter((x) => x !== '').join('; '),
      page.read === page.of && page.total === 0,
      page.open,
    );
  }

  // ---- call sites and communicators ----

  private sorted<R extends AnyRow>(rows: R[]): R[] {
    const { sort, descending } = this.state();
    const column = this.columns.find((c) => c.key === sort) ?? this.columns[0]!;
    const { session } = this.app;
    const sign = descending ? -1 : 1;
    return [...rows].sort((a, b) => sign * isBefore(column.value(a, session), column.value(b, session)));
  }

  /** Of the whole run they are known; of a part of it they are counted. */
  private isWhole(state: State): boolean {
    const all = state.from <= 0 && state.to >= this.app.session.meta.runtime;
    return all && state.selected.size === 0 && !isFiltering(state.filter);
  }

  private showSites(): void {
    const { session, store } = this.app;
    const isWhole = this.isWhole(store.state);
    const query = scopeOf(store.state);
    const key = isWhole ? 'whole' : JSON.stringify(query);
    if (key !== this.asked) {
      this.asked = key;
      session.giveUp('table stats');
      if (!isWhole) {
        const take = (s: Stats) => ((this.stats = s), this.app.redraw());
        session.ask('table stats', 'stats', query, take, this.app.fail);
      }
    }
    const all = isWhole ? sitesOfRun(session) : this.sitesCounted();
    const picked = this.app.picked();
    const site = picked?.kind === 'event' ? picked.callSite : picked?.kind === 'message' ? picked.sendCallSite : -1;
    this.showAll(this.sorted(all), (r) => r.id === site);
    const s = this.stats;
    const reading = isWhole || !s ? '' : stillReading(s.read, s.of);
    const sites = `${plural(all.length, 'call site')}${isWhole ? ', all their calls' : ''}`;
    const open = all.reduce((n, r) => n + r.open, 0);
    this.say([sites, reading].filter((x) => x !== '').join('; '), all.length === 0, open);
  }

  private sitesCounted(): SiteRow[] {
    const { callSites } = this.app.session;
    return (this.stats?.sites ?? []).map((r) => {
      const { place = '', function: name = '' } = callSites.get(r.site) ?? {};
      const { calls, open, ns, waitNs, bytes } = r;
      return { id: r.site, op: r.name, place, function: name, calls, open, ns, waitNs, bytes };
    });
  }

  private showComms(): void {
    const { comms } = this.app.store.state.filter;
    const all = commsOfRun(this.app.session).filter((r) => comms.length === 0 || comms.includes(r.id));
    const picked = this.app.picked();
    const id = picked ? picked.comm : -1;
    this.showAll(this.sorted(all), (r) => r.id === id);
    const open = all.reduce((n, r) => n + r.open, 0);
    this.say(`${plural(all.length, 'communicator')}, all their calls`, all.length === 0, open);
  }

  private showAll<R extends AnyRow>(rows: R[], isPicked: (row: R) => boolean): void {
    [this.rows, this.first] = [rows, 0];
    this.put(rows.length, rows.findIndex(isPicked));
  }

  // ---- on the page ----

  private shownColumns(): AnyColumn[] {
    return this.columns.filter((c) => !c.isForFiles);
  }

  private texts(row: AnyRow): string[] {
    const { session } = this.app;
    return this.shownColumns().map((c) => {
      const value = c.value(row, session);
      return c.show ? c.show(value) : String(value ?? '');
    });
  }

  private put(total: number, picked: number): void {
    this.total = total;
    const isPaged = this.shownKind === 'events' || this.shownKind === 'messages';
    const first = isPaged ? this.first : Math.min(this.wanted.first, total);
    const rows = isPaged ? this.rows : this.rows.slice(first, first + this.wanted.count);
    const { sort, descending } = this.state();
    this.grid.put({ total, first, rows: rows.map((r) => this.texts(r)), sort, descending, picked });
    Object.assign(this.app.drawn, { tableKind: this.shownKind, tableRows: total, tablePicked: picked });
  }

  /** open: of the calls of these rows. */
  private say(text: string, isEmpty: boolean, open: number): void {
    const { session, store } = this.app;
    const { from, to, selected, filter, filterText } = store.state;
    const ranks = selected.size > 0 ? `, ${plural(selected.size, 'rank')} selected` : '';
    const only = isFiltering(filter) ? `; only ${filterText}` : '';
    const of = this.shownKind === 'comms' ? '' : ` in ${duration(to - from)}`;
    const all = `${text}${of}${ranks}${only}`;
    const isKnown = this.shownKind === 'comms' || (this.shownKind === 'sites' && this.isWhole(store.state));
    const words = isKnown ? all : counted(this.total, all, session, { from, to }, selected);
    if (this.note.textContent !== words) this.note.textContent = words;
    this.openKey.hidden = open === 0;
    this.empty.hidden = !isEmpty;
    this.empty.textContent =
      words === UNRECORDED
        ? asSentence(UNRECORDED)
        : 'None in this interval. Zoom out, select other ranks, or remove the filter.';
  }

  private rowAt(n: number): AnyRow | undefined {
    return this.rows[n - this.first];
  }

  private pick(n: number): void {
    const row = this.rowAt(n);
    if (!row) return;
    const words = this.shownColumns().map((c, i) => `${c.title} ${this.texts(row)[i]}`);
    if ('ref' in row) this.app.store.set({ picked: row.ref });
    else this.app.announce(words.join(', '));
  }

  /** A call or a message in the timeline; of a call site or a communicator all that is there. */
  private open(n: number): void {
    const row = this.rowAt(n);
    const { store } = this.app;
    if (!row) return;
    if ('ref' in row) {
      const [start, end] = 'sendStart' in row ? [row.sendStart, row.recvEnd] : [row.start, row.start + row.duration];
      const ranks = 'sendStart' in row ? [row.src, row.dst] : [row.rank];
      const air = Math.max(50, (end - start) * 0.6);
      store.set({ picked: row.ref, view: 'timeline' });
      store.showInterval(start - air, end + air);
      this.app.reveal(ranks);
    } else if ('place' in row) {
      this.app.filterBy(row.place === '' ? row.op : `site:"${row.place}" ${row.op}`);
    } else {
      this.app.filterBy(`comm:"${row.name}"`);
    }
  }

  /** All rows that can be shown. */
  async sheet(): Promise<Sheet> {
    const { session } = this.app;
    const rows = await this.allRows();
    const left = this.total > rows.length ? ` The first ${count(rows.length)} of ${plural(this.total, 'row')}.` : '';
    const columns = sheetColumns(this.columns);
    const title = KINDS.find(([kind]) => kind === this.shownKind)?.[1] ?? '';
    const open = this.openKey.hidden ? '' : ` ${this.openKey.textContent}.`;
    const cells = rows.map((row) => this.columns.map((c) => c.value(row, session)));
    return { title, note: `${this.note.textContent}.${left}${open}`, columns, rows: cells };
  }

  private allRows(): Promise<AnyRow[]> {
    const { shownKind: kind } = this;
    if (kind !== 'events' && kind !== 'messages') return Promise.resolve(this.rows);
    return new Promise((take, refuse) => {
      const query = { ...this.query(kind), first: 0, count: FILE_ROWS };
      const done = (page: TablePage, last: boolean) => last && take(page.rows);
      this.app.session.ask('table file', 'table', query, done, refuse);
    });
  }
}

export const tables: View = {
  id: ID,
  title: 'Tables',
  state: (): TablesState => ({ kind: 'events', sort: 'start_ns', descending: false }),
  create: (app, host) => new Tables(app, host),
};
