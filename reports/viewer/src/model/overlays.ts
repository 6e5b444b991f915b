// overlays.ts - what the analysis found, as marks on a machine: rings about ranks, links between two. In: the analysis, which kinds are on,
// from which severity, how many of each.  Out: halos and links, the most important first. Pure.
import { issues, list, num, numbers, str } from './analysis';
import type { Issue, Json } from './analysis';

export const HALOS = ['issue', 'pattern', 'root', 'top'] as const;
export const LINKS = ['issue', 'hotspot', 'pingpong'] as const;
export type HaloKind = (typeof HALOS)[number];
export type LinkKind = (typeof LINKS)[number];

export interface Halo {
  kind: HaloKind;
  rank: number;
  text: string;
}

export interface Link {
  kind: LinkKind;
  src: number;
  dst: number;
  text: string;
}

export interface Overlays {
  halos: Halo[];
  links: Link[];
  leftOut: number; // halos and links, beyond the limit
}

export interface OverlayChoice {
  halos: readonly string[];
  links: readonly string[];
  severity: string; // the least
  limit: number; // of each kind
  isolated: Issue | null; // nothing but this
}

const LEVELS = ['low', 'medium', 'high'];

export function isAtLeast(issue: Issue, severity: string): boolean {
  return LEVELS.indexOf(issue.severity) >= LEVELS.indexOf(severity);
}

/** Ranks of an issue: those that it names, and the ends of its pairs. */
export function ranksOfIssue(issue: Issue): number[] {
  return [...new Set([...issue.ranks, ...issue.pairs.flat()])];
}

function issueHalos(all: Issue[]): Halo[] {
  return all.flatMap((issue) =>
    ranksOfIssue(issue).map((rank) => ({ kind: 'issue' as const, rank, text: `${issue.severity}: ${issue.title}` })),
  );
}

function issueLinks(all: Issue[]): Link[] {
  return all.flatMap((issue) =>
    issue.pairs.map(([src, dst]) => ({ kind: 'issue' as const, src, dst, text: issue.title })),
  );
}

function patternHalos(analysis: Json): Halo[] {
  return list(analysis, 'patterns').flatMap((p) => {
    const name = str(p, 'pattern').replaceAll('_', ' ');
    return numbers(p, 'ranks').map((rank) => ({ kind: 'pattern' as const, rank, text: `pattern: ${name}` }));
  });
}

function rootHalos(analysis: Json): Halo[] {
  return list(analysis, 'collective_roots').map((x) => ({
    kind: 'root',
    rank: num(x, 'rank') ?? -1,
    text: `root of ${num(x, 'operations') ?? 0} collectives`,
  }));
}

function topHalos(analysis: Json): Halo[] {
  const top = list(analysis, 'top_ranks_by_touch_bytes');
  return top.map((x, i) => ({ kind: 'top', rank: num(x, 'rank') ?? -1, text: `number ${i + 1} by bytes in and out` }));
}

function hotspots(analysis: Json): Link[] {
  return list(analysis, 'top_links').map((x, i) => ({
    kind: 'hotspot',
    src: num(x, 'src') ?? -1,
    dst: num(x, 'dst') ?? -1,
    text: `number ${i + 1} of the links by bytes`,
  }));
}

/** Pairs within the pattern's ranks that talk both ways about equally. */
function pingPongs(analysis: Json): Link[] {
  const members = list(analysis, 'patterns').filter((p) => str(p, 'pattern') === 'ping_pong');
  const ranks = new Set(members.flatMap((p) => numbers(p, 'ranks')));
  const messages = new Map<string, number>();
  const rows = list(analysis, 'matrix', 'p2p').filter((x) => ranks.has(num(x, 'src') ?? -1));
  for (const x of rows) messages.set(`${num(x, 'src')} ${num(x, 'dst')}`, num(x, 'messages') ?? 0);
  return rows.flatMap((x): Link[] => {
    const [src, dst] = [num(x, 'src') ?? -1, num(x, 'dst') ?? -1];
    const [there, back] = [messages.get(`${src} ${dst}`) ?? 0, messages.get(`${dst} ${src}`) ?? 0];
    const isOne = src < dst && ranks.has(dst) && Math.min(there, back) >= 0.8 * Math.max(there, back);
    return isOne ? [{ kind: 'pingpong', src, dst, text: `ping-pong: ${there} and ${back} messages` }] : [];
  });
}

/** Each rank or pair once a kind, the first of them; as many as the limit says. */
function limited<T extends { kind: string }>(
  all: T[],
  key: (x: T) => string,
  limit: number,
): { some: T[]; left: number } {
  const seen = new Map<string, T>();
  for (const x of all) if (!seen.has(`${x.kind} ${key(x)}`)) seen.set(`${x.kind} ${key(x)}`, x);
  const of = new Map<string, number>();
  const some = [...seen.values()].filter((x) => {
    of.set(x.kind, (of.get(x.kind) ?? 0) + 1);
    return of.get(x.kind)! <= limit;
  });
  return { some, left: seen.size - some.length };
}

export function overlaysOf(analysis: Json, ranks: number, choice: OverlayChoice): Overlays {
  const { isolated, limit } = choice;
  const shown = isolated ? [isolated] : issues(analysis).filter((x) => isAtLeast(x, choice.severity));
  const halos: Halo[] = isolated || choice.halos.includes('issue') ? issueHalos(shown) : [];
  const links: Link[] = isolated || choice.links.includes('issue') ? issueLinks(shown) : [];
  if (!isolated) {
    if (choice.halos.includes('pattern')) halos.push(...patternHalos(analysis));
    if (choice.halos.includes('root')) halos.push(...rootHalos(analysis));
    if (choice.halos.includes('top')) halos.push(...topHalos(analysis));
    if (choice.links.includes('hotspot')) links.push(...hotspots(analysis));
    if (choice.links.includes('pingpong')) links.push(...pingPongs(analysis));
  }
  const isThere = (rank: number) => Number.isInteger(rank) && rank >= 0 && rank < ranks;
  const most = isolated ? Infinity : limit;
  const a = limited(
    halos.filter((x) => isThere(x.rank)),
    (x) => String(x.rank),
    most,
  );
  const b = limited(
    links.filter((x) => isThere(x.src) && isThere(x.dst)),
    (x) => `${x.src} ${x.dst}`,
    most,
  );
  return { halos: a.some, links: b.some, leftOut: a.left + b.left };
}
