// picture.ts - one picture of the timeline: which chunks, then pixels. What is not read yet is drawn as such: a first picture shows what
// is here, the last one all.
import { Damaged } from '../decode/damaged';
import type { Entry } from '../decode/layout';
import type { EventChunk, MessageChunk, Segment } from '../decode/records';
import { valueOf } from '../decode/records';
import { PLANES } from '../decode/tiles';
import type { SummaryTile } from '../decode/tiles';
import { rankColor } from '../layout/color';
import type { Rgb } from '../layout/color';
import { Lines, widthOf } from '../layout/lines';
import { latenessPlanes, planeOf } from '../layout/logical';
import { planBars, planMessages, planTiles } from '../layout/plan';
import type { Window } from '../layout/plan';
import { Raster } from '../layout/raster';
import { rankRange, rowOfRanks, visibleRows, yOf } from '../layout/rows';
import { HIDDEN, Known, Shares, WAITING } from '../layout/shares';
import { asksWaits, eventFilter, isFiltering, messageFilter, openPasses, waitPasses } from '../model/filter';
import type { Logical } from '../model/logical';
import { Nearby } from '../model/nearby';
import type { Trace } from '../model/trace';
import type { Camera, Picture } from './camera';
import { endsOf } from './ends';
import { membersOfCalls, membersOfTiles, worstOf } from './group';
import { LaneSpans } from './lane_spans';
import { latenessOfRun, logicalIn } from './logical';

const LINES_MAX = 9000; // drawn; the largest of each place always
const COVER_MAX = 3; // of the picture, added up over lines
const ROUGH_FROM = 100000; // calls to be read: then tiles are shown before
const THIN_BELOW = 14; // CSS pixels of a row, below which lines are thinner too
const WORST_FROM = 12; // device pixels of a bar of several ranks that shows the worst of them as well
const PLACES = [24, 16] as const; // of the picture, across and down

interface Run {
  chunk: EventChunk;
  segment: Segment;
  passes: ((i: number, rank: number) => boolean) | null;
}

/** Everything of one picture while it is drawn. */
export class Drawing {
  readonly window: Window;
  readonly shown: { first: number; last: number };
  private readonly bars;
  private readonly messages;
  private readonly rough: Entry[]; // tiles, shown until the calls are here
  private readonly waits: Entry[];
  private detail: 'events' | 'summary' = 'summary'; // of what is drawn
  private logical: Logical | null = null; // where colours are lateness
  private readonly nearby: Nearby;
  private readonly damaged: string[] = []; // of what lateness needs
  private readonly failed = new Map<number, string>(); // by entry: why it cannot be read

  constructor(
    private readonly trace: Trace,
    private readonly camera: Camera,
  ) {
    const { rows, members } = camera;
    this.shown = visibleRows(rows, camera.height);
    const ranks = rankRange(members, this.shown.first, this.shown.last);
    const { from, to, width } = camera;
    const rowHeight = members ? 1 : rows.height;
    this.nearby = new Nearby(trace, from, to);
    this.window = {
      from,
      to,
      width,
      firstRank: ranks.first,
      lastRank: ranks.last,
      rowHeight,
      sorted: members !== null,
    };
    this.bars = planBars(trace, this.window);
    this.messages = planMessages(trace, this.window);
    const toRead = this.bars.entries.reduce((sum, e) => sum + (trace.chunks.peek(e) === undefined ? e.records : 0), 0);
    const helps = this.bars.detail === 'events' && toRead >= ROUGH_FROM && !isFiltering(camera.filter);
    this.rough = helps ? planTiles(trace, this.window).entries : [];
    const sees = this.bars.detail === 'events' && trace.version > 1;
    this.waits = sees ? trace.waitEntriesOf(from, to, ranks.first, ranks.last) : [];
  }

