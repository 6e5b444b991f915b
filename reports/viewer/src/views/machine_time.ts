// machine_time.ts - the instant that the machine view shows, within the interval that all views share: seek, step, play at a speed of its own.
import { h } from '../draw/dom';
import { button } from '../draw/tools';
import { exactMoment } from '../layout/format';
import { ID } from './machine_state';
import type { MachineState } from './machine_state';
import { SPEED_MAX, SPEED_MIN } from './machine_tools';
import type { App } from './view';

const PLAY_SECONDS = 12; // that the interval lasts, where no speed is chosen
const CALM_MS = 500; // between two pictures, for whoever wants little motion

export class Playback {
  readonly row: HTMLElement;
  private playing = 0; // of requestAnimationFrame
  private readonly button = h('button', { type: 'button', onclick: () => this.toggle() }, 'Play');
  private readonly clock = h('output', { class: 'facts' });
  private readonly slider = h('input', {
    type: 'range',
    class: 'wide',
    min: 0,
    max: 1000,
    step: 0.5,
    'aria-label': 'Instant',
    oninput: () => this.seek(Number(this.slider.value) / 1000),
  });

  constructor(
    private readonly app: App,
    private readonly state: () => MachineState,
    private readonly set: (change: Partial<MachineState>) => void,
    tools: HTMLElement[],
  ) {
    const back = button('◂', 'Step back (,)', () => this.step(-1));
    const on = button('▸', 'Step (.)', () => this.step(1));
    this.row = h('div', { class: 'tools bottom' }, this.button, back, on, this.slider, this.clock, ...tools);
  }

  halfLife(): number {
    const { from, to } = this.app.store.state;
    return this.state().halfLife || Math.max(1, (to - from) / 100);
  }

  speed(): number {
    const { from, to } = this.app.store.state;
    const own = (to - from) / 1e9 / PLAY_SECONDS;
    return Math.min(10 ** SPEED_MAX, Math.max(10 ** SPEED_MIN, this.state().speed || own));
  }

  /** The instant shown, ns, within the interval. */
  at(): number {
    const { from, to } = this.app.store.state;
    const { runtime } = this.app.session.meta;
    const { at } = this.state();
    const middle = (Math.max(0, from) + Math.min(to, runtime)) / 2;
    return Math.round(at < 0 ? middle : Math.min(Math.max(at, from, 0), to, runtime));
  }

  private seek(share: number): void {
    const { from, to } = this.app.store.state;
    this.set({ at: Math.round(Math.max(0, from + share * (to - from))) });
  }

  step(by: number): void {
    this.set({ at: Math.max(0, this.at() + Math.round(by * this.halfLife())) });
  }

  stop(): void {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.button.textContent = 'Play';
  }

  toggle(): void {
    if (this.playing !== 0) return this.stop();
    this.button.textContent = 'Pause';
    const { from, to } = this.app.store.state;
    const end = Math.min(to, this.app.session.meta.runtime);
    let at = this.at() >= end ? Math.max(0, from) : this.at();
    let last = performance.now();
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const frame = (now: number) => {
      if (this.app.store.state.view !== ID) return this.stop();
      this.playing = requestAnimationFrame(frame);
      if (now - last < (isCalm ? CALM_MS : 0)) return;
      at += Math.max(0, now - last) * 1e6 * this.speed();
      last = now;
      this.set({ at: Math.round(Math.min(at, end)) });
      if (at >= end) this.stop();
    };
    this.playing = requestAnimationFrame(frame);
  }

  show(): void {
    const { from, to } = this.app.store.state;
    const now = this.at();
    if (document.activeElement !== this.slider)
      this.slider.value = String(((now - from) / Math.max(1, to - from)) * 1000);
    this.slider.setAttribute('aria-valuetext', exactMoment(now));
    this.clock.textContent = exactMoment(now);
  }
}
