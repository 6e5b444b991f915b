// containers.ts - which processes stand together: by compute node, by switch, by communicator, in rows, and in containers of the user's own,
// which take their ranks out of the others. Containers nest. Pure.
import { readNumbers, writeNumbers } from './address';

export interface Box {
  id: string; // its path, by which the address names it
  name: string;
  ranks: number[];
  inner: Item[];
  own: boolean;
}

/** A process or a container. */
export type Item = number | Box;

export const ITEMS_MAX = 64; // beside each other; more are put in containers

export interface Own {
  path: string;
  ranks: number[];
}

/** path|0-3 7, as the address has it: a comma would be the next one. */
export function writeOwn({ path, ranks }: Own): string {
  return `${encodeURIComponent(path)}|${writeNumbers(ranks).replaceAll(',', ' ')}`;
}

export function readOwn(text: string): Own | null {
  const [path, ranks] = text.split('|');
  if (!path || !ranks) return null;
  try {
    return { path: decodeURIComponent(path), ranks: readNumbers(ranks.replaceAll(' ', ',')) };
  } catch {
    return null;
  }
}

export function ranksOfItem(item: Item): number[] {
  return typeof item === 'number' ? [item] : item.ranks;
}

function box(path: string, inner: Item[], own: boolean): Box {
  const ranks = inner.flatMap(ranksOfItem).sort((a, b) => a - b);
  return { id: path, name: path.split('/').pop()!, ranks, inner, own };
}

/** Those of the user's own that lie directly in `parent`, with what lies in them. */
function ownIn(parent: string, all: readonly Own[], free: Set<number>): Box[] {
  const children = all.filter(({ path }) => path.split('/').slice(0, -1).join('/') === parent);
  return children.map(({ path, ranks }) => {
    const inner = ownIn(path, all, free);
    const left = ranks.filter((rank) => free.delete(rank));
    return box(path, [...inner, ...left], true);
  });
}

/** Ranks by a name, in the order of the first of each; those without one stand alone. */
export function grouped(ranks: readonly number[], nameOf: (rank: number) => string): Item[] {
  const groups = new Map<string, number[]>();
  const items: Item[] = [];
  for (const rank of ranks) {
    const name = nameOf(rank);
    const known = groups.get(name);
    if (known) known.push(rank);
    else if (name === '') items.push(rank);
    else groups.set(name, [rank]);
  }
  const boxes = Array.from(groups, ([name, members]) => box(name.replaceAll('/', '∕'), members, false));
  return [...boxes, ...items].sort((a, b) => ranksOfItem(a)[0]! - ranksOfItem(b)[0]!);
}

const nameOf = (item: Item) => (typeof item === 'number' ? `${item}` : item.name);

function joined(first: Item, last: Item): string {
  if (typeof first === 'number' && typeof last === 'number') return `ranks ${first}–${last}`;
  return `${nameOf(first).split(' to ')[0]} to ${nameOf(last).split(' to ').pop()}`;
}

/** "n00016 to n00031" as "n00016–00031": what stands before the number of both once. */
export function shortRange(name: string): string {
  const [first = '', last] = name.split(' to ');
  if (last === undefined) return name;
  const before = first.replace(/\d+$/, '');
  return `${first}–${before === last.replace(/\d+$/, '') ? last.slice(before.length) : last}`;
}

/** Neighbours put together until there are few enough to stand beside each other. */
export function fewer(items: Item[], most = ITEMS_MAX): Item[] {
  if (items.length <= most) return items;
  const each = Math.min(most, 2 ** Math.ceil(Math.log2(items.length / most)));
  const size = Math.max(each, items.length > most * most ? most : Math.ceil(Math.sqrt(items.length)));
  const out: Item[] = [];
  for (let i = 0; i < items.length; i += size) {
    const part = items.slice(i, i + size);
    out.push(part.length === 1 ? part[0]! : box(joined(part[0]!, part[part.length - 1]!), part, false));
  }
  return fewer(out, most);
}

export interface Kinds {
  ranks: number;
  nodeOf(rank: number): string;
  switchOf(rank: number): string;
  members(comm: number): readonly number[];
}