  /** Its own, or that of what it refers to. */
  private damageOf(e: Entry): string | undefined {
    return this.trace.chunks.damageOf(e)?.message ?? this.failed.get(e.id);
  }

  /** Read what is missing; damage is drawn, not thrown. Tiles first, where the calls take long. */
  async load(signal: AbortSignal, partIsHere: (rough: boolean) => void = () => undefined): Promise<void> {
    const { trace, bars } = this;
    const settle = async (entries: Entry[], load: (e: Entry) => Promise<unknown>) => {
      const results = await Promise.allSettled(entries.map(load));
      signal.throwIfAborted();
      results.forEach((x, i) => {
        if (x.status !== 'rejected') return;
        if (!(x.reason instanceof Damaged)) throw x.reason;
        this.failed.set(entries[i]!.id, x.reason.message);
      });
    };
    const read = (e: Entry) => (bars.detail === 'events' ? trace.events(e, signal) : trace.summary(e, signal));
    const lines = this.camera.showMessages ? this.messages.entries : [];
    if (this.rough.length > 0) {
      await Promise.allSettled(this.rough.map((e) => trace.summary(e, signal))); // a damaged one is only no help
      signal.throwIfAborted();
      if (this.isRough()) partIsHere(true);
    }
    // all is asked for at once, so that what lies together in the file is read together
    const first = settle(bars.entries, read);
    const rest = [
      settle(this.waits, (e) => this.nearby.spans(e, signal, first)),
      settle(lines, (e) => this.nearby.messages(e, signal, first)),
    ];
    await first.then(() => this.missing() > 0 && partIsHere(false)).catch(() => undefined);
    await Promise.all([first, ...rest]);
    const { from, to, lateness } = this.camera;
    if (lateness && bars.detail === 'events')
      await this.orDamage(async () => (this.logical = await logicalIn(trace, from, to, signal)));
  }

