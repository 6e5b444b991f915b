// protocol.ts - does the run keep to a protocol? A specification is written or loaded, applied at a level of strictness; its verdicts are
// those of `mpitrace check`. In: checks that the worker makes.  Out: counts by colour and by rule, a list of messages.
import { fill, h } from '../draw/dom';
import { needsAll } from '../draw/only_totals';
import { Grid } from '../draw/grid';
import { button } from '../draw/tools';
import { count, plural } from '../layout/format';
import { COLOURS_SHOWN, COLOUR_STYLES, LEVEL_WORDS } from '../layout/protocol_colors';
import type { Checked } from '../model/check';
import { LEVELS, SPEC_BYTES_MAX } from '../model/protocol';
import type { Colour } from '../model/protocol';
import type { Sheet } from '../model/sheet';
import type { ProtocolAnswer } from '../work/protocol';
import { SpecEditor } from './protocol_editor';
import { RESULT_COLUMNS, resultCells, ruleName, sheetOf } from './protocol_sheet';
import type { App, View, ViewInstance } from './view';

const ID = 'protocol';
const ADDRESS_MAX = 2000; // letters of a specification that the address holds

interface ProtocolState {
  [key: string]: string | number | string[];
  text: string; // applied; '' where it is too long for the address
  name: string;
  level: number;
  hidden: string[]; // colours
}

/** A rule that is too long for the gutter is said in full when it is pointed at. */
const ruleRow = (r: Checked['rules'][number], name: string) =>
  h(
    'tr',
    {},
    h('td', { class: 'n' }, name),
    h('td', { class: 'rule', title: r.text }, r.text),
    ...[r.matched + r.violated, r.matched, r.violated].map((n) => h('td', { class: 'n' }, count(n))),
  );

class ProtocolView implements ViewInstance {
  private readonly editor = new SpecEditor(
    () => this.sayDraft(),
    () => this.apply(),
  );
  private readonly note = h('span', { class: 'note', role: 'status' });
  private readonly draft = h('span', { class: 'hint' });
  private readonly rules = h('div', { class: 'spec-rules' });
  private readonly keys = h('div', { class: 'spec-colours', role: 'group', 'aria-label': 'Which messages are listed' });
  private readonly chooser;
  private readonly reloader = button('Reload', 'Read the file again', () => void this.reload());
  private readonly levels: HTMLInputElement[];
  private readonly grid: Grid;
  private file: File | null = null;
  private long = ''; // an applied text that the address does not hold
  private text = ''; // applied
  private asked = '';
  private checked: Checked | null = null;
  private share = 0;

  constructor(
    private readonly app: App,
    private readonly host: HTMLElement,
  ) {
    this.chooser = h('input', {
      type: 'file',
      hidden: true,
      'aria-label': 'File with a specification',
      onchange: () => {
        this.file = this.chooser.files?.[0] ?? null;
        this.chooser.value = ''; // the same one can be chosen again
        void this.reload();
      },
    });
    this.reloader.disabled = true;
    this.levels = LEVELS.map((level) =>
      h('input', {
        type: 'radio',
        name: 'protocol-level',
        value: level,
        'aria-label': `Level ${level}: ${LEVEL_WORDS[level]}`,
        onchange: () => this.set({ level }),
      }),
    );
    this.grid = new Grid({
      label: 'Messages and their verdicts, those that do not conform first',
      want: (first, number) => this.putRows(first, number),
      pick: (row) => this.pick(row),
      open: (row) => this.open(row),
    });
    this.grid.setColumns(RESULT_COLUMNS.map((c) => ({ ...c, sorts: false })));
    host.append(this.tools(), ...needsAll(app.session), this.body());
    this.text = this.state().text;
    this.editor.put(this.text);
  }

  private tools(): HTMLElement {
    const levels = this.levels.map((input, level) =>
      h('label', { class: 'tool', title: LEVEL_WORDS[level] ?? '' }, input, String(level)),
    );
    return h(
      'div',
      { class: 'tools' },
      button('Load…', 'Load a specification from a file', () => this.chooser.click()),
      this.reloader,
      button('Apply', 'Check all messages against what is written (Ctrl+Enter)', () => this.apply()),
      this.draft,
      h('span', { class: 'tool', role: 'radiogroup', 'aria-label': 'Level of strictness' }, 'level', ...levels),
      this.note,
      this.chooser,
    );
  }

