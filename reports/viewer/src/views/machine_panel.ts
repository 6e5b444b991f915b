// machine_panel.ts - what the analysis knows of a machine's ranks, links and issues, a section at a time: cards that isolate an issue or go
// to its time, rows that select their ranks. In: the analysis object.  Out: a panel beside the machine, and its rows for files.
import { fill, h } from '../draw/dom';
import { button, choice } from '../draw/tools';
import { count, duration, plural } from '../layout/format';
import { issues, list, num } from '../model/analysis';
import type { Issue, Json } from '../model/analysis';
import type { Machine } from '../model/machine';
import { isAtLeast, ranksOfIssue } from '../model/overlays';
import type { Cell, Column, Sheet } from '../model/sheet';
import type { App } from './view';
import { ID } from './machine_state';
import type { MachineState } from './machine_state';

export const SECTIONS: readonly (readonly [string, string])[] = [
  ['issues', 'issues'],
  ['summary', 'summary'],
  ['per_rank', 'per rank'],
  ['top_ranks', 'top ranks'],
  ['top_links', 'top links'],
  ['collective_roots', 'roots'],
  ['barrier_spreads', 'barrier spreads'],
  ['patterns', 'patterns'],
  ['time_windows', 'time windows'],
];

const ROWS_SHOWN = 200;

/** Rows of objects as a sheet: a column for each member that is no list of objects. */
function sheetOf(title: string, note: string, rows: Json[]): Sheet {
  const names = new Set<string>();
  for (const row of rows) {
    const isPlain = row !== null && typeof row === 'object' && !Array.isArray(row);
    for (const [key, value] of Object.entries(isPlain ? row : {}))
      if (
        !Array.isArray(value) ? typeof value !== 'object' || value === null : value.every((x) => typeof x !== 'object')
      )
        names.add(key);
  }
  const columns: Column[] = [...names].map((name) => ({ name, title: name.replaceAll('_', ' ') }));
  const cell = (value: Json | undefined): Cell =>
    typeof value === 'number' || typeof value === 'string'
      ? value
      : Array.isArray(value)
        ? value.join(' ')
        : value == null
          ? null
          : String(value);
  const cells = rows.map((row) => columns.map((c) => cell((row as Record<string, Json>)[c.name])));
  return { title, note, columns, rows: cells };
}

function topRows(analysis: Json): Json[] {
  return ['out', 'in', 'touch'].flatMap((by) =>
    list(analysis, `top_ranks_by_${by}_bytes`).map((x) => ({
      by,
      rank: num(x, 'rank') ?? -1,
      bytes: num(x, 'bytes') ?? 0,
    })),
  );
}

function summaryRows(analysis: Json): Json[] {
  const summary =
    analysis !== null && typeof analysis === 'object' && !Array.isArray(analysis) ? analysis.summary : null;
  const entries = summary && typeof summary === 'object' && !Array.isArray(summary) ? Object.entries(summary) : [];
  return entries.map(([name, value]) => ({ name: name.replaceAll('_', ' '), value }));
}

function issueRows(analysis: Json): Json[] {
  return issues(analysis).map((x) => ({
    issue: x.name,
    severity: x.severity,
    loss_s: x.loss,
    what: x.what,
    ranks: x.ranks,
    pairs: x.pairs.map(([a, b]) => `${a}>${b}`),
  }));
}

/** Of per_rank, those of the ranks that are selected, if any. */
function rankRows(analysis: Json, machine: Machine, selected: ReadonlySet<number>): Json[] {
  const rows = list(analysis, 'per_rank').filter((x) => selected.size === 0 || selected.has(num(x, 'rank') ?? -1));
  return rows.map((x) => {
    const place = machine.ranks[num(x, 'rank') ?? -1];
    const core = machine.nodes[place?.node ?? -1]?.cores[place?.core ?? -1];
    return { ...(x as Record<string, Json>), core: core?.id ?? null };
  });
}

export class AnalyticsPanel {
  readonly element = h('aside', { class: 'machine-panel', 'aria-label': 'Analytics' });
  private readonly body = h('div', { class: 'rows' });
  private readonly chooser;
  private shown = '';

  constructor(
    private readonly app: App,
    private readonly machine: () => Machine,
    private readonly set: (change: Partial<MachineState>) => void,
  ) {
    this.chooser = choice('', 'Section', SECTIONS, (section) => set({ section }));
    fill(this.element, this.chooser.element, this.body);
  }

