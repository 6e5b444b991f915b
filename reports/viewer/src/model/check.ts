// check.ts - the messages of a trace against a protocol, as postproc/protocol/check.c counts and lists them. What rules say depends on ranks and
// source lines only, so it is asked once for all messages between two calls; kept are counts, and the first messages that do not conform and that
// do.
import { COLOURS, NO_LINE, conforms } from './protocol';
import type { Colour, Ends, Judged } from './protocol';
import type { Spec } from './spec';

export const RESULTS_MAX = 10_000; // messages listed: first those that do not conform
const KINDS_MAX = 1 << 18; // that are remembered

/** Events are numbered from 0, by rank. */
export interface CheckedMessage extends Ends {
  sendEvent: number;
  receiveEvent: number;
  start: number; // ns: of the send, and the end of the receive
  end: number;
  ref: string; // of the message, as things.ts finds it
}

export interface Result extends CheckedMessage, Judged {}

export interface RuleCount {
  line: number;
  text: string;
  matched: number;
  violated: number;
}

export interface Checked {
  level: number;
  messages: number;
  unreceived: number; // sends without a receive, which are not checked
  colours: Record<Colour, number>;
  unknownLines: number; // messages of which a source line is not known
  results: Result[];
  leftOut: number; // messages that are not among the results
  rules: RuleCount[];
}

/** Messages that rules cannot tell apart. */
interface Sort extends Judged {
  messages: number;
}

export class Check {
  private readonly sorts = new Map<string, Sort>();
  private readonly bad: Result[] = [];
  private readonly good: Result[] = [];
  private readonly rules: RuleCount[];
  private readonly colours = Object.fromEntries(COLOURS.map((c) => [c, 0])) as Record<Colour, number>;
  private messages = 0;
  private unknownLines = 0;

  constructor(
    private readonly spec: Spec,
    private readonly level: number,
    private readonly processes: number,
    private readonly shown: ReadonlySet<Colour> = new Set(COLOURS),
    private readonly unreceived = 0,
  ) {
    const row = (line: number, text: string) => ({ line, text, matched: 0, violated: 0 });
    this.rules = spec.rules.map(({ line, text }) => row(line, text));
  }

  private sortOf(m: Ends): Sort {
    const key = `${m.sender} ${m.senderLine} ${m.receiver} ${m.receiverLine}`;
    const known = this.sorts.get(key);
    if (known) return known;
    if (this.sorts.size === KINDS_MAX) this.countRules();
    const sort = { ...this.spec.evaluate(m, this.level, this.processes), messages: 0 };
    this.sorts.set(key, sort);
    return sort;
  }

  /** What rules said of all messages so far is added to their counts, and forgotten. */
  private countRules(): void {
    for (const sort of this.sorts.values()) {
      for (const i of sort.matched) this.rules[i]!.matched += sort.messages;
      for (const i of sort.violated) this.rules[i]!.violated += sort.messages;
    }
    this.sorts.clear();
  }

  /** Throws a SpecError where the specification cannot be computed. name: of the message, asked for where it is listed. */
  add(m: Omit<CheckedMessage, 'ref'>, name: () => string): void {
    const sort = this.sortOf(m);
    const { A, L, colour, matched, violated } = sort;
    sort.messages++;
    this.messages++;
    this.colours[colour]++;
    this.unknownLines += Number(m.senderLine === NO_LINE || m.receiverLine === NO_LINE);
    const list = conforms(colour) ? this.good : this.bad;
    if (this.shown.has(colour) && list.length < RESULTS_MAX)
      list.push({ ...m, ref: name(), A, L, colour, matched, violated });
  }

  result(): Checked {
    this.countRules();
    const results = [...this.bad, ...this.good.slice(0, RESULTS_MAX - this.bad.length)];
    return {
      level: this.level,
      messages: this.messages,
      unreceived: this.unreceived,
      colours: { ...this.colours },
      unknownLines: this.unknownLines,
      results,
      leftOut: COLOURS.reduce((n, c) => n + (this.shown.has(c) ? this.colours[c] : 0), 0) - results.length,
      rules: this.rules,
    };
  }
}

const orNull = (line: number) => (line === NO_LINE ? null : line);

/** As `mpitrace check --json` prints it: the schema mpitrace/check/1. */
export function reportOf(c: Checked): unknown {
  const lines = (r: Result) =>
    c.rules.flatMap(({ line }, i) => {
      const verdict = r.matched.includes(i) ? 'match' : r.violated.includes(i) ? 'violation' : '';
      return verdict === '' ? [] : [{ line, verdict }];
    });
  return {
    schema: 'mpitrace/check/1',
    level: c.level,
    messages: c.messages,
    unreceived: c.unreceived,
    colours: c.colours,
    unknown_lines: c.unknownLines,
    results: c.results.map((r) => ({
      src: r.sender,
      dst: r.receiver,
      send_event: r.sendEvent,
      recv_event: r.receiveEvent,
      send_line: orNull(r.senderLine),
      recv_line: orNull(r.receiverLine),
      a: r.A,
      l: r.L,
      colour: r.colour,
      lines: lines(r),
    })),
    results_left_out: c.leftOut,
    lines: c.rules.map(({ line, text, matched, violated }) => ({
      line,
      text,
      applied: matched + violated,
      matched,
      violated,
    })),
  };
}
