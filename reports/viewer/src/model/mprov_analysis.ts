// mprov_analysis.ts - the analysis object of an imported log: what its events tell, and null for what they do not (postproc/protocol/import_json.c).
import { TICK_NS } from './mprov';
import type { Log } from './mprov';

const PAIRS_MAX = 65536;
const NOTE = 'The imported file does not say how long calls took.';

/** Calls of one kind from one line. */
export interface Site {
  op: number;
  line: number;
  calls: number;
}

export const LOG_OPS = ['send', 'receive'];

const nulls = (...names: string[]) => Object.fromEntries(names.map((name) => [name, null]));
const zeros = (...names: string[]) => Object.fromEntries(names.map((name) => [name, 0]));
const empty = (...names: string[]) => Object.fromEntries(names.map((name) => [name, []]));

function coverage(log: Log): unknown {
  const [sends, receives] = [log.unmatchedSends, log.unmatchedReceives];
  return {
    complete: false,
    ranks_expected: log.ranks.length,
    ranks_seen: log.ranks.filter((events) => events.length > 0).length,
    nodes_missing: [],
    events: log.events,
    events_lost: null,
    calls_before_init: null,
    reasons: [
      `MPROV records no times: the time line shows steps of a logical clock, ${TICK_NS} ns each.`,
      'MPROV records no bytes, tags, communicators and collectives, and no names of calls and files.',
    ],
    unmatched: {
      sends,
      receives,
      ...nulls('partner_missing', 'record_cut', 'unknown_source', 'program', 'collectives', 'collectives_differ'),
      ...nulls('cancelled', 'proc_null', 'outside_world'),
    },
  };
}

interface Pair {
  src: number;
  dst: number;
  messages: number;
}

/** Links stand by (source, destination). */
function pairsOf(log: Log): Pair[] {
  const pairs: Pair[] = [];
  for (const { src, dst } of log.links) {
    const last = pairs[pairs.length - 1];
    if (last?.src === src && last.dst === dst) last.messages++;
    else pairs.push({ src, dst, messages: 1 });
  }
  return pairs;
}

function perRank(log: Log, pairs: Pair[]): Record<string, unknown>[] {
  const n = log.ranks.length;
  const [out, into] = [new Float64Array(n), new Float64Array(n)];
  const peers = log.ranks.map(() => new Set<number>());
  for (const { src, dst, messages } of pairs) {
    out[src]! += messages;
    into[dst]! += messages;
    if (src === dst) continue;
    peers[src]!.add(dst);
    peers[dst]!.add(src);
  }
  return log.ranks.map((events, rank) => ({
    rank,
    node: null,
    ...nulls('useful_s', 'mpi_s', 'wait_s', 'caused_wait_s', 'startup_s', 'completions', 'exit_status', 'cpus'),
    ...nulls('collective_bytes_out', 'collective_bytes_in'),
    messages_out: out[rank],
    messages_in: into[rank],
    ...nulls('bytes_out', 'bytes_in'),
    peers: peers[rank]!.size,
    barriers: 0,
    collectives: 0,
    calls: events.length,
    state: events.length > 0 ? 'unknown' : 'missing',
  }));
}

function summary(log: Log, pairs: Pair[], ranks: Record<string, unknown>[]): unknown {
  const n = log.ranks.length;
  const others = n * (n - 1);
  return {
    events: log.events,
    transfers: log.links.length,
    bytes: null,
    messages_sent: log.links.length + log.unmatchedSends,
    ...nulls('bytes_sent', 'collective_bytes', 'completions'),
    barriers: 0,
    collectives: 0,
    runtime_s: null,
    pair_density: others > 0 ? pairs.filter((p) => p.src !== p.dst).length / others : 0,
    mean_peers: ranks.reduce((sum, x) => sum + Number(x.peers), 0) / n,
  };
}

function operations(log: Log): unknown[] {
  const calls = [0, 0];
  for (const events of log.ranks) for (const { sends } of events) calls[sends ? 0 : 1]!++;
  const rows = LOG_OPS.map((op, i) => ({ op, calls: calls[i]!, time_s: null, bytes: null }));
  return rows.filter((row) => row.calls > 0);
}

function rest(): object {
  return {
    ...empty('wait_states', 'wait_totals', 'worlds', 'windows', 'files', 'top_ranks_by_out_bytes'),
    ...empty('top_ranks_by_in_bytes', 'top_ranks_by_touch_bytes', 'top_links', 'collective_roots'),
    ...empty('barrier_spreads', 'time_windows', 'patterns', 'issues'),
    ...zeros('wait_states_left_out', 'communicators_left_out', 'windows_left_out', 'files_left_out'),
    topology: { nodes: [], misbindings: [] },
    verdict: 'Imported: the file does not say how long calls took, so there is no analysis of issues.',
  };
}

export function analysisOf(log: Log, name: string, sites: Site[]): Record<string, unknown> {
  const pairs = pairsOf(log);
  const ranks = perRank(log, pairs);
  const shown = pairs.slice(0, PAIRS_MAX);
  return {
    schema: 'mpitrace/analysis/1',
    job: {
      ...nulls('cluster', 'job_id', 'step_id', 'restart'),
      program: name,
      argv: [],
      argv_missing_bytes: 0,
      nodes: [],
      ranks: log.ranks.length,
      ...nulls('start', 'elapsed_s', 'mpi', 'slurm'),
      state: 'partial',
      imported: 'mprov',
    },
    coverage: coverage(log),
    clock: {
      method: 'none: steps of a logical clock',
      error_bound_us: null,
      ...zeros('violations', 'violations_repaired', 'events_moved', 'nodes_unlinked', 'largest_violation_us'),
    },
    overhead: nulls('ns_per_call', 'share'),
    efficiency: {
      ...nulls('load_balance', 'communication', 'parallel', 'serialization', 'transfer', 'region_s'),
      ...nulls('useful_max_s', 'useful_mean_s'),
      note: NOTE,
    },
    critical_path: {
      note: NOTE,
      ...nulls('length_s', 'useful_s', 'mpi_s', 'jumps', 'imbalance_s'),
      ...empty('per_rank', 'callsites', 'segments'),
      segments_left_out: 0,
    },
    operations: operations(log),
    callsites: sites.map(({ op, line, calls }, id) => ({
      id,
      op: LOG_OPS[op],
      line,
      calls,
      ...nulls('file', 'function', 'module', 'address', 'time_s', 'bytes', 'wait_s'),
    })),
    matrix: {
      p2p: shown.map((p) => ({ ...p, bytes: null })),
      ...empty('collective', 'rma'),
      p2p_pairs_left_out: pairs.length - shown.length,
      ...zeros('collective_pairs_left_out', 'rma_pairs_left_out'),
    },
    per_rank: ranks,
    summary: summary(log, pairs, ranks),
    communicators: [],
    ...rest(),
  };
}
