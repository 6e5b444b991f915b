// spacetime_run.ts - one run in the space-time view: what was read of it, laid out under the filters, judged by the protocol, drawn, and found
// again by pointer and by name. The first run and the one beside it are the same to this.
import { marginsOf, paintSpacetime } from '../draw/spacetime';
import type { Scene } from '../draw/spacetime_scene';
import type { Tip } from '../draw/tooltip';
import { percent } from '../layout/format';
import { diagramOf, levelsOf } from '../layout/spacetime';
import type { Diagram, Levels } from '../layout/spacetime';
import { acrossOf, alongOf, frameOf } from '../layout/spacetime_frame';
import type { Counts, Frame } from '../layout/spacetime_frame';
import { eventAtPoint } from '../layout/spacetime_pick';
import { eventRows, eventTitle, noteOf } from '../layout/spacetime_words';
import type { Names } from '../layout/spacetime_words';
import { NO_LINE } from '../model/protocol';
import type { Ends, Judged } from '../model/protocol';
import { Role } from '../model/section';
import type { Section, SectionQuery } from '../model/section';
import { mergeEpochs, needsOf } from '../model/super_epochs';
import type { EpochNeed, SuperEpochs, SuperRun } from '../model/super_epochs';
import type { Session } from '../work/session';
import { choiceOf, nodeLines, zoomOf } from './spacetime_state';
import type { SpaceState } from './spacetime_state';
import type { App } from './view';

export class Run {
  section: Section | null = null;
  diagram: Diagram | null = null;
  frame: Frame | null = null;
  needs: EpochNeed[] = [];
  picked = -1; // event
  readonly nodes: ReturnType<typeof nodeLines>;
  readonly names: Names;
  private levels: Levels | null = null;
  private merged: { budget: number; of: SuperEpochs } | null = null;
  private asked = '';
  private arranged = '';
  private verdicts: (Judged | null)[] | null = null; // by message
  private checked = '';

  /** asker: of the session; came: a section is there, or, with words, still being counted. */
  constructor(
    private readonly app: App,
    readonly session: Session,
    private readonly asker: string,
    private readonly came: (counting: string) => void,
  ) {
    this.nodes = nodeLines(session);
    this.names = {
      comm: (id) => session.comms.get(id) ?? `communicator ${id}`,
      site: (id) => session.callSites.get(id)?.place ?? '',
    };
  }

  giveUp(): void {
    this.session.giveUp(this.asker);
    this.session.giveUp(`${this.asker} verdicts`);
  }

  // ---- reading and arranging ----

  ask(query: SectionQuery): void {
    const key = `${query.from} ${query.to}`;
    if (key === this.asked) return;
    this.asked = key;
    this.session.ask(this.asker, 'section', query, (s) => this.take(s), this.app.fail);
  }

  private take(s: Section): void {
    if (!s.whole) return this.came(`Counting events from the beginning: ${percent(s.counted)} of the run`);
    this.section = s;
    this.levels = levelsOf(s);
    this.needs = needsOf(s);
    [this.merged, this.verdicts, this.checked, this.arranged, this.picked] = [null, null, '', '', -1];
    this.came('');
  }

  /** What the protocol view has applied judges the messages here, in the worker. */
  check(): void {
    const { text, level, name } = this.app.store.of('protocol');
    const key = JSON.stringify([text, level]);
    if (key === this.checked || !this.section) return;
    this.checked = key;
    [this.verdicts, this.arranged] = [null, ''];
    const asker = `${this.asker} verdicts`;
    if (text === '') return this.session.giveUp(asker);
    const messages = Array.from({ length: this.section.messages.count }, (_, k) => this.ends(k));
    const query = { text: String(text), name: String(name), level: Number(level), messages };
    const take = (verdicts: (Judged | null)[] | null) => {
      [this.verdicts, this.arranged] = [verdicts, ''];
      this.came('');
    };
    this.session.ask(asker, 'verdicts', query, take, this.app.fail);
  }

  get isChecked(): boolean {
    return this.verdicts !== null;
  }

  private line(site: number): number {
    return Number(/:(\d+)$/.exec(this.names.site(site))?.[1] ?? NO_LINE);
  }

  private ends(k: number): Ends {
    const { messages: m } = this.section!;
    return {
      sender: m.src[k]!,
      receiver: m.dst[k]!,
      senderLine: this.line(m.sendSite[k]!),
      receiverLine: this.line(m.receiveSite[k]!),
    };
  }

  /** Of a message; null: no protocol is applied, or no number comes out of a rule: the protocol view says which. */
  judged(k: number): Judged | null {
    return this.verdicts?.[k] ?? null;
  }

  /** Of the message of an event. */
  judgedAt(event: number): Judged | null {
    const { events } = this.section!;
    return events.role[event] === Role.Part ? null : this.judged(events.thing[event]!);
  }

