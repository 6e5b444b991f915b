// spacetime_scene.ts - all that the space-time diagram is drawn from.
import type { Diagram } from '../layout/spacetime';
import type { Frame } from '../layout/spacetime_frame';
import type { Section } from '../model/section';
import type { Judged } from '../model/protocol';
import type { Theme } from './dom';

export interface Scene {
  section: Section;
  diagram: Diagram;
  frame: Frame;
  theme: Theme;
  labels: string[]; // of lines
  marked: ReadonlySet<number>; // lines of selected ranks
  picked: number; // event; -1: none
  runOf: Int32Array | null; // by epoch: its super epoch
  runNames: string[];
  verdictOf: (message: number) => Judged | null;
}