  sheet(): Sheet {
    const { section } = this.app.store.of<MachineState>(ID);
    const { analysis } = this.app.session;
    const title = SECTIONS.find(([id]) => id === section)?.[1] ?? section;
    const { selected } = this.app.store.state;
    if (section === 'issues') return sheetOf('Machine: issues', 'of the whole run', issueRows(analysis));
    if (section === 'summary') return sheetOf('Machine: summary', 'of the whole run', summaryRows(analysis));
    if (section === 'top_ranks') return sheetOf('Machine: top ranks', 'of the whole run', topRows(analysis));
    const rows = section === 'per_rank' ? rankRows(analysis, this.machine(), selected) : list(analysis, section);
    const note =
      section === 'per_rank' && selected.size > 0 ? `of ${count(selected.size)} selected ranks` : 'of the whole run';
    return sheetOf(`Machine: ${title}`, note, rows);
  }

  update(): void {
    const s = this.app.store.of<MachineState>(ID);
    this.element.hidden = !s.panel;
    if (!s.panel) return;
    this.chooser.put(s.section);
    const { selected } = this.app.store.state;
    const key = JSON.stringify([s.section, s.isolated, s.severity, [...selected]]);
    if (key === this.shown) return;
    this.shown = key;
    if (s.section === 'issues') fill(this.body, ...this.cards(s));
    else fill(this.body, this.table(this.sheet()));
  }

  private cards(s: MachineState): HTMLElement[] {
    const all = issues(this.app.session.analysis);
    const cards = all.flatMap((issue, i) =>
      isAtLeast(issue, s.severity) ? [this.card(issue, i, s.isolated === i)] : [],
    );
    return cards.length > 0 ? cards : [h('p', { class: 'hint' }, 'The analysis names no issue of this severity.')];
  }

  private card(issue: Issue, index: number, isolated: boolean): HTMLElement {
    const ranks = ranksOfIssue(issue);
    const { store } = this.app;
    const window = issue.window;
    return h(
      'article',
      { class: `card${isolated ? ' isolated' : ''}` },
      h('h3', {}, issue.title),
      h('p', {}, issue.what),
      h(
        'p',
        { class: 'hint' },
        `${issue.severity}, ${duration(issue.loss * 1e9)} lost, ${plural(ranks.length, 'rank')}, ${plural(issue.pairs.length, 'pair')}`,
      ),
      h(
        'span',
        { class: 'group wrap' },
        button(isolated ? 'Clear' : 'Isolate', 'Dim everything else', () =>
          this.set({ isolated: isolated ? -1 : index }),
        ),
        window && button('Go to its time', 'Show the time of this issue', () => this.goTo(window)),
        ranks.length > 0 &&
          button('Select ranks', 'Select the ranks of this issue', () => store.set({ selected: new Set(ranks) })),
      ),
    );
  }

  private goTo([from, to]: [number, number]): void {
    this.app.store.showInterval(from, to);
    this.set({ at: from });
  }

  private table(sheet: Sheet): HTMLElement {
    if (sheet.rows.length === 0) return h('p', { class: 'hint' }, 'The analysis has nothing of this.');
    const rows = sheet.rows.slice(0, ROWS_SHOWN);
    const text = (value: Cell) => (typeof value === 'number' ? String(Number(value.toPrecision(6))) : (value ?? ''));
    return h(
      'div',
      {},
      h(
        'table',
        {},
        h('thead', {}, h('tr', {}, ...sheet.columns.map((c) => h('th', { scope: 'col' }, c.title)))),
        h('tbody', {}, ...rows.map((row) => this.row(sheet, row, text))),
      ),
      sheet.rows.length > rows.length &&
        h(
          'p',
          { class: 'hint' },
          `The first ${count(rows.length)} of ${count(sheet.rows.length)}; all are in the table (T) and in files.`,
        ),
    );
  }

  /** A row goes to what it is about: its ranks, or its time. */
  private row(sheet: Sheet, row: Cell[], text: (value: Cell) => string): HTMLElement {
    const value = (name: string) => row[sheet.columns.findIndex((c) => c.name === name)];
    const ranks = ['rank', 'src', 'dst', 'last_rank']
      .map(value)
      .filter((x): x is number => typeof x === 'number' && x >= 0);
    const listed = value('ranks');
    if (typeof listed === 'string' && listed !== '') ranks.push(...listed.split(' ').map(Number));
    const [from, to] = [value('start_s'), value('end_s')];
    const act = () => {
      if (typeof from === 'number' && typeof to === 'number' && to > from) this.goTo([from * 1e9, to * 1e9]);
      else if (ranks.length > 0) this.app.store.set({ selected: new Set(ranks) });
    };
    const cells = row.map((x, i) =>
      h('td', {}, i === 0 ? h('button', { type: 'button', class: 'quiet', onclick: act }, text(x) || '–') : text(x)),
    );
    return h('tr', {}, ...cells);
  }
}
