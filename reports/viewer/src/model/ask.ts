// ask.ts - what is looked for, as people write it, becomes a filter: "allreduce >1ms ranks 3-9", "class:barrier wait", "node:n2 >=64KiB".
// Words in any order: an operation (MPI_ may be left out, * at the end), > or < with a time or a size, wait>1ms, transit>1ms (of
// messages), rank 3-9, node:NAME, comm:NAME, site:FILE:LINE, class:NAME, wait. Pure.
import { readNumbers } from './address';
import { NO_FILTER } from './filter';
import type { Filter } from './filter';

/** What names can mean. */
export interface Names {
  ops: readonly string[];
  classes: readonly string[];
  comms: ReadonlyMap<number, string>;
  sites: ReadonlyMap<number, { place: string; function: string }>;
  nodes: readonly string[]; // by rank
}

export interface Wanted {
  filter: Filter;
  problem: string; // '' if all was understood
}

const TIMES: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 };
const SIZES: Record<string, number> = { b: 1, kb: 1e3, kib: 1024, mb: 1e6, mib: 2 ** 20, gb: 1e9, gib: 2 ** 30 };

function matching(pattern: string, name: string): boolean {
  const [p, n] = [pattern.toLowerCase(), name.toLowerCase()];
  return p.endsWith('*') ? n.startsWith(p.slice(0, -1)) : n === p;
}

/** "late sender" is one word where it is quoted. */
function words(text: string): string[] {
  return (text.replace(/([<>]=?)\s+/g, '$1').match(/[^\s"]*"[^"]*"|\S+/g) ?? []).map((w) => w.replaceAll('"', ''));
}

/** [what of, > or <, number, unit]: ">1ms", "wait>10us", "transit<2ms". */
const LIMIT = /^(wait|transit)?([<>])=?([\d.]+)([a-zµ]*)$/i;

const TIME_LIMITS = {
  '': ['minNs', 'maxNs'],
  wait: ['minWaitNs', 'maxWaitNs'],
  transit: ['minTransitNs', 'maxTransitNs'],
} as const;

export type LimitOf = keyof typeof TIME_LIMITS | 'size';

function limitOf(word: string): { of: LimitOf; low: boolean; value: number } | null {
  const found = LIMIT.exec(word);
  if (!found) return null;
  const [, of = '', side, digits, unit] = found;
  const [time, size] = [TIMES[unit!] ?? TIMES[unit!.toLowerCase()], SIZES[unit!.toLowerCase()]];
  const low = side === '>';
  if (time !== undefined) return { of: of.toLowerCase() as LimitOf, low, value: Number(digits) * time };
  return size !== undefined && of === '' ? { of: 'size', low, value: Number(digits) * size } : null;
}

function limit(f: Filter, word: string): string {
  const found = limitOf(word);
  if (!found || !Number.isFinite(found.value))
    return LIMIT.test(word) ? `“${word}”: times are in ns, us, ms, s, sizes in B, KiB, MiB.` : `“${word}” is unknown.`;
  const { of, low, value } = found;
  if (of === 'size') f[low ? 'minBytes' : 'maxBytes'] = value;
  else f[TIME_LIMITS[of][low ? 0 : 1]] = value;
  return '';
}

function written(of: LimitOf, side: string, value: number): string {
  if (of === 'size') return `${side}=${value}B`;
  const unit = Object.keys(TIMES).find((u) => value < TIMES[u]! * 1000) ?? 's';
  return `${of}${side}=${Number((value / TIMES[unit]!).toPrecision(6))}${unit}`;
}

/** What was written, with other limits of one kind; 0: none. */
export function withLimits(text: string, of: LimitOf, least: number, most: number): string {
  const kept = words(text).filter((word) => limitOf(word)?.of !== of);
  const quote = (word: string) => (/\s/.test(word) ? `"${word}"` : word);
  const limits = [least > 0 ? written(of, '>', least) : '', most > 0 ? written(of, '<', most) : ''];
  return [...kept.map(quote), ...limits].filter((x) => x !== '').join(' ');
}

function named(f: Filter, key: string, value: string, names: Names): string {
  const none = `There is no ${key} “${value}”.`;
  const pick = (test: (name: string) => boolean, of: Iterable<[number, string]>) =>
    [...of].filter(([, name]) => test(name)).map(([id]) => id);
  const has = (name: string) => name.toLowerCase().includes(value.toLowerCase());
  if (key === 'class') f.classes.push(...pick(has, names.classes.entries()));
  else if (key === 'comm') f.comms.push(...pick(has, names.comms));
  else if (key === 'site')
    f.sites.push(
      ...pick(
        has,
        Array.from(names.sites, ([id, s]) => [id, `${s.place} ${s.function}`] as [number, string]),
      ),
    );
  else if (key === 'node') f.ranks.push(...pick((name) => name === value, names.nodes.entries()));
  else if (/^ranks?$/.test(key)) f.ranks.push(...readNumbers(value).filter((r) => r < Math.max(1, names.nodes.length)));
  else return `“${key}:” is unknown: use class, comm, site, node or rank.`;
  const lists: Record<string, number[]> = { class: f.classes, comm: f.comms, site: f.sites };
  return (lists[key] ?? f.ranks).length === 0 ? none : '';
}

function operation(f: Filter, word: string, names: Names): string {
  const found = names.ops.filter((op) => matching(word, op) || matching(`MPI_${word}`, op));
  f.ops.push(...found);
  return found.length > 0 ? '' : `No operation “${word}” was called.`;
}

export function readWanted(text: string, names: Names): Wanted {
  const f: Filter = { ...NO_FILTER, ops: [], classes: [], sites: [], comms: [], ranks: [] };
  const list = words(text);
  const problems: string[] = [];
  for (let i = 0; i < list.length; i++) {
    const word = list[i]!;
    const pair = /^([a-z]+):(.+)$/i.exec(word);
    if (/^(longer|than|on|of|and|at|least|next|over)$/i.test(word)) continue;
    if (/^wait(s|ed|ing)?$/i.test(word)) f.waits = true;
    else if (/^(wait|transit)?[<>]/i.test(word)) problems.push(limit(f, word));
    else if (pair) problems.push(named(f, pair[1]!.toLowerCase(), pair[2]!, names));
    else if (/^(ranks?|node|comm|site|class)$/i.test(word) && i + 1 < list.length)
      problems.push(named(f, word.toLowerCase(), list[++i]!, names));
    else if (/^[\d.]+$/.test(word) && list[i + 1]) problems.push(limit(f, `>${word}${list[++i]}`));
    else if (/^[\d.]+[a-zµ]+$/i.test(word)) problems.push(limit(f, `>${word}`));
    else problems.push(operation(f, word, names));
  }
  return { filter: f, problem: problems.find((p) => p !== '') ?? '' };
}
