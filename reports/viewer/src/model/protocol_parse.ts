// protocol_parse.ts - tokens to rules: postproc/protocol/spec_parse.c again. Each name is bound to one end of the message where it stands alone in an
// item, so it is known here what it stands for: the first look at a rule binds names, the second makes conditions.
//
//   rule := P(item,item) -> P(item,item) [ :: quantifier { (","|";") quantifier } ] ;
//   item := nothing | * | expression    quantifier := forall name : expression
import {
  SPEC_BYTES_MAX,
  SPEC_DEPTH_MAX,
  SPEC_QUANTIFIERS_MAX,
  SPEC_RULES_MAX,
  errorAt,
  errorOf,
  lex,
  textOf,
} from './protocol_text';
import type { Op, Source, SpecError, Token } from './protocol_text';

/** Whatever a name is bound to is one of these. */
export const enum Slot {
  Processes,
  Src,
  SrcLine,
  Dst,
  DstLine,
}

const bit = (slot: Slot) => 1 << slot;
const RECEIVER = bit(Slot.Dst) | bit(Slot.DstLine);
const LINES = bit(Slot.SrcLine) | bit(Slot.DstLine);

/** push value; load slot `value`; truth: any number but 0 becomes 1; && and ||: jump to `value` where the left side decides. */
export interface Code {
  op: Op | 'push' | 'load' | 'truth';
  at: number; // byte of the text
  value: bigint;
  small: number; // the value; NaN: it is beyond what doubles hold
}

/** True when what its code leaves is not 0. */
export interface Condition {
  code: Code[];
  sender: boolean; // looks at nothing but the sender
}

export interface Rule {
  line: number; // of the text, from 1
  at: number; // bytes of the text
  end: number;
  conditions: Condition[];
}

export interface Spec extends Source {
  rules: Rule[];
  usesLines: boolean;
}

const LEVEL: Record<Op, number> = {
  '||': 0,
  '&&': 1,
  '==': 2,
  '!=': 2,
  '<': 3,
  '>': 3,
  '<=': 3,
  '>=': 3,
  '+': 4,
  '-': 4,
  '*': 5,
  '/': 5,
  '%': 5,
};
const OPERAND = 6;

class Parser {
  private at = 0; // token
  private binds = true; // the first look
  private names = new Map<string, Slot>();
  private depth = 0;
  private slots = 0; // bits: what the expression looks at
  private code: Code[] = [];
  private conditions: Condition[] = [];
  usesLines = false;

  constructor(
    private readonly source: Source,
    private readonly tokens: Token[],
  ) {}

  private get here(): Token {
    return this.tokens[this.at]!;
  }

  get ends(): boolean {
    return this.here.kind === 'end';
  }

  get place(): number {
    return this.here.at;
  }

  private error(token: Token, what: string): SpecError {
    return errorAt(this.source, token.at, what);
  }

  private expected(what: string): SpecError {
    return this.error(this.here, `expected ${what}${this.ends ? ', but the text ends' : ''}`);
  }

  private isSign(token: Token, sign: string): boolean {
    return token.kind === 'sign' && token.text === sign;
  }

  private isNext(kind: Token['kind']): boolean {
    return this.here.kind === kind;
  }

  private takeSign(sign: string, what: string): void {
    if (!this.isSign(this.here, sign)) throw this.expected(what);
    this.at++;
  }

  private emit(op: Code['op'], at: number, value = 0n): Code {
    const small = Number(value);
    const code = { op, at, value, small: Number.isSafeInteger(small) ? small : NaN };
    this.code.push(code);
    return code;
  }

  // ---- names ----

  private isName(token: Token, name: string): boolean {
    return token.kind === 'name' && token.text === name;
  }

  private slotOf(token: Token): Slot {
    if (token.text === 'n') return Slot.Processes;
    const slot = this.names.get(token.text);
    if (slot === undefined && !this.binds) {
      const name = token.text;
      throw this.error(token, `${name} is not known: it must stand alone in an item of this rule, as in P(${name},*)`);
    }
    return slot ?? Slot.Processes;
  }

  private loadName(token: Token): void {
    const slot = this.slotOf(token);
    this.slots |= bit(slot);
    this.emit('load', token.at, BigInt(slot));
  }

  // ---- expressions ----

  private parseOperand(): void {
    const token = this.here;
    if (token.kind === 'number' || token.kind === 'name') {
      this.at++;
      if (token.kind === 'name') this.loadName(token);
      else this.emit('push', token.at, token.value);
      return;
    }
    if (token.kind === 'operator' && token.text === '*')
      throw this.error(token, '"*" for any stands alone, as in P(0,*)');
    if (!this.isSign(token, '(')) throw this.expected('a number, a name or "("');
    if (++this.depth > SPEC_DEPTH_MAX)
      throw this.error(token, `more than ${SPEC_DEPTH_MAX} parentheses within each other`);
    this.at++;
    this.parseLevel(0);
    this.depth--;
    this.takeSign(')', '")" or an operator');
  }

  /** What stands right of && and || is not looked at when the left side decides. */
  private parseRight(level: number, token: Token): void {
    const op = token.text as Op;
    const jump = op === '&&' || op === '||' ? this.emit(op, token.at) : null;
    this.parseLevel(level + 1);
    this.emit(jump ? 'truth' : op, token.at);
    if (jump) jump.small = this.code.length;
  }

