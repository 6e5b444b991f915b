// machine_colors.ts - colours of a machine's boxes: quiet ones for hardware, ranks as whoever asks says; those that are not meant are
// dimmed. Pure.
import type { Machine } from '../model/machine';
import { hex } from './color';
import type { Rgb } from './color';
import type { Part } from './machine';

const HARDWARE: Record<'light' | 'dark', Record<Exclude<Part, 'rank'>, Rgb>> = {
  light: {
    group: hex('#eceff4'),
    node: hex('#c3cad6'),
    package: hex('#dde2ea'),
    numa: hex('#cfd6e1'),
    core: hex('#f7f8fa'),
  },
  dark: {
    group: hex('#1f242c'),
    node: hex('#3b4350'),
    package: hex('#2b323c'),
    numa: hex('#37404c'),
    core: hex('#222831'),
  },
};

const DIMMED = 0.82; // how far towards the ground

/** strong: the ranks that are meant; null: all. */
export function machineColors(
  m: Machine,
  of: (rank: number) => Rgb,
  strong: ReadonlySet<number> | null,
  dark: boolean,
): Record<Part, Float32Array> {
  const quiet = HARDWARE[dark ? 'dark' : 'light'];
  const rank = new Float32Array(m.ranks.length * 3);
  m.ranks.forEach((_, i) => {
    const color = of(i);
    const share = strong === null || strong.has(i) ? 0 : DIMMED;
    rank.set(
      color.map((x, k) => x + (quiet.package[k]! - x) * share),
      i * 3,
    );
  });
  const parts = Object.entries(quiet).map(([part, color]) => [part, new Float32Array(color)]);
  return { ...(Object.fromEntries(parts) as Record<Exclude<Part, 'rank'>, Float32Array>), rank };
}