  /** What is damaged is said, and the rest drawn. */
  private async orDamage(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      this.damaged.push(error.message);
    }
  }

  /** Chunks that are neither here nor known to be damaged. */
  missing(): number {
    const { chunks } = this.trace;
    const { bars, nearby } = this;
    const lines = this.camera.showMessages ? this.messages.entries : [];
    const unknown = [
      ...bars.entries.filter((e) => chunks.peek(e) === undefined),
      ...this.waits.filter((e) => !nearby.spansOf(e)),
      ...lines.filter((e) => !nearby.messagesOf(e)),
    ];
    return unknown.filter((e) => !this.damageOf(e)).length;
  }

  /** Whether tiles stand for calls that are not all here. */
  private isRough(): boolean {
    const { chunks } = this.trace;
    const isHere = (e: Entry) => chunks.peek(e) !== undefined;
    return (
      this.rough.length > 0 &&
      this.rough.every(isHere) &&
      !this.bars.entries.every((e) => isHere(e) || this.damageOf(e))
    );
  }

  /** Whether there is more to see than in the picture before, stretched: not only what is not loaded. */
  hasBars(): boolean {
    const { entries } = this.bars;
    return entries.length === 0 || this.isRough() || entries.some((e) => this.trace.chunks.peek(e) !== undefined);
  }

  draw(): Picture {
    const { camera } = this;
    const [width, height] = [camera.width, camera.height].map((x) => Math.max(1, Math.round(x * camera.ratio))) as [
      number,
      number,
    ];
    const grey = camera.text.map((v, k) => v + (camera.paper[k]! - v) * 0.45) as Rgb;
    const hidden = camera.idle.map((v, k) => v + (camera.text[k]! - v) * 0.12) as Rgb;
    const palette = {
      idle: camera.idle,
      hidden,
      paper: camera.paper,
      unknown: grey,
      damaged: [0.75, 0.15, 0.15] as Rgb,
    };
    const planes = latenessPlanes(camera.idle, camera.text);
    const asLateness = camera.lateness && this.bars.detail === 'events' && !this.isRough();
    const raster = new Raster(width, height, camera.ratio, asLateness ? { ...palette, planes } : palette);
    const counts = { events: 0, spans: 0 };
    const rough = this.isRough();
    this.detail = rough ? 'summary' : this.bars.detail;
    if (this.detail === 'events') this.drawEvents(raster, counts);
    else this.drawTiles(raster);
    const drawn = camera.showMessages ? this.drawMessages(raster) : { lines: 0, messages: 0 };
    const all = [...this.bars.entries, ...this.waits, ...(camera.showMessages ? this.messages.entries : [])];
    return {
      camera,
      width,
      height,
      pixels: raster.pixels,
      detail: this.detail,
      absent: this.bars.absent,
      rough,
      messageDetail: this.messages.detail,
      chunks: this.bars.entries.length,
      ...counts,
      ...drawn,
      messages: this.messages.detail === 'all' ? drawn.messages : this.messages.total,
      missing: this.missing(),
      late: this.logical && { most: this.logical.most, tooMany: this.logical.tooMany },
      damaged: [...new Set([...all.map((e) => this.damageOf(e)).filter((x) => x !== undefined), ...this.damaged])],
    };
  }

  private x(ns: number): number {
    const { from, to, width, ratio } = this.camera;
    return ((ns - from) / (to - from)) * Math.round(width * ratio);
  }

  /** Lines of device pixels of a row. */
  private band(row: number): [number, number] {
    const { rows, ratio } = this.camera;
    const top = (yOf(rows, row) + rows.pad) * ratio;
    const y1 = Math.round(top);
    return [y1, Math.max(y1 + 1, Math.round(top + rows.bar * ratio))];
  }

  /** What is not in the run, or of which the record has ended. */
  private markEnds(s: Shares, ranks: number[], ended: (rank: number) => number): void {
    const { runtime } = this.trace.meta;
    s.mark(Known.Outside, -1, this.x(0));
    const end = Math.max(...ranks.map(ended));
    if (end < runtime) s.mark(Known.Ended, this.x(end), this.x(runtime));
    s.mark(Known.Outside, this.x(runtime), s.width + 1);
  }

  /** Calls that nobody came back from: to the end of the rank. weight: of a rank in its row. */
  private addOpen(s: Shares, ranks: number[], thread: number, weight: number): void {
    const { filter } = this.camera;
    const filtering = isFiltering(filter);
    for (const rank of ranks)
      for (const open of this.trace.opens.get(rank) ?? []) {
        if (thread >= 0 && open.thread !== thread) continue;
        const plane =
          filtering && !openPasses(filter, rank, open)
            ? HIDDEN
            : open.waits || (this.camera.lateness && this.detail === 'events')
              ? WAITING
              : open.class;
        s.add(plane, this.x(open.from), this.x(open.to), weight);
      }
  }

  /** Where single calls are missing, the last one that is here is no end. */
  private endOf(rank: number, recorded: number): number {
    const { opens, recordedUntil } = this.trace;
    const calls = opens.get(rank) ?? [];
    const least = recordedUntil[rank] === Infinity || recorded === 0 ? recorded : calls.length > 0 ? 0 : Infinity;
    return calls.reduce((end, open) => Math.max(end, open.to), least);
  }

  /** From where single calls of a lane are missing, until all such lanes are in calls that are known. */
  private markUnrecorded(s: Shares, lanes: number[]): void {
    const { trace } = this;
    let [first, last] = [Infinity, 0];
    for (const lane of lanes) {
      const until = trace.laneRecordedUntil[lane]!;
      if (until === Infinity) continue;
      const rank = trace.rankOfLane(lane);
      const thread = lane - trace.meta.firstLane[rank]!;
      first = Math.min(first, until);
      last = Math.max(last, trace.opens.get(rank)?.find((open) => open.thread === thread)?.from ?? Infinity);
    }
    if (first < last) s.mark(Known.Unrecorded, this.x(first), this.x(Math.min(trace.meta.runtime, last)));
  }

  // ---- calls ----

  private drawEvents(raster: Raster, counts: { events: number; spans: number }): void {
    const { trace, camera } = this;
    const filtering = isFiltering(camera.filter);
    const runs = new Map<number, Run[]>(); // by lane
    for (const e of this.bars.entries) {
      const chunk = trace.chunks.peek<EventChunk>(e);
      if (!chunk) continue;
      const passes = filtering ? eventFilter(camera.filter, chunk, trace.meta.ops) : null;
      for (const segment of chunk.segments) {
        const list = runs.get(segment.lane);
        if (list) list.push({ chunk, segment, passes });
        else runs.set(segment.lane, [{ chunk, segment, passes }]);
      }
    }
    const spans = this.spansByLane();
    const coarse = endsOf(trace);
    const ended = (rank: number) => this.endOf(rank, this.exactEnd(rank, coarse, runs));
    this.eachLine((ranks, lane, y1, y2, s) => {
      const lanes = lane >= 0 ? [lane] : ranks.flatMap((rank) => this.lanesOf(rank));
      for (const at of lanes) {
        for (const run of runs.get(at) ?? []) counts.events += this.addRun(s, run, spans);
        counts.spans += this.addSpans(s, spans, at);
      }
      this.addOpen(s, ranks, lane < 0 ? -1 : lane - trace.meta.firstLane[ranks[0]!]!, 1);
      s.addRows(lanes.length);
      this.markUnrecorded(s, lanes);
      this.markChunks(s, ranks);
      this.markEnds(s, ranks, ended);
      s.seal();
      raster.row(s, y1, y2, false);
    });
  }

  private lanesOf(rank: number): number[] {
    const { firstLane } = this.trace.meta;
    const lanes: number[] = [];
    for (let lane = firstLane[rank]!; lane < firstLane[rank + 1]!; lane++) lanes.push(lane);
    return lanes;
  }

  /** Once for each row, thread or, where these are thinner than pixels, line of pixels. */
  private eachLine(draw: (ranks: number[], lane: number, y1: number, y2: number, s: Shares) => void): void {
    const { camera } = this;
    const { rows, ratio, members } = camera;
    const s = new Shares(Math.max(1, Math.round(camera.width * ratio)));
    const ranksOf = (row: number) => (members ? members[row]! : [row]);
    const emit = (ranks: number[], lane: number, y1: number, y2: number) => {
      s.clear();
      draw(ranks, lane, y1, y2, s);
    };
    let row = this.shown.first;
    while (row <= this.shown.last) {
      const [y1, y2] = this.band(row);
      const ranks = [...ranksOf(row++)];
      while (rows.height * ratio < 1 && row <= this.shown.last && this.band(row)[0] === y1)
        ranks.push(...ranksOf(row++));
      const lanes = ranks.length === 1 ? this.lanesOf(ranks[0]!) : [];
      if (ranks.length > 1 && y2 - y1 >= WORST_FROM) {
        const split = y2 - Math.round((y2 - y1) / 3);
        emit(ranks, -1, y1, split - 1);
        emit([this.worst(ranks)], -1, split, y2);
      } else if (lanes.length < 2 || y2 - y1 < 2 * lanes.length) emit(ranks, -1, y1, y2);
      else
        lanes.forEach((lane, k) => {
          const at = (n: number) => y1 + Math.round(((y2 - y1) * n) / lanes.length);
          emit(ranks, lane, at(k), at(k + 1) - (at(1) - at(0) > 3 ? 1 : 0));
        });
    }
  }

  /** Of a group, in the interval shown. */
  private worst(ranks: number[]): number {
    const { trace, window, bars, camera, detail } = this;
    const from = Math.max(0, camera.from);
    const to = Math.max(from + 1, Math.min(trace.meta.runtime, camera.to));
    const members =
      detail === 'events'
        ? membersOfCalls(trace, ranks, bars.entries, from, to)
        : membersOfTiles(trace, ranks, planTiles(trace, window), from, to);
    return ranks[worstOf(members)]!;
  }

  private addRun(s: Shares, { chunk, segment, passes }: Run, spans: LaneSpans): number {
    const { from, to, filter } = this.camera;
    const { start, duration, signature, signatures } = chunk;
    const end = segment.first + segment.count;
    let i = firstEndingAfter(chunk, segment, from);
    const scale = s.width / (to - from);
    const asks = asksWaits(filter);
    const late = this.camera.lateness ? latenessOfRun(this.logical, segment) : null;
    let n = 0;
    for (; i < end && start[i]! < to; i++, n++) {
      const x1 = (start[i]! - from) * scale;
      const x2 = (start[i]! + duration[i]! - from) * scale;
      let plane: number = signatures.class[signature[i]!]!;
      if (
        passes &&
        (!passes(i, segment.rank) ||
          (asks && !waitPasses(filter, spans.within(segment.lane, start[i]!, start[i]! + duration[i]!))))
      )
        plane = HIDDEN;
      if (late && plane !== HIDDEN) plane = planeOf(late(i), this.logical?.most ?? 0);
      if (plane > 0) s.add(plane, x1, Math.max(x2, x1 + 1e-4), 1);
      const waited = chunk.wait ? valueOf(chunk.wait, i, 0) : 0;
      if (waited > 0 && plane !== HIDDEN && !late) moveToWaiting(s, plane, x1, x1 + waited * scale);
    }
    return n;
  }

  private addSpans(s: Shares, spans: LaneSpans, lane: number): number {
    if (this.camera.lateness) return 0;
    const filtering = isFiltering(this.camera.filter);
    const [first, end] = [spans.first(lane), spans.end(lane)];
    for (let i = first; i < end; i++) {
      const [x1, x2] = [this.x(spans.from[i]!), this.x(spans.to[i]!)];
      const plane = spans.class[i]!;
      if (!filtering || this.spanPasses(s, plane, x1, x2)) moveToWaiting(s, plane, x1, x2);
    }
    return end - first;
  }

  /** A wait of a call that a filter hides is hidden. */
  private spanPasses(s: Shares, plane: number, x1: number, x2: number): boolean {
    const x = Math.max(0, Math.min(s.width - 1, Math.floor((Math.max(0, x1) + Math.min(s.width, x2)) / 2)));
    return s.share[plane * s.width + x]! > 0;
  }

  private spansByLane(): LaneSpans {
    const lists = this.waits.map((e) => this.nearby.spansOf(e)).filter((x) => x !== undefined);
    return LaneSpans.of(lists, this.trace.lanes, this.camera.from, this.camera.to);
  }

  /** Where chunks are not here. */
  private markChunks(s: Shares, ranks: number[]): void {
    const { trace, bars } = this;
    const groups = new Set(ranks.map((rank) => Math.floor(rank / trace.meta.groupRanks)));
    for (const e of bars.entries) {
      if (!groups.has(e.group) || trace.chunks.peek(e) !== undefined) continue;
      s.mark(this.damageOf(e) ? Known.Damaged : Known.Loading, this.x(e.start), this.x(e.end));
    }
  }

  /** When the record of a rank ends: of tiles known to a bin, of its last call exactly. */
  private exactEnd(rank: number, coarse: Float64Array | null, runs: Map<number, Run[]>): number {
    const near = coarse?.[rank] ?? Infinity;
    if (near === Infinity || near === 0) return near;
    const { runtime, bins } = this.trace.meta;
    let last = -Infinity;
    for (const lane of this.lanesOf(rank))
      for (const { chunk, segment } of runs.get(lane) ?? []) {
        const i = segment.first + segment.count - 1;
        if (segment.count > 0) last = Math.max(last, chunk.start[i]! + chunk.duration[i]!);
      }
    return last > near - (2.5 * runtime) / bins ? last : near;
  }

  // ---- tiles ----

  private drawTiles(raster: Raster): void {
    const { trace, camera } = this;
    const { runtime, rows: tileRows, rowFactor, bins } = trace.meta;
    const plan = planTiles(trace, this.window);
    const each = rowFactor ** plan.rankLevel; // ranks of a row of tiles
    const width = runtime / 2 ** plan.level;
    const byGroup = new Map<number, Entry[]>();
    for (const e of plan.entries) byGroup.set(e.group, [...(byGroup.get(e.group) ?? []), e]);
    const coarse = endsOf(trace);
    const ended = (rank: number) => this.endOf(rank, coarse?.[rank] ?? Infinity);
    this.eachLine((ranks, _, y1, y2, s) => {
      const units = new Set(ranks.map((rank) => Math.floor(rank / each)));
      const lanes = ranks.map((rank) => trace.meta.firstLane[rank]!); // tiles are of the first threads
      this.markUnrecorded(s, lanes);
      for (const unit of units)
        for (const e of byGroup.get(Math.floor(unit / tileRows)) ?? []) {
          const [x1, x2] = [this.x(e.seq * width), this.x((e.seq + 1) * width)];
          const tile = trace.chunks.peek<SummaryTile>(e);
          if (!tile) s.mark(this.damageOf(e) ? Known.Damaged : Known.Loading, x1, x2);
          else addTile(s, tile, unit % tileRows, bins, x1, x2);
        }
      this.addOpen(s, ranks, 0, 1 / each);
      s.addRows(units.size);
      this.markEnds(s, ranks, ended);
      s.seal();
      raster.row(s, y1, y2, camera.rows.bar * camera.ratio >= 12);
    });
  }

  // ---- messages ----

  private drawMessages(raster: Raster): { lines: number; messages: number } {
    const { camera, trace } = this;
    const { rows, ratio, members } = camera;
    const passes = isFiltering(camera.filter) ? messageFilter(camera.filter, trace.callSites) : () => true;
    const rowOf = rowOfRanks(members, trace.meta.ranks);
    const { first, last } = this.shown;
    const inside = (row: number) => row >= first && row <= last;
    const found: Line[] = [];
    for (const e of this.messages.entries) {
      const c = this.nearby.messagesOf(e);
      for (let i = 0; c && i < c.count; i++) {
        const [start, end] = [c.sendStart[i]!, c.recvEnd[i]!];
        if (Math.min(start, end) >= camera.to || Math.max(start, end) <= camera.from || !passes(c, i)) continue;
        const [a, b] = [rowOf[c.src[i]!]!, rowOf[c.dst[i]!]!];
        if (a < 0 || b < 0 || (!inside(a) && !inside(b))) continue;
        if (a === b && c.src[i] !== c.dst[i]) continue; // between ranks of one row: it would only hide the row
        found.push({ c, i, a, b });
      }
    }
    const chosen = this.choose(found);
    const lines = new Lines(raster.width, raster.height);
    for (const { c, i, a, b } of chosen) {
      const width = this.lineWidth(c.bytes[i]!);
      const edge = (row: number, low: boolean) => (yOf(rows, row) + rows.pad + (low ? rows.bar : 0)) * ratio;
      const color = rankColor(c.src[i]!, camera.dark);
      lines.line(this.x(c.sendStart[i]!), edge(a, b > a), this.x(c.recvEnd[i]!), edge(b, b <= a), width, color);
    }
    lines.over(raster.pixels);
    return { lines: chosen.length, messages: found.length };
  }

  /** Device pixels. */
  private lineWidth(bytes: number): number {
    const { camera } = this;
    const width = widthOf(bytes, camera.bytesPerPixel, camera.widthScale) * camera.ratio;
    return camera.widthScale === 'log' ? width * Math.min(1, Math.max(0.35, camera.rows.height / THIN_BELOW)) : width;
  }

  /** Device pixels that a line covers, within the picture. */
  private coverOf({ c, i, a, b }: Line): number {
    const { width, height, rows, ratio } = this.camera;
    const [x1, x2] = [Math.max(0, this.x(c.sendStart[i]!)), Math.min(width * ratio, this.x(c.recvEnd[i]!))];
    const tall = Math.min(height, (Math.abs(a - b) + 1) * rows.height) * ratio;
    return Math.hypot(Math.max(1, x2 - x1), tall) * Math.max(1, this.lineWidth(c.bytes[i]!));
  }

  /** Not more than can be seen: of each place of the picture the largest, of the rest those of most bytes. */
  private choose(found: Line[]): Line[] {
    const { from, to, width, height, ratio } = this.camera;
    let room = COVER_MAX * width * height * ratio * ratio;
    if (found.length <= LINES_MAX && found.reduce((sum, line) => sum + this.coverOf(line), 0) <= room) return found;
    const [across, down] = PLACES;
    const largest = new Map<number, Line>();
    for (const line of found) {
      const t = (line.c.sendStart[line.i]! + line.c.recvEnd[line.i]!) / 2;
      const x = Math.max(0, Math.min(across - 1, Math.floor(((t - from) / (to - from)) * across)));
      const y = Math.floor(((line.a - this.shown.first) / (this.shown.last - this.shown.first + 1)) * down);
      const before = largest.get(y * across + x);
      if (!before || isBefore(line, before)) largest.set(y * across + x, line);
    }
    const chosen = [...largest.values()];
    const always = new Set(chosen);
    const rest = found.filter((line) => !always.has(line)).sort((p, q) => (isBefore(p, q) ? -1 : 1));
    for (const line of chosen) room -= this.coverOf(line);
    for (const line of rest) {
      room -= this.coverOf(line);
      if (room < 0 || chosen.length >= LINES_MAX) break;
      chosen.push(line);
    }
    return chosen;
  }
}