  private body(): HTMLElement {
    return h(
      'div',
      { class: 'spec-body' },
      h('div', { class: 'spec-left' }, this.editor.element, this.rules),
      h('div', { class: 'spec-right' }, this.keys, this.grid.element),
    );
  }

  destroy(): void {
    this.app.session.giveUp(ID);
    this.host.replaceChildren();
  }

  private state(): ProtocolState {
    return this.app.store.of<ProtocolState>(ID);
  }

  private set(change: Partial<ProtocolState>): void {
    this.app.store.setView(ID, change as ProtocolState);
  }

  // ---- the specification ----

  private async reload(): Promise<void> {
    const { file } = this;
    if (!file) return;
    try {
      if (file.size > SPEC_BYTES_MAX)
        throw new Error(`${file.name}: over the limit of ${SPEC_BYTES_MAX} bytes for a specification`);
      this.editor.put(await file.text());
      this.reloader.disabled = false;
      this.apply(file.name);
    } catch (error) {
      // a browser reads a file that has changed only when it is chosen again
      if ((error as Error).name !== 'NotReadableError') return this.app.fail(error);
      this.app.announce(`${file.name} has changed: choose it again`);
      this.chooser.click();
    }
  }

  private apply(name = this.file?.name ?? ''): void {
    const { text } = this.editor;
    const isLong = text.length > ADDRESS_MAX;
    this.long = isLong ? text : '';
    this.text = text;
    this.asked = '';
    this.set({ text: isLong ? '' : text, name });
    this.app.redraw();
  }

  private sayDraft(): void {
    const text = this.editor.text === this.text ? '' : 'not applied yet';
    if (this.draft.textContent !== text) this.draft.textContent = text;
  }

  /** The address may have been changed, or a change undone. */
  private follow(): void {
    const now = this.state().text || this.long;
    if (now === this.text) return;
    this.text = now;
    this.editor.put(now);
  }

  // ---- the check ----

  update(): void {
    this.follow();
    const { level, name } = this.state();
    this.levels.forEach((input, i) => (input.checked = i === level));
    const shown = this.colours();
    const query = { text: this.text, name: name || 'specification', level, shown };
    const key = JSON.stringify(query);
    if (key !== this.asked) {
      this.asked = key;
      this.ask(query);
    }
    this.sayDraft();
    this.draw();
  }

  private ask(query: { text: string; name: string; level: number; shown: Colour[] }): void {
    if (query.text.trim() === '') {
      this.app.session.giveUp(ID);
      this.take({ checked: null, mistake: null, share: 1 });
    } else this.app.session.ask(ID, 'protocol', query, (answer) => this.take(answer), this.app.fail);
  }

  private colours(): Colour[] {
    const hidden = new Set(this.state().hidden);
    return COLOURS_SHOWN.filter((c) => !hidden.has(c));
  }

  private take({ checked, mistake, share }: ProtocolAnswer): void {
    this.share = share;
    if (share < 1 && !mistake) return this.app.redraw();
    this.checked = checked;
    this.editor.show(mistake);
    const words = (r: Checked['rules'][number]) => `${count(r.matched)} matched, ${count(r.violated)} violated`;
    this.editor.putCounts(new Map(checked?.rules.map((r) => [r.line, words(r)]) ?? []));
    this.drawRules();
    this.putRows(0, 60);
    this.grid.look();
    this.app.redraw();
  }

  // ---- what is shown ----

  private draw(): void {
    const c = this.checked;
    this.drawKeys();
    const text = this.inWords(c);
    if (this.note.textContent !== text) this.note.textContent = text;
    this.putRows(this.first, this.number);
    const done = this.share === 1;
    Object.assign(this.app.drawn, {
      protocolColours: c?.colours ?? null,
      protocolListed: c?.results.length ?? 0,
      protocolDone: done,
    });
  }

