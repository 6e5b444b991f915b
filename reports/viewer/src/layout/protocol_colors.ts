// protocol_colors.ts - what the colours of verdicts look like: of Okabe and Ito, and never the hue alone: each has a line and a sign, which is
// that of `mpitrace check`.
import type { Colour } from '../model/protocol';

export interface ColourStyle {
  hex: string;
  dash: number[]; // of lines on a canvas
  border: string; // of lines in a style sheet
  sign: string;
  means: string;
}

export const COLOUR_STYLES: Record<Colour, ColourStyle> = {
  red: { hex: '#d55e00', dash: [2, 3], border: 'double', sign: '×', means: 'no rule allows it, and some forbid it' },
  orange: { hex: '#e69f00', dash: [7, 4], border: 'dashed', sign: '~', means: 'not as this level requires' },
  blue: { hex: '#0072b2', dash: [1, 3], border: 'dotted', sign: '○', means: 'no rule applies' },
  green: { hex: '#009e73', dash: [], border: 'solid', sign: '+', means: 'conforms' },
};

/** Those that do not conform first. */
export const COLOURS_SHOWN: readonly Colour[] = ['red', 'orange', 'blue', 'green'];

export const LEVEL_WORDS: readonly string[] = [
  'some rule allows it, or none forbids it',
  'no rule forbids it',
  'no rule forbids it, and some allows it',
  'no rule forbids it, and exactly one allows it',
];