function readyMade(by: string, ranks: number[], k: Kinds): Item[] {
  const [kind, id] = by.split(' ');
  if (kind === 'comm') {
    const members = new Set(k.members(Number(id)));
    return [...grouped(ranks, (rank) => (members.has(rank) ? 'members' : 'others'))];
  }
  if (kind === 'node') return grouped(ranks, k.nodeOf);
  if (kind === 'switch') {
    const outer = grouped(ranks, k.switchOf);
    return outer.map((x) =>
      typeof x === 'number' ? x : { ...x, inner: grouped(x.ranks, k.nodeOf).map((y) => under(x.id, y)) },
    );
  }
  return ranks;
}

function under(path: string, item: Item): Item {
  return typeof item === 'number' ? item : { ...item, id: `${path}/${item.id}` };
}

/** What stands on the top level. auto: by node where there are many processes. */
export function arrange(by: string, own: readonly Own[], k: Kinds): Item[] {
  const free = new Set(Array.from({ length: k.ranks }, (_, rank) => rank));
  const known = own.map((o) => ({ ...o, ranks: o.ranks.filter((rank) => rank < k.ranks) }));
  const mine = ownIn('', known, free);
  const rest = [...free];
  const named = new Set(rest.map((rank) => k.nodeOf(rank)));
  const auto = rest.length <= ITEMS_MAX ? 'none' : named.size > 1 ? 'node' : 'none';
  return fewer([...mine, ...readyMade(by === 'auto' ? auto : by, rest, k)]).map(inside);
}

/** The same within containers. */
function inside(item: Item): Item {
  return typeof item === 'number' ? item : { ...item, inner: fewer(item.inner).map(inside) };
}

function found(items: readonly Item[], id: string): Box | null {
  for (const item of items) {
    if (typeof item === 'number') continue;
    const it = item.id === id ? item : found(item.inner, id);
    if (it) return it;
  }
  return null;
}

export const OUTSIDE = '/outside'; // no container of the user's own is called so: names hold no slash

/** A container in a window of its own: what is in it, and all others as one. As it was, if there is none of that name. */
export function windowOn(items: Item[], id: string): Item[] {
  const seen = id === '' ? null : found(items, id);
  if (!seen) return items;
  const within = new Set(seen.ranks);
  const others = items.flatMap(ranksOfItem).filter((rank) => !within.has(rank));
  const outside: Box = { id: OUTSIDE, name: 'outside', ranks: others.sort((a, b) => a - b), inner: [], own: false };
  return others.length > 0 ? [...seen.inner, outside] : [...seen.inner];
}

/** Each rank's closed container as a number from 1, or 0. */
export function hiddenBy(items: readonly Item[], isOpen: (box: Box) => boolean, ranks: number): Int32Array {
  const hidden = new Int32Array(ranks);
  let n = 0;
  const visit = (list: readonly Item[]) => {
    for (const item of list)
      if (typeof item !== 'number') {
        if (isOpen(item)) visit(item.inner);
        else {
          n++;
          for (const rank of item.ranks) hidden[rank] = n;
        }
      }
  };
  visit(items);
  return hidden;
}

// ---- the user's own ----

const known = (own: readonly Own[], path: string) => own.some((o) => o.path === path);
const isUnder = (path: string, top: string) => path === top || path.startsWith(`${top}/`);

/** Without those that nothing is in any more. */
function pruned(own: readonly Own[]): Own[] {
  return own.filter((o) => own.some((x) => isUnder(x.path, o.path) && x.ranks.length > 0));
}

export function takeOut(own: readonly Own[], ranks: readonly number[]): Own[] {
  const out = new Set(ranks);
  return pruned(own.map((o) => ({ ...o, ranks: o.ranks.filter((rank) => !out.has(rank)) })));
}

/** Into that container, which is made if there is none. */
export function putIn(own: readonly Own[], ranks: readonly number[], path: string): Own[] {
  const rest = known(own, path) ? [...own] : [...own, { path, ranks: [] }];
  const out = new Set(ranks);
  return pruned(
    rest.map((o) => ({
      ...o,
      ranks: o.path === path ? [...new Set([...o.ranks, ...ranks])] : o.ranks.filter((rank) => !out.has(rank)),
    })),
  );
}

/** A container with all that is in it under another path; none may be there. */
export function moveTo(own: readonly Own[], from: string, to: string): Own[] {
  if (known(own, to) || isUnder(to, from)) return [...own];
  return own.map((o) => (isUnder(o.path, from) ? { ...o, path: to + o.path.slice(from.length) } : o));
}

/** A name that no container has. */
export function freeName(own: readonly Own[]): string {
  let n = 1;
  while (known(own, `group ${n}`)) n++;
  return `group ${n}`;
}