/** A number that scatters: among messages of one size none is preferred for when it was. */
function scattered(line: Line): number {
  return Math.imul(line.i + 1, 0x9e3779b1) ^ Math.imul(line.c.src[line.i]! + 1, 0x85ebca6b);
}

/** Larger ones first. */
function isBefore(p: Line, q: Line): boolean {
  const more = p.c.bytes[p.i]! - q.c.bytes[q.i]!;
  return more !== 0 ? more > 0 : scattered(p) < scattered(q);
}

interface Line {
  c: MessageChunk;
  i: number;
  a: number; // rows
  b: number;
}

function moveToWaiting(s: Shares, plane: number, x1: number, x2: number): void {
  s.add(plane, x1, x2, -1);
  s.add(WAITING, x1, x2, 1);
}

/** The first call of a run that ends behind a moment; calls of a lane do not overlap. */
function firstEndingAfter(c: EventChunk, s: Segment, time: number): number {
  let low = s.first;
  for (let high = s.first + s.count; low < high;) {
    const middle = (low + high) >> 1;
    if (c.start[middle]! + c.duration[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function addTile(s: Shares, tile: SummaryTile, row: number, bins: number, x1: number, x2: number): void {
  if (row >= tile.rows || x2 <= 0 || x1 >= s.width) return;
  const step = (x2 - x1) / bins;
  const first = Math.max(0, Math.floor(-x1 / step));
  const last = Math.min(bins - 1, Math.floor((s.width - x1) / step));
  for (let c = 1; c <= PLANES; c++) {
    const base = ((c - 1) * tile.rows + row) * bins;
    for (let b = first; b <= last; b++) {
      const share = tile.share[base + b]!;
      if (share > 0) s.add(c, x1 + b * step, x1 + (b + 1) * step, share / 255);
    }
  }
}
