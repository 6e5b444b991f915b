// protocol.ts - rules and messages: does a rule apply, does the message obey it, which colour follows (docs/PROTOCOL.md). The same
// verdicts as postproc/protocol/spec_judge.c, in whole numbers of 64 bits.
import { Slot, parseSpec } from './protocol_parse';
import type { Code, Condition, Rule, Spec } from './protocol_parse';
import { INT64_MAX, errorAt } from './protocol_text';
import type { Op } from './protocol_text';

export { parseSpec, ruleText } from './protocol_parse';
export type { Rule, Spec } from './protocol_parse';
export { SPEC_BYTES_MAX, SpecError } from './protocol_text';

export const NO_LINE = -1; // the source line is not known: no condition holds that looks at it
export const LEVELS = [0, 1, 2, 3] as const;

export type Verdict = 'silent' | 'match' | 'violation';
export const COLOURS = ['green', 'red', 'orange', 'blue'] as const;
export type Colour = (typeof COLOURS)[number];

/** Ranks of both ends, and the source lines of their calls. */
export interface Ends {
  sender: number;
  receiver: number;
  senderLine: number; // NO_LINE: not known
  receiverLine: number;
}

export interface Judged {
  A: number; // rules that match
  L: number; // rules that are violated
  colour: Colour;
  matched: number[]; // places among the rules of the specification
  violated: number[];
}

/** By slot: n, the sender, its line, the receiver, its line. */
type Slots = readonly number[];

const truth = (x: boolean) => (x ? 1n : 0n);

function computeBig(spec: Spec, c: Code, a: bigint, b: bigint): bigint {
  const by: Record<Op, () => bigint> = {
    '==': () => truth(a === b),
    '!=': () => truth(a !== b),
    '<': () => truth(a < b),
    '>': () => truth(a > b),
    '<=': () => truth(a <= b),
    '>=': () => truth(a >= b),
    '&&': () => truth(a !== 0n && b !== 0n),
    '||': () => truth(a !== 0n || b !== 0n),
    '+': () => a + b,
    '-': () => a - b,
    '*': () => a * b,
    '/': () => a / b,
    '%': () => (a / b > INT64_MAX ? a / b : a % b), // its quotient must fit, as in C
  };
  if ((c.op === '/' || c.op === '%') && b === 0n)
    throw errorAt(spec, c.at, 'division by zero; test it before, as in i != 0 && n / i > 2');
  const result = by[c.op as Op]();
  if (BigInt.asIntN(64, result) !== result) throw errorAt(spec, c.at, 'the result is beyond 64 bits');
  return result;
}

/** NaN: to be computed exactly, or not at all. */
function computeSmall(op: Code['op'], a: number, b: number): number {
  switch (op) {
    case '==':
      return Number(a === b);
    case '!=':
      return Number(a !== b);
    case '<':
      return Number(a < b);
    case '>':
      return Number(a > b);
    case '<=':
      return Number(a <= b);
    case '>=':
      return Number(a >= b);
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return b === 0 ? NaN : Math.trunc(a / b);
    default:
      return b === 0 ? NaN : a % b;
  }
}

/** Is it a line that is not known? Whatever is computed from it is not known either, and no reason for a match. */
function isUnknown({ op, small }: Code, slots: Slots): boolean {
  return op === 'load' && (small === Slot.SrcLine || small === Slot.DstLine) && slots[small] === NO_LINE;
}

/** In doubles, as long as they hold every number between; null: they do not. */
function holdsSmall(code: readonly Code[], slots: Slots): boolean | null {
  const stack: number[] = [];
  for (let i = 0; i < code.length; i++) {
    const c = code[i]!;
    const { op, small } = c;
    if (isUnknown(c, slots)) return false;
    const top = stack.length - 1;
    if (op === 'push' || op === 'load') stack.push(op === 'push' ? small : slots[small]!);
    else if (op === 'truth') stack[top] = Number(stack[top] !== 0);
    else if (op === '&&' || op === '||') {
      if ((stack[top] !== 0) === (op === '||')) [stack[top], i] = [Number(op === '||'), small - 1];
      else stack.pop();
    } else {
      const b = stack.pop()!;
      stack[top - 1] = computeSmall(op, stack[top - 1]!, b);
    }
    if (!Number.isSafeInteger(stack[stack.length - 1] ?? 0)) return null;
  }
  return stack[0] !== 0;
}

function holdsBig(spec: Spec, code: readonly Code[], slots: Slots): boolean {
  const stack: bigint[] = [];
  for (let i = 0; i < code.length; i++) {
    const c = code[i]!;
    if (isUnknown(c, slots)) return false;
    const top = stack.length - 1;
    if (c.op === 'push' || c.op === 'load') stack.push(c.op === 'push' ? c.value : BigInt(slots[c.small]!));
    else if (c.op === 'truth') stack[top] = truth(stack[top] !== 0n);
    else if (c.op === '&&' || c.op === '||') {
      if ((stack[top] !== 0n) === (c.op === '||')) [stack[top], i] = [truth(c.op === '||'), c.small - 1];
      else stack.pop();
    } else {
      const b = stack.pop()!;
      stack[top - 1] = computeBig(spec, c, stack[top - 1]!, b);
    }
  }
  return stack[0] !== 0n;
}

function holds(spec: Spec, { code }: Condition, slots: Slots): boolean {
  return holdsSmall(code, slots) ?? holdsBig(spec, code, slots);
}

/** processes: the value of n. Throws a SpecError: a division by zero, or a number beyond 64 bits. */
export function judge(spec: Spec, rule: Rule, m: Ends, processes: number): Verdict {
  const slots = [processes, m.sender, m.senderLine, m.receiver, m.receiverLine];
  const all = (sender: boolean) => rule.conditions.every((c) => c.sender !== sender || holds(spec, c, slots));
  if (!all(true)) return 'silent';
  return all(false) ? 'match' : 'violation';
}

/** From how many rules match a message and how many it violates. */
export function colourOf(level: number, A: number, L: number): Colour {
  if (level === 0) return A > 0 ? 'green' : L > 0 ? 'red' : 'blue';
  if (level === 1) return L > 0 ? 'orange' : A > 0 ? 'green' : 'blue';
  if (level === 2) return L === 0 && A > 0 ? 'green' : 'orange';
  return L === 0 && A === 1 ? 'green' : 'orange';
}

export const conforms = (colour: Colour) => colour === 'green' || colour === 'blue';

/** All that a specification says of a message. */
export function verdictOf(m: Ends, spec: Spec, level: number, processes: number): Judged {
  const matched: number[] = [];
  const violated: number[] = [];
  spec.rules.forEach((rule, i) => {
    const verdict = judge(spec, rule, m, processes);
    if (verdict !== 'silent') (verdict === 'match' ? matched : violated).push(i);
  });
  const [A, L] = [matched.length, violated.length];
  return { A, L, colour: colourOf(level, A, L), matched, violated };
}

/** The specification, or what is wrong with it. */
export function tryParse(name: string, text: string): { spec: Spec } | { error: Error } {
  try {
    return { spec: parseSpec(name, text) };
  } catch (error) {
    return { error: error as Error };
  }
}
