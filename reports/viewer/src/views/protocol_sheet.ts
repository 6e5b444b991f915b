// protocol_sheet.ts - what a check found as rows: of the list, of the table twin, of files.
import { COLOUR_STYLES } from '../layout/protocol_colors';
import { count, plural } from '../layout/format';
import { NO_LINE } from '../model/protocol';
import type { Cell, Sheet } from '../model/sheet';
import type { Checked, Result } from '../model/check';

/** The line of a rule; with a letter where others stand in the same. */
export function ruleName({ rules }: Checked, i: number): string {
  const { line } = rules[i]!;
  if (rules[i - 1]?.line !== line && rules[i + 1]?.line !== line) return String(line);
  let nth = 0;
  while (rules[i - nth - 1]?.line === line) nth++;
  return nth < 26 ? `${line}${String.fromCharCode(97 + nth)}` : `${line}.${nth + 1}`;
}

const rulesOf = (c: Checked, places: number[]) => places.map((i) => ruleName(c, i)).join(' ');

/** Lines of the rules: those that match, those that are violated. */
export function rulesInWords(c: Checked, r: Result): string {
  const matched = r.matched.length > 0 ? `✓ ${rulesOf(c, r.matched)}` : '';
  const violated = r.violated.length > 0 ? `✗ ${rulesOf(c, r.violated)}` : '';
  return [violated, matched].filter((text) => text !== '').join('  ') || 'none applies';
}

const place = (rank: number, line: number) => (line === NO_LINE ? `${rank}` : `${rank}:${line}`);

/** A row of the list. */
export function resultCells(c: Checked, r: Result): string[] {
  return [
    `${COLOUR_STYLES[r.colour].sign} ${r.colour}`,
    place(r.sender, r.senderLine),
    count(r.sendEvent),
    place(r.receiver, r.receiverLine),
    count(r.receiveEvent),
    count(r.A),
    count(r.L),
    rulesInWords(c, r),
  ];
}

export const RESULT_COLUMNS = [
  { key: 'colour', title: 'Verdict', width: 84 },
  { key: 'from', title: 'Sender:line', width: 100 },
  { key: 'sendEvent', title: 'Event', width: 62, isNumber: true },
  { key: 'to', title: 'Receiver:line', width: 104 },
  { key: 'receiveEvent', title: 'Event', width: 62, isNumber: true },
  { key: 'A', title: 'A', width: 40, isNumber: true },
  { key: 'L', title: 'L', width: 40, isNumber: true },
  { key: 'rules', title: 'Lines of rules', width: 120 },
];

const orNull = (line: number): Cell => (line === NO_LINE ? null : line);

const COLUMNS: [string, string][] = [
  ['colour', 'verdict'],
  ['src', 'from rank'],
  ['send_event', 'its event'],
  ['send_line', 'its line'],
  ['dst', 'to rank'],
  ['recv_event', 'its event'],
  ['recv_line', 'its line'],
  ['a', 'A'],
  ['l', 'L'],
  ['matched', 'lines of rules that match'],
  ['violated', 'lines of rules that are violated'],
];

export function sheetOf(c: Checked | null, name: string): Sheet {
  const columns = COLUMNS.map(([key, title]) => ({ name: key, title }));
  if (!c) return { title: 'Protocol', note: 'nothing is checked', columns, rows: [] };
  const counts = Object.entries(c.colours).map(([colour, n]) => `${count(n)} ${colour}`);
  const left = c.leftOut > 0 ? `; ${count(c.leftOut)} are not listed` : '';
  const lost = c.unreceived > 0 ? `; ${plural(c.unreceived, 'more message')} sent, not received, not checked` : '';
  const rules = c.rules.map((r, i) => `line ${ruleName(c, i)}: ${r.matched} matched, ${r.violated} violated`);
  return {
    title: `Protocol ${name}, level ${c.level}`,
    note: `${plural(c.messages, 'message')}: ${counts.join(', ')}${lost}${left}; ${rules.slice(0, 20).join('; ')}`,
    columns,
    rows: c.results.map((r) => [
      r.colour,
      r.sender,
      r.sendEvent,
      orNull(r.senderLine),
      r.receiver,
      r.receiveEvent,
      orNull(r.receiverLine),
      r.A,
      r.L,
      rulesOf(c, r.matched),
      rulesOf(c, r.violated),
    ]),
  };
}
