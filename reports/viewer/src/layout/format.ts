// format.ts - numbers as people read them. Pure.

export function duration(ns: number): string {
  const a = Math.abs(ns);
  if (a >= 100e9) return `${(ns / 1e9).toFixed(0)} s`;
  if (a >= 1e9) return `${(ns / 1e9).toFixed(2)} s`;
  if (a >= 1e6) return `${(ns / 1e6).toFixed(2)} ms`;
  if (a >= 1e3) return `${(ns / 1e3).toFixed(2)} µs`;
  return `${ns.toFixed(0)} ns`;
}

/** The same to two digits, of what is known no better. */
export function roundDuration(ns: number): string {
  const [scale, unit] = ns >= 1e9 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : [1e3, 'µs'];
  return `${Number((ns / scale).toPrecision(2))} ${unit}`;
}

export function bytes(n: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${unit === 0 ? Math.round(n) : n.toPrecision(n >= 100 ? 4 : 3)} ${units[unit]}`;
}

export function count(n: number): string {
  return Math.round(n).toLocaleString('en-US');
}

export function percent(share: number | undefined): string {
  if (share === undefined) return '–';
  return share > 0 && share < 0.005 ? '< 1 %' : `${Math.round(share * 100)} %`; // little is not nothing
}

/** A moment of the run in the unit for steps of `unitStep`, with digits to tell it from one `step` ns away. */
export function moment(ns: number, step: number, unitStep = step): string {
  const [unit, scale] = unitStep >= 1e7 ? ['s', 1e9] : unitStep >= 1e4 ? ['ms', 1e6] : ['µs', 1e3];
  const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step / scale) - 1e-9)));
  return `${(ns / scale).toFixed(digits)} ${unit}`;
}

/** A moment to the nanosecond. */
export function exactMoment(ns: number): string {
  const a = Math.abs(ns);
  if (a >= 1e9) return `${(ns / 1e9).toFixed(9)} s`;
  return a >= 1e6 ? `${(ns / 1e6).toFixed(6)} ms` : `${(ns / 1e3).toFixed(3)} µs`;
}

/** A place in the program without its folders: the end of it says which it is. */
export function shortPlace(place: string): string {
  return place.replace(/^\/(\S*\/)?/, '');
}

export function plural(n: number, word: string): string {
  return `${count(n)} ${word}${n === 1 ? '' : word.endsWith('s') ? 'es' : 's'}`;
}

/** Of so many chunks so many are read; nothing where all are. */
export function stillReading(read: number, of: number): string {
  return read < of ? `reading, ${count(read)} of ${plural(of, 'chunk')}` : '';
}
