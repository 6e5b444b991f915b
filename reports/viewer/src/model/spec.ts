// spec.ts - a specification of a protocol: that of postproc/protocol/spec.h, compiled for the browser (reader/protocol.c), so that
// `mpitrace check` and the viewer say the same in the same words. For the worker, which has the compiled code.
import { Native } from '../decode/native';
import { prepareReader } from '../decode/reader';
import { COLOURS } from './protocol';
import type { Ends, Judged, Mistake } from './protocol';

/** Where a specification is wrong, or cannot be computed. */
export class SpecError extends Error {
  readonly mistake: Mistake;

  constructor(message: string, name: string) {
    super(message);
    const rest = message.startsWith(name) ? message.slice(name.length) : message; // a very long one is cut
    const [, line, column, what] = /^(?:.*?):(\d+):(\d+): ([^\n]*)/.exec(rest) ?? [];
    this.mistake = {
      message,
      what: what ?? rest.replace(/^: /, ''),
      line: Number(line ?? 0),
      column: Number(column ?? 0),
    };
  }
}

interface Exports {
  error(): number;
  spec(name: number, text: number, bytes: number): number;
  rules(): number;
  evaluate(level: number, src: number, srcLine: number, dst: number, dstLine: number, processes: number): number;
}

export interface Rule {
  line: number; // of the text, from 1
  text: string; // its beginning, in one line
}

const enum Verdict {
  Match = 1,
  Violation,
}

export class Spec {
  readonly rules: readonly Rule[];

  private constructor(
    private readonly native: Native<Exports>,
    private readonly name: string,
  ) {
    const columns = native.columns(native.call.rules());
    const lines = columns.u32();
    const texts = new TextDecoder().decode(columns.u8()).split('\0');
    this.rules = Array.from(lines, (line, i) => ({ line, text: texts[i]! }));
  }

  /** name: for texts of errors. Throws a SpecError. */
  static async parse(name: string, text: string): Promise<Spec> {
    const native = await Native.create<Exports>(prepareReader());
    const bytes = new TextEncoder().encode(text);
    const rc = native.call.spec(native.put(new TextEncoder().encode(`${name}\0`)), native.put(bytes), bytes.length);
    if (rc < 0) throw new SpecError(native.text(native.call.error()), name);
    return new Spec(native, name);
  }

  /** All that it says of a message. Throws a SpecError: a division by zero, or a number beyond 64 bits. */
  evaluate(m: Ends, level: number, processes: number): Judged {
    const { call } = this.native;
    const rc = call.evaluate(level, m.sender, m.senderLine, m.receiver, m.receiverLine, processes);
    if (rc < 0) throw new SpecError(this.native.text(call.error()), this.name);
    const verdicts = this.native.columns(rc).u8();
    const those = (wanted: Verdict) => this.rules.flatMap((_, i) => (verdicts[i] === wanted ? [i] : []));
    const [matched, violated] = [those(Verdict.Match), those(Verdict.Violation)];
    return { A: matched.length, L: violated.length, colour: COLOURS[rc]!, matched, violated };
  }
}
