// machine_words.ts - a machine and its ranks in words and numbers: how large it is, what a rank or a node is, what ranks are coloured by.
import type { Tip } from '../draw/tooltip';
import { count, percent, plural } from '../layout/format';
import { list, num } from '../model/analysis';
import type { Json } from '../model/analysis';
import { placeOf } from '../model/machine';
import type { Machine } from '../model/machine';
import type { Halo } from '../model/overlays';
import type { Session } from '../work/session';

export function sizeOf({ groups, nodes, ranks, from }: Machine): string {
  const switches = groups.filter((name) => name !== '').length;
  const below = switches === 0 ? '' : ` below ${count(switches)} ${switches === 1 ? 'switch' : 'switches'}`;
  const source = { record: '', map: ', as the map says', names: '; cores are not in the record' }[from];
  return `${plural(ranks.length, 'rank')} on ${plural(nodes.length, 'node')}${below}${source}`;
}

/** Of the time in the program and in MPI. */
function shareOf(wait: number | undefined, useful = 0, mpi = 0): number | null {
  return wait !== undefined && useful + mpi > 0 ? wait / (useful + mpi) : null;
}

export interface RankValues {
  most: number;
  share(rank: number): number; // of the most; NaN: not known
}

/** What ranks are coloured by: the share of their time that they wait, or bytes in and out. */
export function rankValues(analysis: Json, ranks: number, by: string): RankValues {
  const values = new Float64Array(ranks);
  for (const x of list(analysis, 'per_rank')) {
    const rank = num(x, 'rank') ?? -1;
    const traffic = (num(x, 'bytes_out') ?? 0) + (num(x, 'bytes_in') ?? 0);
    const waits = shareOf(num(x, 'wait_s'), num(x, 'useful_s'), num(x, 'mpi_s')) ?? NaN;
    if (rank >= 0 && rank < ranks) values[rank] = by === 'wait' ? waits : traffic;
  }
  const most = by === 'wait' ? 1 : values.reduce((a, b) => Math.max(a, b), 0);
  return { most, share: (rank) => (most > 0 ? values[rank]! / most : 0) };
}

export function nodeTip(m: Machine, node: number): Tip {
  const { name, path, cores, known } = m.nodes[node]!;
  const ranks = m.ranks.reduce((n, rank) => n + Number(rank.node === node), 0);
  const rows: [string, string][] = [['ranks', count(ranks)]];
  if (path !== '') rows.push(['switches', path]);
  if (known) rows.push(['cores', count(cores.length)]);
  return { title: name, rows };
}

/** Rank, node, core and binding, and what is said of the rank. */
export function rankTip(m: Machine, rank: number, session: Session, halos: readonly Halo[]): Tip {
  const rows = placeOf(m, rank);
  const row = list(session.analysis, 'per_rank').find((x) => num(x, 'rank') === rank);
  const share = shareOf(num(row, 'wait_s'), num(row, 'useful_s'), num(row, 'mpi_s'));
  rows.push(['waiting', share === null ? 'not known' : percent(share)]);
  for (const halo of halos) if (halo.rank === rank) rows.push(['marked', halo.text]);
  return { title: `rank ${rank}`, rows };
}
