// color.ts - what colours mean. Classes: near Okabe and Ito's palette, moved so far that whoever does not see all hues tells any two apart
// (tests/viewer/colors.test.mjs). Magnitude: viridis. Ranks: even steps of hue.
// Every class also has a pattern, for whoever does not see the hue; the legend and raster.ts share the numbers.

export type Rgb = [number, number, number]; // 0..1

export function hex(s: string): Rgb {
  const n = parseInt(s.slice(1), 16);
  return [((n >> 16) & 255) / 255, ((n >> 8) & 255) / 255, (n & 255) / 255];
}

export interface ClassStyle {
  name: string;
  color: Rgb;
  pattern: number; // 0 plain, 1 diagonal, 2 dots, 3 upright, 4 other diagonal, 5 level, 6 grid
}

// The order is that of the file. Vermillion, hatched, is left for one thing: waiting for others, as in the report.
// Where a pattern has no room, lightness tells neighbours in this list apart.
export const CLASSES: ClassStyle[] = [
  { name: 'outside MPI', color: hex('#e9ecf1'), pattern: 0 },
  { name: 'point to point', color: hex('#0072b2'), pattern: 0 },
  { name: 'wait, test, probe', color: hex('#7fcfff'), pattern: 5 },
  { name: 'collective', color: hex('#10af7c'), pattern: 2 },
  { name: 'barrier', color: hex('#e7da2f'), pattern: 3 },
  { name: 'one-sided', color: hex('#c0a7b9'), pattern: 4 },
  { name: 'file access', color: hex('#6a4a28'), pattern: 5 },
  { name: 'other MPI', color: hex('#7d828c'), pattern: 6 },
];

/** Of any class: the part of a call in which it waits for others. */
export const WAITING_STYLE: ClassStyle = { name: 'waiting for others', color: hex('#d55e00'), pattern: 1 };

export function css(c: Rgb, alpha = 1): string {
  const [r, g, b] = c.map((x) => Math.round(x * 255));
  return alpha === 1 ? `rgb(${r} ${g} ${b})` : `rgb(${r} ${g} ${b} / ${alpha})`;
}

function fromOklch(lightness: number, chroma: number, hue: number): Rgb {
  const a = chroma * Math.cos(hue);
  const b = chroma * Math.sin(hue);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((x) => {
    const v = Math.min(1, Math.max(0, x));
    return v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055;
  }) as Rgb;
}

/** Each rank's own colour: equally light, hues a golden angle apart so that neighbours differ. */
export function rankColor(rank: number, dark: boolean): Rgb {
  const hue = (rank * 2.399963 + 0.6) % (2 * Math.PI);
  const tone = (Math.floor(rank / 8) % 3) * 0.05;
  return dark ? fromOklch(0.8 - tone, 0.125, hue) : fromOklch(0.52 + tone, 0.135, hue);
}

const VIRIDIS = [
  '#440154',
  '#482878',
  '#3e4989',
  '#31688e',
  '#26828e',
  '#1f9e89',
  '#35b779',
  '#6ece58',
  '#b5de2b',
  '#fde725',
].map(hex);

/** 0..1 on viridis. */
export function viridis(share: number): Rgb {
  const x = Math.min(1, Math.max(0, share)) * (VIRIDIS.length - 1);
  const i = Math.min(VIRIDIS.length - 2, Math.floor(x));
  const t = x - i;
  return VIRIDIS[i]!.map((v, k) => v + (VIRIDIS[i + 1]![k]! - v) * t) as Rgb;
}
