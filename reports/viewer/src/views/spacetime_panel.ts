// spacetime_panel.ts - beside the diagram: the event that is picked, super epochs with their budget, and what the check of a protocol says.
import { fill, h } from '../draw/dom';
import { button } from '../draw/tools';
import { bytes, count, plural } from '../layout/format';
import { COLOUR_STYLES } from '../layout/protocol_colors';
import { superInWords } from '../layout/spacetime_words';
import { Role } from '../model/section';
import type { Section } from '../model/section';
import type { EpochNeed, SuperEpochs } from '../model/super_epochs';
import type { Colour, Judged } from '../model/protocol';
import type { Run } from './spacetime_run';

export interface Actions {
  budget(n: number): void;
  goToEpoch(run: Run, epoch: number): void;
  goToEvent(run: Run, event: number): void;
}

const RECEIVERS_SHOWN = 12;
const BUDGET_MAX = 16; // powers of two on the slider

export class SpacePanel {
  readonly element: HTMLElement;
  private readonly check = h('section', { class: 'space-check' });
  private readonly event = h('section', { class: 'space-event', 'aria-live': 'polite' });
  private readonly answer = h('div', {});
  private readonly needs = h('div', {});
  private readonly slider: HTMLInputElement;
  private readonly box: HTMLInputElement;
  private shown = '';

  constructor(private readonly act: Actions) {
    this.slider = h('input', {
      type: 'range',
      min: -1,
      max: BUDGET_MAX,
      step: 0.25,
      'aria-label': 'Buffers that super epochs may need at most',
      oninput: () => act.budget(Number(this.slider.value) < 0 ? 0 : Math.round(2 ** Number(this.slider.value))),
    });
    this.box = h('input', {
      type: 'number',
      min: 0,
      class: 'short',
      'aria-label': 'Budget of buffers; 0: no super epochs',
      onchange: () => act.budget(Math.max(0, Math.round(Number(this.box.value)) || 0)),
    });
    this.element = h(
      'aside',
      { class: 'space-panel', 'aria-label': 'Event, super epochs, protocol' },
      this.event,
      h(
        'section',
        { class: 'space-super' },
        h('h2', {}, 'Super epochs'),
        h('label', { class: 'tool' }, 'at most', this.slider, this.box, 'buffers'),
        this.answer,
        this.needs,
      ),
      this.check,
    );
  }

  /** runs: one, or two beside each other, which have been read. What is said of one run has its name where there are two. */
  put(runs: readonly Run[], budget: number): void {
    const chosen = runs.find((run) => run.picked >= 0) ?? runs[0]!;
    const name = runs.length > 1 ? chosen.session.name : '';
    this.putEvent(chosen, name);
    const epoch = chosen.picked >= 0 ? chosen.section!.events.epoch[chosen.picked]! : -1;
    this.putSuper(chosen.section!, chosen.needs, chosen.merge(budget), budget, epoch, name);
    this.putCheck(runs);
  }

  private putEvent(run: Run, name: string): void {
    const { section: s, picked: i } = run;
    if (!s || i < 0) {
      const text = 'Click an event: source, destination, numbers, epoch, call sites.';
      return fill(this.event, h('h2', {}, 'Event'), h('p', { class: 'hint' }, text));
    }
    const { title, rows } = run.tip(i);
    const verdict = run.judgedAt(i);
    if (verdict) rows.push(...verdictRows(verdict));
    const m = s.events.thing[i]!;
    const isPart = s.events.role[i] === Role.Part;
    const other = isPart ? -1 : s.events.role[i] === Role.Send ? s.messages.receive[m]! : s.messages.send[m]!;
    fill(
      this.event,
      h('h2', {}, title),
      name !== '' && h('p', { class: 'hint' }, `of ${name}`),
      h('dl', {}, ...rows.flatMap(([key, value]) => [h('dt', {}, key), h('dd', {}, value)])),
      h(
        'div',
        { class: 'group wrap' },
        other >= 0 && button('Other end', 'To the other end of the message (G)', () => this.act.goToEvent(run, other)),
        button('Zoom to the epoch', 'Zoom to the epoch (E)', () => this.act.goToEpoch(run, s.events.epoch[i]!)),
      ),
    );
  }

  private putCheck(runs: readonly Run[]): void {
    const words = runs.flatMap((run) => {
      const sums = sumsOf(run);
      return runs.length > 1 && sums.length > 0 ? [`${run.session.name}:`, ...sums] : sums;
    });
    if (!runs.some((run) => run.isChecked))
      words.push('Apply a specification in the view Protocol: messages have its colours here.');
    fill(this.check, h('h2', {}, 'Protocol'), ...words.map((text) => h('p', { class: 'hint' }, text)));
  }

  private putSuper(
    s: Section,
    needs: readonly EpochNeed[],
    merged: SuperEpochs | null,
    budget: number,
    epoch: number,
    of: string,
  ): void {
    if (document.activeElement !== this.slider) this.slider.value = String(budget > 0 ? Math.log2(budget) : -1);
    if (document.activeElement !== this.box) this.box.value = String(budget);
    const lines = superInWords(s, needs, merged, budget);
    if (of !== '') lines.unshift(`of ${of}:`);
    const rows = epoch >= 0 ? (needs[epoch]?.receivers ?? []) : [];
    const key = JSON.stringify([lines, rows, epoch]);
    if (key === this.shown) return;
    this.shown = key;
    fill(this.answer, ...lines.map((text) => h('p', {}, text)));
    const most = [...rows].sort((a, b) => b.messages - a.messages || a.rank - b.rank).slice(0, RECEIVERS_SHOWN);
    const name = epoch >= 0 && s.epochs[epoch]!.number > 0 ? `E${s.epochs[epoch]!.number}` : 'This epoch';
    const head = ['receiver', 'buffers', 'at once'];
    const table = h(
      'table',
      { class: 'ops' },
      h('caption', {}, `${name} needs ${plural(needs[epoch]?.total.messages ?? 0, 'buffer')} in all`),
      h('tr', {}, ...head.map((text, i) => h('th', { class: i > 0 ? 'n' : '', scope: 'col' }, text))),
      ...most.map((x) =>
        h(
          'tr',
          {},
          h('td', {}, `rank ${x.rank}`),
          h('td', { class: 'n' }, count(x.messages)),
          h('td', { class: 'n' }, bytes(x.bytes)),
        ),
      ),
    );
    fill(this.needs, most.length > 0 ? table : null);
  }
}

/** How many messages have each colour. */
function sumsOf(run: Run): string[] {
  const sums = new Map<Colour, number>();
  if (!run.isChecked) return [];
  for (let k = 0; k < run.section!.messages.count; k++) {
    const colour = run.judged(k)?.colour;
    if (colour) sums.set(colour, (sums.get(colour) ?? 0) + 1);
  }
  return [...sums].map(([c, n]) => `${COLOUR_STYLES[c].sign} ${c}: ${count(n)}, ${COLOUR_STYLES[c].means}`);
}

/** As names and values. */
export function verdictRows(v: Judged): [string, string][] {
  const style = COLOUR_STYLES[v.colour];
  const which = (n: number, list: number[]) =>
    n === 0 ? 'none' : `${count(n)}: ${list.map((k) => `rule ${k + 1}`).join(', ')}`;
  return [
    ['protocol', `${style.sign} ${v.colour}: ${style.means}`],
    ['matches', which(v.A, v.matched)],
    ['violates', which(v.L, v.violated)],
  ];
}
