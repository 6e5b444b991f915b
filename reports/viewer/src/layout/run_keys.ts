// run_keys.ts - by what runs that are shown beside each other are told apart: a letter, and a colour and a line that go with it, so that no
// hue stands alone. Okabe and Ito's colours, on light and dark.

export interface RunKey {
  letter: string;
  color: string;
  line: 'solid' | 'dashed' | 'dotted' | 'double'; // as CSS names it
}

export const RUN_KEYS: readonly RunKey[] = [
  { letter: 'A', color: '#0072b2', line: 'solid' },
  { letter: 'B', color: '#d55e00', line: 'dashed' },
  { letter: 'C', color: '#009e73', line: 'dotted' },
  { letter: 'D', color: '#cc79a7', line: 'double' },
  { letter: 'E', color: '#e69f00', line: 'solid' },
  { letter: 'F', color: '#56b4e9', line: 'dashed' },
];

export const RUNS_MAX = RUN_KEYS.length;
