// protocol.ts - what the specification of a protocol says of messages (docs/PROTOCOL.md), in the terms of postproc/protocol/spec.h.

export const SPEC_BYTES_MAX = 1 << 20;
export const NO_LINE = -1; // the source line is not known: no condition holds that looks at it
export const LEVELS = [0, 1, 2, 3] as const;

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

/** What is wrong, and where: line and column from 1; 0: of no place. */
export interface Mistake {
  message: string; // as `mpitrace check` prints it
  what: string; // without the place
  line: number;
  column: number;
}

export const conforms = (colour: Colour) => colour === 'green' || colour === 'blue';
