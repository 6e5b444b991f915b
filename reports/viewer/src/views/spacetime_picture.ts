// spacetime_picture.ts - the space-time view as one picture, for files: its runs from left to right, each under its key and its name.
import { FONT } from '../draw/dom';
import type { Theme } from '../draw/dom';
import { RUN_KEYS } from '../layout/run_keys';
import type { RunKey } from '../layout/run_keys';
import type { Counts } from '../layout/spacetime_frame';
import type { Run } from './spacetime_run';
import type { SpaceState } from './spacetime_state';

type G = CanvasRenderingContext2D;

export interface Picture {
  runs: readonly Run[];
  state: SpaceState;
  counts: Counts;
  theme: Theme;
}

const TITLE = 22; // pixels
const DASHES = { solid: [], dashed: [8, 5], dotted: [2, 3], double: [] } as const;

function drawTitle(g: G, width: number, key: RunKey, name: string, theme: Theme): void {
  g.strokeStyle = key.color;
  g.lineWidth = 3;
  g.setLineDash([...DASHES[key.line]]);
  for (const y of key.line === 'double' ? [TITLE - 6, TITLE - 2] : [TITLE - 2]) {
    g.lineWidth = key.line === 'double' ? 1.5 : 3;
    g.beginPath();
    g.moveTo(4, y);
    g.lineTo(width - 4, y);
    g.stroke();
  }
  g.setLineDash([]);
  g.font = FONT;
  g.textAlign = 'left';
  g.textBaseline = 'middle';
  g.fillStyle = theme.text;
  g.fillText(`${key.letter}  ${name}`, 6, TITLE / 2 - 3);
}

export function paintRuns(g: G, width: number, height: number, { runs, state, counts, theme }: Picture): void {
  if (runs.length === 1) return void runs[0]!.paint(g, width, height, state, counts);
  const each = width / runs.length;
  runs.forEach((run, k) => {
    g.save();
    g.translate(k * each, 0);
    g.beginPath();
    g.rect(0, 0, each, height);
    g.clip();
    drawTitle(g, each, RUN_KEYS[k]!, run.session.name, theme);
    g.translate(0, TITLE);
    run.paint(g, each, height - TITLE, state, counts);
    g.restore();
  });
}
