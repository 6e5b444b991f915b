// colors.test.mjs - whoever does not see all hues tells the classes of the timeline apart by their colours alone, as where bars have no room
// for patterns. Machado, Oliveira and Fernandes 2009 (what is seen), CIEDE2000 (how different it is; Sharma, Wu and Dalal 2005).
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { CLASSES, WAITING_STYLE, hex } from '../../reports/viewer/src/layout/color.ts';

const LEAST = 13; // about 2 is just noticed side by side
const LIGHTER = 3; // of L* 0..100, by which any two differ
const FAR = 25; // that need not be lighter than each other

/** Outside MPI, light and dark: the first and the second time that the style sheet says. */
const style = readFileSync(join(process.env.CORPUS, '..', '..', 'reports', 'viewer', 'src', 'style.css'), 'utf8');
const [light, dark] = [...style.matchAll(/--idle: (#[0-9a-f]{6});/g)].map((x) => x[1]);
const IDLE = { light, dark };

/** Of linear red, green and blue, severity 1. */
const SIGHT = {
  all: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const inside = (v) => Math.min(1, Math.max(0, v));

function seen(color, m) {
  const [r, g, b] = color.map(linear);
  return [0, 3, 6].map((k) => inside(m[k] * r + m[k + 1] * g + m[k + 2] * b));
}

/** CIE L*a*b* (D65) of linear sRGB. */
function lab([r, g, b]) {
  const xyz = [
    (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047,
    0.2126729 * r + 0.7151522 * g + 0.072175 * b,
    (0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883,
  ];
  const [x, y, z] = xyz.map((t) => (t > 216 / 24389 ? Math.cbrt(t) : ((24389 / 27) * t + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function ciede2000([l1, a1, b1], [l2, a2, b2]) {
  const rad = Math.PI / 180;
  const mean = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2;
  const grey = 0.5 * (1 - Math.sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)));
  const [p1, p2] = [a1 * (1 + grey), a2 * (1 + grey)];
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const hue = (a, b) => (a === 0 && b === 0 ? 0 : (Math.atan2(b, a) / rad + 360) % 360);
  const [h1, h2] = [hue(p1, b1), hue(p2, b2)];
  const plain = c1 * c2 === 0;
  const turn = plain ? 0 : ((h2 - h1 + 540) % 360) - 180;
  const dh = 2 * Math.sqrt(c1 * c2) * Math.sin((turn / 2) * rad);
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2];
  const apart = Math.abs(h1 - h2) > 180;
  const h = plain ? h1 + h2 : apart ? (h1 + h2 + (h1 + h2 < 360 ? 360 : -360)) / 2 : (h1 + h2) / 2;
  const cos = (k, shift) => Math.cos((k * h + shift) * rad);
  const t = 1 - 0.17 * cos(1, -30) + 0.24 * cos(2, 0) + 0.32 * cos(3, 6) - 0.2 * cos(4, -63);
  const sl = 1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2);
  const [sc, sh] = [1 + 0.045 * c, 1 + 0.015 * c * t];
  const rotation = 2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7)) * Math.sin(60 * Math.exp(-(((h - 275) / 25) ** 2)) * rad);
  const [x, y, z] = [(l2 - l1) / sl, (c2 - c1) / sc, dh / sh];
  return Math.sqrt(x * x + y * y + z * z - rotation * y * z);
}

/** All that a bar can show. Outside MPI is a colour of the theme. */
function shown(idle) {
  const classes = CLASSES.slice(1).map((c) => ({ name: c.name, color: c.color }));
  return [
    { name: 'outside MPI', color: hex(idle) },
    ...classes,
    { name: WAITING_STYLE.name, color: WAITING_STYLE.color },
  ];
}

function pairs(list) {
  return list.flatMap((a, i) => list.slice(i + 1).map((b) => [a, b]));
}

test('the distance of colours is that of the published examples', () => {
  const examples = [
    [[50, 2.6772, -79.7751], [50, 0, -82.7485], 2.0425],
    [[50, 2.5, 0], [73, 25, -18], 27.1492],
    [[22.7233, 20.0904, -46.694], [23.0331, 14.973, -42.5619], 2.0373],
    [[90.8027, -2.0831, 1.441], [91.1528, -1.6435, 0.0447], 1.4441],
  ];
  for (const [a, b, want] of examples) assert.ok(Math.abs(ciede2000(a, b) - want) < 1e-4, `${ciede2000(a, b)} ${want}`);
});

for (const [theme, idle] of Object.entries(IDLE))
  for (const [name, m] of Object.entries(SIGHT))
    test(`classes differ by colour alone, ${theme}, ${name === 'all' ? 'all hues seen' : name}`, () => {
      const close = pairs(shown(idle))
        .map(([a, b]) => {
          const [p, q] = [lab(seen(a.color, m)), lab(seen(b.color, m))];
          return { a: a.name, b: b.name, distance: ciede2000(p, q), lighter: Math.abs(p[0] - q[0]) };
        })
        .filter((x) => x.distance < LEAST || (x.lighter < LIGHTER && x.distance < FAR));
      assert.deepEqual(close, []);
    });
