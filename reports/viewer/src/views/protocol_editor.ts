// protocol_editor.ts - where a specification is written: lines with numbers, and what is wrong under its place.
import { fill, h } from '../draw/dom';
import type { Mistake } from '../model/protocol';

const LINE_PX = 18; // as in protocol.css

export class SpecEditor {
  readonly element: HTMLElement;
  readonly area: HTMLTextAreaElement;
  private readonly numbers = h('div', { class: 'spec-numbers', 'aria-hidden': 'true' });
  private readonly caret = h('span', {}, '^');
  private readonly mark = h('div', { class: 'spec-mark', hidden: true });
  private readonly error = h('pre', { class: 'spec-error', role: 'alert', id: 'spec-error', hidden: true });
  private mistake: Mistake | null = null;
  private lines = 0;
  private counts: ReadonlyMap<number, string> = new Map();

  constructor(
    private readonly changed: () => void,
    apply: () => void,
  ) {
    this.area = h('textarea', {
      wrap: 'off',
      spellcheck: 'false',
      autocomplete: 'off',
      'aria-label': 'Specification: rules such as P(i,*) -> P((i+1)%n,*); Ctrl Enter applies it',
      placeholder: '# everybody sends to the next rank\nP(i,*) -> P((i+1)%n,*);',
      oninput: () => this.edit(),
      onscroll: () => this.scroll(),
      onkeydown: (e: KeyboardEvent) => {
        if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey)) return;
        e.preventDefault();
        apply();
      },
    });
    const text = h('div', { class: 'spec-text' }, this.area, this.mark);
    this.element = h('div', { class: 'spec' }, h('div', { class: 'spec-lines' }, this.numbers, text), this.error);
    this.number();
  }

  get text(): string {
    return this.area.value;
  }

  put(text: string): void {
    if (this.area.value === text) return;
    this.area.value = text;
    this.number();
  }

  private edit(): void {
    this.show(null); // it was of what stood there before
    this.number();
    this.changed();
  }

  /** What rules came to, by their lines. */
  putCounts(counts: ReadonlyMap<number, string>): void {
    this.counts = counts;
    this.lines = 0;
    this.number();
  }

  private number(): void {
    const lines = this.area.value.split('\n').length;
    if (lines === this.lines) return this.scroll();
    this.lines = lines;
    const rows = Array.from({ length: Math.min(lines, 20_000) }, (_, i) => {
      const isWrong = this.mistake?.line === i + 1;
      const what = this.counts.get(i + 1);
      return h('div', { class: isWrong ? 'wrong' : '', title: what }, `${isWrong ? '✗ ' : ''}${i + 1}`);
    });
    fill(this.numbers, ...rows);
    this.scroll();
  }

  private scroll(): void {
    const { scrollTop, scrollLeft } = this.area;
    this.numbers.style.transform = `translateY(${-scrollTop}px)`;
    const { mistake } = this;
    this.mark.hidden = !mistake || mistake.line === 0;
    if (!mistake) return;
    const y = mistake.line * LINE_PX - scrollTop;
    this.mark.style.transform = `translateY(${y}px)`;
    this.caret.style.paddingLeft = `max(0px, calc(${mistake.column - 1}ch - ${scrollLeft}px))`;
    this.mark.hidden ||= y < 0 || y > this.area.clientHeight;
  }

  /** null: nothing is wrong. */
  show(mistake: Mistake | null): void {
    if (mistake === this.mistake) return;
    this.mistake = mistake;
    this.error.hidden = !mistake;
    this.error.textContent = mistake?.message ?? '';
    fill(this.mark, this.caret, mistake?.what);
    this.area.setAttribute('aria-invalid', String(mistake !== null));
    this.area.setAttribute('aria-describedby', mistake ? 'spec-error' : '');
    if (mistake && mistake.line > 0) {
      const top = (mistake.line - 1) * LINE_PX;
      const { scrollTop, clientHeight } = this.area;
      if (top < scrollTop || top + 2 * LINE_PX > scrollTop + clientHeight) this.area.scrollTop = top - clientHeight / 2;
    }
    this.lines = 0;
    this.number();
  }
}
