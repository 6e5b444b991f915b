// protocol_text.ts - the text of a protocol specification to tokens, and errors that show where they are: postproc/protocol/spec_lex.c again, in the
// bytes of UTF-8 as there, so that places and limits are the same. tests/corpus/protocol decides for both.

export const SPEC_BYTES_MAX = 1 << 20;
export const SPEC_RULES_MAX = 4096;
export const SPEC_NAME_MAX = 63; // bytes
export const SPEC_QUANTIFIERS_MAX = 64; // of one rule
export const SPEC_DEPTH_MAX = 64; // parentheses within each other

const SHOWN_COLUMNS = 72; // of the line with the mistake
export const INT64_MAX = 2n ** 63n - 1n;

export type Op = '==' | '!=' | '<=' | '>=' | '&&' | '||' | '<' | '>' | '+' | '-' | '*' | '/' | '%';
export type Kind = 'end' | 'name' | 'number' | 'forall' | 'arrow' | 'colons' | 'operator' | 'sign';

export interface Token {
  kind: Kind;
  at: number; // byte of the text
  bytes: number;
  text: string; // of a name, an operator or a sign
  value: bigint; // of a number
}

/** A text, by its bytes. */
export interface Source {
  name: string; // for error texts
  bytes: Uint8Array;
}

/** Where a specification is wrong, or cannot be computed. The message is what `mpitrace check` prints. */
export class SpecError extends Error {
  constructor(
    message: string,
    readonly line: number, // from 1; 0: of no place
    readonly column: number, // from 1
    readonly what: string, // without the place
  ) {
    super(message);
  }
}

const decoder = new TextDecoder();
const NEWLINE = 10;

export function textOf(bytes: Uint8Array, from: number, to: number): string {
  return decoder.decode(bytes.subarray(from, to));
}

// ---- places ----

const continues = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

function columns(bytes: Uint8Array, from: number, to: number): number {
  let n = 0;
  for (let i = from; i < to; i++) n += Number(!continues(bytes[i]));
  return n;
}

export function lineNumber(bytes: Uint8Array, at: number): number {
  let n = 1;
  for (let i = 0; i < at; i++) n += Number(bytes[i] === NEWLINE);
  return n;
}

/** The part of the line around the place, and a caret under it. */
function placeOf(bytes: Uint8Array, start: number, at: number): string {
  let from = at;
  for (let n = 0; from > start && n < SHOWN_COLUMNS / 2; n += Number(!continues(bytes[from]))) from--;
  const shown: number[] = [];
  for (let i = from, column = 0; i < bytes.length && bytes[i] !== NEWLINE; i++) {
    const byte = bytes[i]!;
    if (!continues(byte) && column === SHOWN_COLUMNS) break;
    shown.push(byte < 0x20 || byte === 0x7f ? 0x20 : byte);
    column += Number(!continues(byte));
  }
  const dots = from > start;
  const indent = ' '.repeat(columns(bytes, from, at) + (dots ? 3 : 0));
  return `\n  ${dots ? '...' : ''}${decoder.decode(Uint8Array.from(shown))}\n  ${indent}^`;
}

export function errorAt(source: Source, at: number, what: string): SpecError {
  const { bytes } = source;
  const start = at === 0 ? 0 : bytes.lastIndexOf(NEWLINE, at - 1) + 1;
  const [line, column] = [lineNumber(bytes, at), columns(bytes, start, at) + 1];
  return new SpecError(`${source.name}:${line}:${column}: ${what}${placeOf(bytes, start, at)}`, line, column, what);
}

/** A mistake of the whole text. */
export function errorOf(source: Source, what: string): SpecError {
  return new SpecError(`${source.name}: ${what}`, 0, 0, what);
}

// ---- tokens ----

const OPERATORS: Op[] = ['==', '!=', '<=', '>=', '&&', '||', '<', '>', '+', '-', '*', '/', '%'];

/** The longer ones first. */
const SIGNS: [Uint8Array, Kind, string][] = (
  [
    ['∀', 'forall'],
    ['->', 'arrow'],
    ['→', 'arrow'],
    ['::', 'colons'],
    ...OPERATORS.map((op): [string, Kind] => [op, 'operator']),
    ...[...'(),;:'].map((sign): [string, Kind] => [sign, 'sign']),
  ] as [string, Kind][]
).map(([text, kind]) => [new TextEncoder().encode(text), kind, text]);

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39;
const isBlank = (byte: number | undefined) => byte === 0x20 || (byte !== undefined && byte >= 9 && byte <= 13);

function isLetter(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  return byte === 0x5f || (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);
}

function skipBlank(bytes: Uint8Array, from: number): number {
  let at = from;
  for (; at < bytes.length; at++) {
    if (bytes[at] === 0x23) while (at + 1 < bytes.length && bytes[at + 1] !== NEWLINE) at++;
    else if (!isBlank(bytes[at])) break;
  }
  return at;
}

function lexNumber(source: Source, at: number): Token {
  const { bytes } = source;
  let end = at;
  let value = 0n;
  for (; isDigit(bytes[end]); end++) {
    value = value * 10n + BigInt(bytes[end]! - 0x30);
    if (value > INT64_MAX) throw errorAt(source, at, 'this number is beyond 64 bits');
  }
  if (isLetter(bytes[end])) throw errorAt(source, end, 'a letter in a number');
  return { kind: 'number', at, bytes: end - at, text: '', value };
}

function lexName(source: Source, at: number): Token {
  const { bytes } = source;
  let end = at;
  while (isLetter(bytes[end]) || isDigit(bytes[end])) end++;
  if (end - at > SPEC_NAME_MAX) throw errorAt(source, at, `a name of more than ${SPEC_NAME_MAX} letters`);
  const text = textOf(bytes, at, end);
  return { kind: text === 'forall' ? 'forall' : 'name', at, bytes: end - at, text, value: 0n };
}

function lexSign(source: Source, at: number): Token {
  const { bytes } = source;
  for (const [sign, kind, text] of SIGNS)
    if (sign.every((byte, i) => bytes[at + i] === byte)) return { kind, at, bytes: sign.length, text, value: 0n };
  throw errorAt(source, at, 'this character means nothing here');
}

export function lex(source: Source): Token[] {
  const { bytes } = source;
  const tokens: Token[] = [];
  for (let at = skipBlank(bytes, 0); at < bytes.length; at = skipBlank(bytes, at)) {
    const read = isDigit(bytes[at]) ? lexNumber : isLetter(bytes[at]) ? lexName : lexSign;
    const token = read(source, at);
    tokens.push(token);
    at += token.bytes;
  }
  tokens.push({ kind: 'end', at: bytes.length, bytes: 0, text: '', value: 0n });
  return tokens;
}