  /** True: it is laid out anew, under filters. */
  arrange(s: SpaceState): boolean {
    const { section, levels } = this;
    if (!section || !levels) return false;
    const { selected } = this.app.store.state;
    const own = [s.mode, s.by, s.first, s.last, s.ranks, s.comm, s.selection, s.others, s.orphans, s.empty];
    const more = [s.epochFirst, s.epochLast, s.eventFirst, s.eventLast, s.verdicts, s.selection ? [...selected] : 0];
    const key = JSON.stringify([own, more]);
    if (key === this.arranged) return false;
    this.arranged = key;
    const groupOf = s.by === 'node' ? (this.nodes?.of ?? null) : null;
    const byVerdict = this.isChecked && s.verdicts.length > 0;
    const passes = byVerdict ? (k: number) => s.verdicts.includes(this.judged(k)?.colour ?? '') : null;
    const choice = choiceOf(s, this.session, selected, groupOf, passes);
    this.diagram = diagramOf(section, levels, this.session.meta.ranks, choice, s.mode === 'time');
    return this.diagram.isFiltered;
  }

  /** In words: what is shown. */
  get note(): string {
    return this.section && this.diagram ? noteOf(this.section, this.diagram, this.session, this.app.store.state) : '';
  }

  merge(budget: number): SuperEpochs | null {
    if (budget <= 0 || !this.section) return null;
    if (this.merged?.budget !== budget) this.merged = { budget, of: mergeEpochs(this.section, this.needs, budget) };
    return this.merged.of;
  }

  // ---- drawing ----

  /** counts: what all runs need room for. False: there is nothing yet. */
  paint(g: CanvasRenderingContext2D, width: number, height: number, s: SpaceState, counts: Counts): boolean {
    const { section, diagram } = this;
    if (!section || !diagram) return false;
    this.frame = frameOf({ width, height }, marginsOf(s.upright, s.budget > 0), s.upright, counts, zoomOf(s));
    paintSpacetime(g, this.scene(section, diagram, this.frame, s));
    return true;
  }

  private scene(section: Section, diagram: Diagram, frame: Frame, s: SpaceState): Scene {
    const { nodes } = this;
    const isNode = s.by === 'node' && nodes !== null;
    const label = (ranks: number[]) => (isNode ? nodes.names[nodes.of[ranks[0]!]!]! : `P${ranks[0]}`);
    const merged = this.merge(s.budget);
    const runOf = merged ? new Int32Array(section.epochs.length) : null;
    merged?.runs.forEach((run, k) => runOf!.fill(k, run.first, run.last + 1));
    return {
      section,
      diagram,
      frame,
      theme: this.app.theme(),
      labels: diagram.ranksOf.map(label),
      marked: new Set([...this.app.store.state.selected].map((rank) => diagram.lineOf[rank] ?? -1)),
      picked: this.picked,
      runOf,
      runNames: (merged?.runs ?? []).map((run, k) => runName(section, run, k)),
      verdictOf: (k) => this.judged(k),
    };
  }

  /** Where an event is, in pixels of the canvas. */
  spotOf(event: number): { x: number; y: number } | null {
    const { section, diagram, frame: f } = this;
    if (!section || !diagram || !f || event < 0) return null;
    const along = alongOf(f, diagram.level[event]!);
    const across = acrossOf(f, diagram.lineOf[section.events.rank[event]!]!);
    return f.upright ? { x: across, y: along } : { x: along, y: across };
  }

  // ---- search ----

  at(x: number, y: number): number {
    const { section, diagram, frame } = this;
    return section && diagram && frame ? eventAtPoint(section, diagram, frame, x, y) : -1;
  }

  /** As the address names an event: rank.number; '': none. */
  nameOf(event: number): string {
    const { events } = this.section!;
    return event < 0 ? '' : `${events.rank[event]}.${events.number[event]}`;
  }

  find(name: string): number {
    const [rank, number] = name.split('.').map(Number);
    if (name === '' || !this.section) return -1;
    const { events } = this.section;
    for (let i = 0; i < events.count; i++) if (events.rank[i] === rank && events.number[i] === number) return i;
    return -1;
  }

  /** As all views name the call or the message of an event. */
  refOf(event: number): string {
    const { events, messages } = this.section!;
    const thing = events.thing[event]!;
    if (events.role[event] !== Role.Part) return `m${messages.chunk[thing]}.${messages.place[thing]}`;
    return `e${events.window[event]}.${events.lane[event]}.${events.index[event]}`;
  }

  findRef(ref: string): number {
    const { events, messages } = this.section!;
    const [a, b, c] = ref.slice(1).split('.').map(Number);
    if (ref[0] === 'm') {
      const k = messages.chunk.findIndex((chunk, i) => chunk === a && messages.place[i] === b);
      return k < 0 ? -1 : Math.max(messages.send[k]!, messages.send[k]! < 0 ? messages.receive[k]! : -1);
    }
    for (let i = 0; i < events.count && ref[0] === 'e'; i++)
      if (events.window[i] === a && events.lane[i] === b && events.index[i] === c) return i;
    return -1;
  }

  // ---- in words ----

  tip(event: number): Tip {
    const rows = eventRows(this.section!, event, this.names).filter(([, value]) => value !== '');
    return { title: eventTitle(this.section!, event), rows };
  }

  words(event: number): string {
    const { title, rows } = this.tip(event);
    return `${title}, ${rows.map(([name, value]) => `${name} ${value}`).join(', ')}`;
  }
}

function runName(s: Section, run: SuperRun, k: number): string {
  const [a, b] = [s.epochs[run.first]!.number, s.epochs[run.last]!.number];
  return `S${k + 1}: ${a === b ? `E${a}` : `E${a}–E${b}`}, ${run.need}`;
}
