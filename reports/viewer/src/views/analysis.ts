// analysis.ts - what the analysis says of the whole run: efficiencies, issues, waiting by state, call site and rank, phases, parts of the
// run, patterns of the traffic, correctness. From each a way to the place in the timeline. In: the analysis object.  Out: a page.
import { fill, h } from '../draw/dom';
import { button } from '../draw/tools';
import { WaitTreeTable } from '../draw/wait_tree';
import { WindowsChart, timeParts } from '../draw/windows';
import { count, duration, percent, plural } from '../layout/format';
import { asSentence, counted } from '../layout/unrecorded_words';
import { writeNumbers } from '../model/address';
import { issues, list, num, numbers, str } from '../model/analysis';
import type { Json } from '../model/analysis';
import { EFFICIENCIES } from '../model/efficiencies';
import { phasesOf } from '../model/phases';
import type { Cell, Sheet } from '../model/sheet';
import { stateName, waitTree } from '../model/wait_tree';
import type { WaitRow, WaitTree } from '../model/wait_tree';
import type { App, View, ViewInstance } from './view';

const ID = 'analysis';
const LISTED = 40;

interface Place {
  ranks: number[];
  window: [number, number] | null; // ns
}

function placeOf(x: Json): Place {
  const window = numbers(x, 'window_s');
  const has = window.length === 2 && window[1]! > window[0]!;
  return { ranks: numbers(x, 'ranks'), window: has ? [window[0]! * 1e9, window[1]! * 1e9] : null };
}

function section(title: string, ...body: (HTMLElement | null)[]): HTMLElement {
  return h('section', { 'aria-label': title }, h('h2', {}, title), ...body);
}

function colorNote(): HTMLElement {
  return h(
    'p',
    { class: 'hint' },
    'Colours as in the timeline; in front, orange: how much of it was waiting for others.',
  );
}

function few(ranks: number[]): string {
  const text = writeNumbers(ranks);
  return text.length > 40 ? `${plural(ranks.length, 'rank')}` : `ranks ${text}`;
}