  private parseLevel(level: number): void {
    if (level === OPERAND) return this.parseOperand();
    this.parseLevel(level + 1);
    for (let token = this.here; token.kind === 'operator' && LEVEL[token.text as Op] === level; token = this.here) {
      this.at++;
      this.parseRight(level, token);
    }
  }

  // ---- items ----

  private addCondition(): void {
    const { code, slots, binds } = this;
    this.code = [];
    if (binds) return;
    this.usesLines ||= (slots & LINES) !== 0;
    this.conditions.push({ code, sender: (slots & RECEIVER) === 0 });
  }

  private endsItem(token: Token | undefined): boolean {
    return token !== undefined && (this.isSign(token, ',') || this.isSign(token, ')'));
  }

  /** A name that stands alone for the first time: it is what the message has there. */
  private bindsName(slot: Slot): boolean {
    const token = this.here;
    if (token.kind !== 'name' || token.text === 'n' || !this.endsItem(this.tokens[this.at + 1])) return false;
    const known = this.names.get(token.text);
    if (known === undefined && this.binds) this.names.set(token.text, slot);
    else if (known !== slot) return false;
    this.at++;
    return true;
  }

  private parseItem(slot: Slot): void {
    const token = this.here;
    if (this.endsItem(token) || this.bindsName(slot)) return;
    if (token.kind === 'operator' && token.text === '*' && this.endsItem(this.tokens[this.at + 1])) {
      this.at++;
      return;
    }
    this.slots = bit(slot);
    this.emit('load', token.at, BigInt(slot));
    this.parseLevel(0);
    this.emit('==', token.at);
    const sends = slot === Slot.Src || slot === Slot.SrcLine;
    if (!this.binds && sends && (this.slots & RECEIVER) !== 0)
      throw this.error(token, 'the sender is described by a name of the receiver; say it behind "::"');
    this.addCondition();
  }

  private parseEnd(rank: Slot, line: Slot): void {
    if (!this.isName(this.here, 'P')) throw this.expected('P(rank,line)');
    this.at++;
    this.takeSign('(', '"(" after P');
    this.parseItem(rank);
    this.takeSign(',', '"," or an operator');
    this.parseItem(line);
    this.takeSign(')', '")" or an operator');
  }

  // ---- rules ----

  private parseQuantifier(): void {
    if (this.here.kind !== 'forall') throw this.expected('forall');
    this.at++;
    const token = this.here;
    if (token.kind !== 'name') throw this.expected('a name after forall');
    if (token.text === 'n') throw this.error(token, 'n is the number of processes: choose another name');
    this.slots = bit(this.slotOf(token)); // whose name it is counts, even where the expression does not use it
    this.at++;
    this.takeSign(':', '":"');
    this.parseLevel(0);
    this.addCondition();
  }

  private parseQuantifiers(): void {
    this.parseQuantifier();
    for (let n = 1; ; n++) {
      const token = this.here;
      const next = this.tokens[this.at + 1];
      if (!this.isSign(token, ',') && !(this.isSign(token, ';') && next?.kind === 'forall')) return;
      if (n === SPEC_QUANTIFIERS_MAX) throw this.error(token, `more than ${n} quantifiers in a rule`);
      this.at++;
      this.parseQuantifier();
    }
  }

  private parseOnce(binds: boolean): void {
    this.binds = binds;
    this.code = [];
    this.parseEnd(Slot.Src, Slot.SrcLine);
    if (!this.isNext('arrow')) throw this.expected('"->"');
    this.at++;
    this.parseEnd(Slot.Dst, Slot.DstLine);
    if (this.isNext('colons')) {
      this.at++;
      this.parseQuantifiers();
    } else if (!this.isSign(this.here, ';')) throw this.expected('"::" or ";"');
    this.takeSign(';', '";", "," or an operator');
  }

  parseRule(line: number): Rule {
    const begin = this.at;
    const { at } = this.here;
    this.names = new Map();
    this.conditions = [];
    this.depth = 0;
    this.parseOnce(true);
    this.at = begin;
    this.parseOnce(false);
    return { line, at, end: this.tokens[this.at - 1]!.at, conditions: this.conditions };
  }
}

/** Throws a SpecError. */
export function parseSpec(name: string, text: string | Uint8Array): Spec {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  const source = { name, bytes };
  if (bytes.length > SPEC_BYTES_MAX) throw errorOf(source, `over the limit of ${SPEC_BYTES_MAX} bytes`);
  const parser = new Parser(source, lex(source));
  const rules: Rule[] = [];
  let [line, counted] = [1, 0];
  while (!parser.ends) {
    for (; counted < parser.place; counted++) line += Number(bytes[counted] === 10);
    if (rules.length === SPEC_RULES_MAX) throw errorAt(source, parser.place, `more than ${SPEC_RULES_MAX} rules`);
    rules.push(parser.parseRule(line));
  }
  if (rules.length === 0) throw errorOf(source, 'no rule in it, such as P(0,*)->P(1,*);');
  return { ...source, rules, usesLines: parser.usesLines };
}

/** The beginning of a rule in one line: whole characters, blanks for what else would end the line. */
export function ruleText({ bytes }: Spec, { at, end }: Rule, bytesMax: number): string {
  let to = Math.min(end + 1, at + bytesMax);
  while (to <= end && to > at && (bytes[to]! & 0xc0) === 0x80) to--;
  const shown = bytes.slice(at, to).map((byte) => (byte < 0x20 || byte === 0x7f ? 0x20 : byte));
  return textOf(shown, 0, shown.length);
}
