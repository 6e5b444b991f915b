// tooltip.ts - a small box beside the pointer: a title and rows of name and value.
import { fill, h } from './dom';

export interface Tip {
  title: string;
  rows: [string, string][];
}

export class Tooltip {
  private readonly box = h('div', { class: 'tooltip', role: 'presentation', hidden: true });

  constructor(parent: HTMLElement) {
    parent.appendChild(this.box);
  }

  show(tip: Tip, x: number, y: number): void {
    fill(
      this.box,
      h('b', {}, tip.title),
      h('dl', {}, ...tip.rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    );
    this.box.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = x + 16 + width > innerWidth ? x - width - 12 : x + 16;
    const top = y + 18 + height > innerHeight ? y - height - 12 : y + 18;
    this.box.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }

  hide(): void {
    this.box.hidden = true;
  }
}