class Analysis implements ViewInstance {
  private readonly tree: WaitTree;
  private readonly treeTable: WaitTreeTable;
  private readonly windows: WindowsChart | null;

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    const { session, tooltip, announce } = app;
    const { analysis, meta, callSites } = session;
    this.tree = waitTree(analysis, meta.ranks, callSites);
    this.treeTable = new WaitTreeTable(this.tree, {
      tooltip,
      announce,
      ranks: meta.ranks,
      selectRanks: (ranks) => app.store.set({ selected: new Set(ranks) }),
      filter: (row) => this.filterBy(row),
    });
    const parts = timeParts(analysis);
    const owner = {
      tooltip,
      announce,
      theme: () => app.theme(),
      show: (a: number, b: number) => this.show([], [a, b]),
    };
    this.windows = parts.length > 0 ? new WindowsChart(parts, phasesOf(analysis), owner) : null;
    fill(host, h('div', { class: 'analysis-page' }, ...this.sections()));
  }

  destroy(): void {
    this.host.replaceChildren();
  }

  private sections(): (HTMLElement | null)[] {
    return [
      h('div', { class: 'halves' }, this.efficiencies(), this.shape()),
      this.windows
        ? section('Parts of the run, and its phases', this.windows.element, this.phaseNote(), colorNote())
        : null,
      section('Who waited, where, how long', ...this.waiting()),
      section('Issues', this.issueList()),
      section('Correctness', this.correctness()),
    ];
  }

  private show(ranks: number[], window: [number, number] | null): void {
    const { store } = this.app;
    if (window) store.showInterval(window[0], window[1]);
    store.set({ selected: new Set(ranks), view: 'timeline' });
    if (ranks.length > 0) this.app.reveal(ranks);
  }

  private shower(what: string, { ranks, window }: Place): HTMLElement | null {
    if (ranks.length === 0 && !window) return null;
    return button('Show', `Show in the timeline: ${what}`, () => this.show(ranks, window));
  }

  private filterBy(row: WaitRow): void {
    const site = this.app.session.callSites.get(row.site);
    const place = site ? `${site.place === '' ? '' : `site:"${site.place}" `}${site.op} ` : '';
    this.app.filterBy(`${place}wait`);
  }

  // ---- sections ----

  private efficiencies(): HTMLElement {
    const { analysis } = this.app.session;
    const note = str(analysis, 'efficiency', 'note');
    const rows = EFFICIENCIES.map(([key, name, what, level]) => {
      const share = num(analysis, 'efficiency', key);
      const bar = h('span', {});
      bar.style.width = `${Math.min(100, Math.max(0, (share ?? 0) * 100))}%`;
      return h(
        'tr',
        { title: what },
        h('td', { class: `level${level}` }, name, h('span', { class: 'bar' }, bar)),
        h('td', { class: 'n' }, percent(share)),
      );
    });
    const table = h('table', { class: 'ops' }, h('tbody', {}, ...rows));
    return section('Efficiencies', table, note ? h('p', { class: 'hint' }, note) : null);
  }

  private shape(): HTMLElement {
    const patterns = list(this.app.session.analysis, 'patterns');
    const pattern = (x: Json) => {
      const unknown = str(x, 'pattern') === 'irregular';
      const name = unknown ? 'no known pattern' : str(x, 'pattern').replaceAll('_', ' ');
      const grid = numbers(x, 'grid');
      const [share, score] = [num(x, 'share'), num(x, 'score')];
      const of = str(x, 'traffic') === 'collective' ? 'of collectives' : 'of messages';
      const facts = [
        grid.length > 0 ? `${grid.join(' × ')} ranks` : '',
        score === undefined || unknown ? '' : `fits to ${percent(score)}`,
        share === undefined ? '' : `${percent(share)} of the bytes ${of}`,
      ].filter((t) => t !== '');
      return h(
        'li',
        {},
        h('div', {}, h('b', {}, name), ` ${facts.join(', ')}`),
        h('p', { class: 'hint' }, str(x, 'evidence')),
        this.shower(name, placeOf(x)),
      );
    };
    const body = patterns.length > 0 ? h('ul', { class: 'plain' }, ...patterns.map(pattern)) : null;
    return section(
      'Patterns of the traffic',
      body ?? h('p', { class: 'hint' }, 'No pattern fits most of the traffic.'),
    );
  }

  private phaseNote(): HTMLElement | null {
    const { analysis } = this.app.session;
    const note = str(analysis, 'phases', 'note');
    if (note) return h('p', { class: 'hint' }, note);
    const n = num(analysis, 'phases', 'iterations');
    if (n === undefined) return null;
    const s = (key: string) => duration((num(analysis, 'phases', key) ?? 0) * 1e9);
    const text = `${plural(n, 'iteration')} of ${s('iteration_s')}, from ${s('shortest_s')} to ${s('longest_s')}`;
    return h('p', { class: 'hint' }, text);
  }

  private waiting(): (HTMLElement | null)[] {
    if (this.tree.rows[0]!.seconds <= 0) {
      const none = counted(0, 'no rank waited', this.app.session);
      return [h('p', { class: 'hint' }, asSentence(none))];
    }
    const { each, leftOut } = this.tree;
    const notes = [
      each > 1 ? `A column is ${each} ranks.` : '',
      leftOut > 0 ? `${count(leftOut)} shorter rows are not in the analysis.` : '',
      'Colours: of each row from little to most.',
    ];
    return [this.treeTable.element, h('p', { class: 'hint' }, notes.filter((t) => t !== '').join(' '))];
  }

  private issueList(): HTMLElement {
    const found = issues(this.app.session.analysis);
    if (found.length === 0) return h('p', { class: 'hint' }, 'Nothing to fix.');
    const rows = found.map((x) =>
      h(
        'tr',
        {},
        h('td', {}, x.severity),
        h('td', {}, h('b', {}, x.title), h('div', { class: 'hint' }, x.what)),
        h('td', { class: 'n' }, x.loss > 0 ? duration(x.loss * 1e9) : ''),
        h('td', {}, this.shower(x.title, x)),
      ),
    );
    return this.table(['severity', 'issue', 'lost', ''], rows);
  }

  private correctness(): HTMLElement {
    const { analysis } = this.app.session;
    const all = list(analysis, 'correctness').length;
    if (all === 0) return h('p', { class: 'hint' }, 'No errors were recorded.');
    const rows = list(analysis, 'correctness')
      .slice(0, LISTED)
      .map((x) => {
        const first = num(list(x, 'examples')[0], 'time_s');
        const window: [number, number] | null = first === undefined ? null : [first * 1e9 - 1e5, first * 1e9 + 1e6];
        const place = { ranks: numbers(x, 'ranks'), window };
        return h(
          'tr',
          {},
          h('td', {}, str(x, 'severity')),
          h('td', {}, str(x, 'what'), h('div', { class: 'hint' }, place.ranks.length > 0 ? few(place.ranks) : '')),
          h('td', { class: 'n' }, count(num(x, 'count') ?? 1)),
          h('td', {}, this.shower(str(x, 'kind'), place)),
        );
      });
    const left = all - rows.length;
    return h(
      'div',
      {},
      this.table(['severity', 'what', 'times', ''], rows),
      left > 0 ? h('p', {}, `and ${left} more`) : null,
    );
  }

  private table(head: string[], rows: HTMLElement[]): HTMLElement {
    const cells = head.map((text, i) => h(text ? 'th' : 'td', i === 2 ? { class: 'n' } : {}, text));
    return h('table', { class: 'ops wide-rows' }, h('thead', {}, h('tr', {}, ...cells)), h('tbody', {}, ...rows));
  }

  update(): void {
    this.treeTable.update();
    this.windows?.update();
    const { rows, columns } = this.tree;
    Object.assign(this.app.drawn, { waitRows: rows.length, waitColumns: columns, waitSeconds: rows[0]!.seconds });
  }

  sheet(): Sheet {
    const { analysis, callSites } = this.app.session;
    const rows: Cell[][] = [];
    for (const [key, name] of EFFICIENCIES)
      rows.push(['efficiency', name, '', null, num(analysis, 'efficiency', key) ?? null, null]);
    for (const x of issues(analysis)) rows.push(['issue', x.title, x.what, null, x.loss, null]);
    for (const x of list(analysis, 'wait_states')) {
      const site = callSites.get(num(x, 'callsite') ?? -1);
      const place = site ? `${site.op} ${site.place}` : '';
      const [rank, seconds, times] = [num(x, 'rank') ?? null, num(x, 'seconds') ?? null, num(x, 'count') ?? null];
      rows.push(['waiting', stateName(str(x, 'state')), place, rank, seconds, times]);
    }
    for (const x of list(analysis, 'patterns'))
      rows.push(['pattern', str(x, 'pattern'), str(x, 'evidence'), null, num(x, 'score') ?? null, null]);
    for (const x of list(analysis, 'correctness'))
      rows.push(['correctness', str(x, 'kind'), str(x, 'what'), null, null, num(x, 'count') ?? null]);
    for (const x of timeParts(analysis))
      rows.push(['part', `${duration(x.from)} to ${duration(x.to)}`, 'waiting', null, x.wait, null]);
    const names = ['section', 'name', 'what', 'rank', 'value', 'count'];
    const columns = names.map((name) => ({ name, title: name }));
    return { title: 'Analysis', note: 'Times in seconds, efficiencies and scores as shares', columns, rows };
  }
}

export const analysis: View = {
  id: ID,
  title: 'Analysis',
  state: () => ({}),
  create: (app, host) => new Analysis(app, host),
};