  private inWords(c: Checked | null): string {
    if (this.text.trim() === '') return 'Write or load a specification: which messages may the program send?';
    if (this.share < 1 && this.share > 0) return `reading, ${Math.round(100 * this.share)} %`;
    if (!c) return 'the specification is wrong';
    const bad = c.colours.red + c.colours.orange;
    const good = c.unreceived === 0 ? 'the trace conforms' : 'what was received conforms';
    const verdict = bad === 0 ? good : `${count(bad)} do not conform`;
    const lost = c.unreceived > 0 ? `; ${plural(c.unreceived, 'more message')} sent, not received, not checked` : '';
    const unknown = c.unknownLines > 0 ? `; lines not known of ${count(c.unknownLines)} (compile with -g)` : '';
    const left = c.leftOut > 0 ? `; ${count(c.leftOut)} not listed` : '';
    return `${plural(c.messages, 'message')}: ${verdict}${lost}${unknown}${left}`;
  }

  /** Counts by colour; each a switch of what is listed. */
  private drawKeys(): void {
    const hidden = new Set(this.state().hidden);
    const key = JSON.stringify([this.checked?.colours ?? null, ...hidden]);
    if (this.keys.dataset.key === key) return;
    const focused = [...this.keys.children].findIndex((x) => x.contains(document.activeElement));
    this.keys.dataset.key = key;
    const boxes = COLOURS_SHOWN.map((colour) => {
      const { hex, border, sign, means } = COLOUR_STYLES[colour];
      const flip = () => {
        const next = hidden.has(colour) ? [...hidden].filter((c) => c !== colour) : [...hidden, colour];
        this.set({ hidden: next });
      };
      const box = h('input', { type: 'checkbox', onchange: flip });
      box.checked = !hidden.has(colour);
      const line = h('span', { class: 'spec-line', 'aria-hidden': 'true' });
      line.style.borderTop = `3px ${border} ${hex}`;
      const n = this.checked ? count(this.checked.colours[colour]) : '–';
      return h('label', { class: 'tool', title: `${colour}: ${means}` }, box, line, `${sign} ${colour}`, h('b', {}, n));
    });
    fill(this.keys, ...boxes);
    if (focused >= 0) boxes[focused]?.querySelector('input')?.focus();
  }

  private drawRules(): void {
    const c = this.checked;
    if (!c) return fill(this.rules);
    const heads = ['Line', 'Rule', 'Applied', 'Matched', 'Violated'];
    fill(
      this.rules,
      h(
        'table',
        { 'aria-label': 'Rules' },
        h(
          'thead',
          {},
          h('tr', {}, ...heads.map((text, i) => h('th', { scope: 'col', class: i === 1 ? '' : 'n' }, text))),
        ),
        h('tbody', {}, ...c.rules.slice(0, 500).map((r, i) => ruleRow(r, ruleName(c, i)))),
      ),
      c.rules.length > 500 && h('p', { class: 'hint' }, `${plural(c.rules.length - 500, 'more rule')}`),
    );
  }

  private first = 0;
  private number = 60;

  private putRows(first: number, number: number): void {
    [this.first, this.number] = [first, number];
    const c = this.checked;
    const results = c?.results ?? [];
    const from = Math.min(first, results.length);
    this.grid.put({
      total: results.length,
      first: from,
      rows: c ? results.slice(from, from + number).map((r) => resultCells(c, r)) : [],
      sort: '',
      descending: false,
      picked: results.findIndex((r) => r.ref === this.app.store.state.picked),
    });
  }

  /** The message is what all views show as picked. */
  private pick(row: number): void {
    const r = this.checked?.results[row];
    if (!r) return;
    this.app.store.set({ picked: r.ref });
    this.app.reveal([r.sender, r.receiver]);
  }

  /** In the timeline, with a little of what is around it. */
  private open(row: number): void {
    const r = this.checked?.results[row];
    if (!r) return;
    this.pick(row);
    const air = Math.max(1, r.end - r.start);
    this.app.store.showInterval(r.start - air, r.end + air);
    this.app.store.set({ view: 'timeline' });
  }

  sheet(): Sheet {
    return sheetOf(this.checked, this.state().name);
  }
}

export const protocol: View = {
  id: ID,
  title: 'Protocol',
  state: (): ProtocolState => ({ text: '', name: '', level: 0, hidden: [] }),
  create: (app, host) => new ProtocolView(app, host),
};
