// support.mjs - traces for the tests: made, recorded, forged, opened, and shown or dumped by the C reader. Environment:
// MPITRACE, GENERATE, MAKE_MPIX, ODD_MPIX, MPIX_DUMP, CORPUS (tests/corpus), PROGRAMS (tests/programs), WORK (where files go).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { crc32c } from '../../reports/viewer/src/decode/crc32c.ts';
import { ENTRY_BYTES, Kind, SUPERBLOCK_BYTES } from '../../reports/viewer/src/decode/layout.ts';
import { Reader } from '../../reports/viewer/src/decode/reader.ts';
import { NOWHERE, bytesOf, callsOf, collectiveOf, threadOf } from '../../reports/viewer/src/decode/records.ts';
import { FileSource } from '../../reports/viewer/src/io/source.ts';
import { Trace } from '../../reports/viewer/src/model/trace.ts';
import { bytesCameTo, totalNs, waitLength, waitsOf } from '../../reports/viewer/src/model/waits.ts';

const { MPITRACE, GENERATE, MAKE_MPIX, ODD_MPIX, MPIX_DUMP, CORPUS, PROGRAMS, WORK } = process.env;
const SHOWN_MAX = 512 * 2 ** 20;

export const flavour = ['openmpi', 'mpich'].find((name) => existsSync(`/usr/bin/mpicc.${name}`));

/** A halo exchange of known content; tests/tools/make_mpix.c says which. */
export function make(columns, rows, steps, ...more) {
  const path = join(WORK, `${[columns, rows, steps, ...more].join('x')}.mpix`);
  execFileSync(MAKE_MPIX, [path, columns, rows, steps, ...more].map(String));
  return path;
}

/** A trace as tests/bench/generate.c makes it; more: further options. */
export function generated(pattern, ranks, nodes, events, ...more) {
  const dir = join(WORK, [pattern, ranks, ...more].join(''));
  rmSync(dir, { recursive: true, force: true });
  const size = ['--ranks', ranks, '--nodes', nodes, '--events-per-rank', events].map(String);
  execFileSync(GENERATE, ['--pattern', pattern, ...size, ...more, '-o', dir], { stdio: 'ignore' });
  const trace = `${dir}.mpix`;
  execFileSync(MPITRACE, ['analyze', dir, '-o', trace], { stdio: 'ignore' });
  return trace;
}

/** Whatever the format can hold; odd_mpix.c says what. */
export function makeOdd(seed) {
  const path = join(WORK, `odd${seed}.mpix`);
  execFileSync(ODD_MPIX, [path, String(seed)]);
  return path;
}

/** The trace of a program of tests/programs on four ranks. */
export function record(name, ...args) {
  const program = join(WORK, name);
  const bin = join(WORK, 'bin'); // with `mpirun` of the compiler's MPI
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'mpirun'), `#!/bin/sh\nexec /usr/bin/mpirun.${flavour} "$@"\n`, { mode: 0o755 });
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    OMPI_ALLOW_RUN_AS_ROOT: '1',
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
    OMPI_MCA_mpi_yield_when_idle: '1',
    OMPI_MCA_rmaps_base_oversubscribe: '1',
    PRTE_MCA_rmaps_default_mapping_policy: ':oversubscribe', // of Open MPI 5 and later
    OMPI_MCA_osc: '^rdma', // as in tests/integration/trace.py
  };
  for (const end of ['', '.mpic', '.mpix', '.html'])
    rmSync(join(WORK, `${name}${end}`), { force: true, recursive: true });
  execFileSync(`/usr/bin/mpicc.${flavour}`, ['-g', '-w', '-o', program, join(PROGRAMS, `${name}.c`)]);
  const words = ['run', '-n', '4', '--out', WORK, '--name', name, '--', program, ...args];
  const trace = join(WORK, `${name}.mpix`);
  try {
    execFileSync(MPITRACE, words, { env, cwd: WORK, stdio: 'pipe', timeout: 120000 });
  } catch (error) {
    if (!existsSync(trace)) throw error; // some programs are there to fail
  }
  return trace;
}

export function openBytes(bytes) {
  return Trace.open(new FileSource(new Blob([bytes]), 'test.mpix'));
}

export function open(path) {
  return openBytes(readFileSync(path));
}

/** As if single calls of these ranks, or of all, were missing from a moment on. */
export function recordTo(trace, ns, ranks = [...Array(trace.meta.ranks).keys()]) {
  const { firstLane } = trace.meta;
  for (const rank of ranks) {
    trace.recordedUntil[rank] = ns;
    trace.laneRecordedUntil.fill(ns, firstLane[rank], firstLane[rank + 1]);
  }
}

/** The same run as if only totals had been recorded: no call of it, but those that are given. opens: by rank. */
export async function openTotals(path, opens) {
  const trace = await open(path);
  for (const kind of [Kind.Events, Kind.Messages, Kind.Waits, Kind.Summary, Kind.Top]) trace.byKind.delete(kind);
  trace.meta.events = 0;
  recordTo(trace, 0);
  const call = { thread: 0, op: 'MPI_Recv', class: 1, site: -1, comm: -1, waits: false, needs: -1 };
  for (const [rank, x] of Object.entries(opens(trace.meta.runtime))) trace.opens.set(Number(rank), [{ ...call, ...x }]);
  return trace;
}

/** What `mpitrace show --json` says. */
export function show(path, ...options) {
  return JSON.parse(execFileSync(MPITRACE, ['show', path, '--json', ...options], { maxBuffer: SHOWN_MAX }));
}

/** The same numbers every time. */
export function random(seed) {
  let x = seed * 2654435761 + 12345;
  return (n) => {
    x = (Math.imul(x, 1103515245) + 12345) >>> 0;
    return Math.floor((x / 2 ** 32) * n);
  };
}

/** The index entries of one kind, in the order of the file. */
export function entries(trace, kind) {
  return trace.byKind.get(kind) ?? [];
}

/** What the C reader reads of files, one object each: { ok, events, messages, waits, samples }. */
export function dump(...paths) {
  const text = execFileSync(MPIX_DUMP, paths, { maxBuffer: SHOWN_MAX, stdio: ['ignore', 'pipe', 'ignore'] });
  return String(text)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The file of version 1 that is kept, and what is in it. */
export const version1 = { path: join(CORPUS, 'version_1.mpix'), json: join(CORPUS, 'version_1.json') };

/** Runs of one rank's threads, of which the one goes on whose next call starts first. */
function merged(chunk, runs) {
  const next = runs.map((s) => s.first);
  const calls = [];
  for (;;) {
    let of = -1;
    runs.forEach((s, k) => {
      const better = of < 0 || chunk.start[next[k]] < chunk.start[next[of]];
      if (next[k] < s.first + s.count && better) of = k;
    });
    if (of < 0) return calls;
    calls.push([chunk, next[of]++, runs[of].rank, runs[of]]);
  }
}

/** Every call of every rank once: [chunk, index, rank, segment], as the C reader walks them. */
export async function allEvents(trace) {
  const byRank = Array.from({ length: trace.meta.ranks }, () => []);
  const chunks = entries(trace, Kind.Events).sort((a, b) => a.group - b.group || a.seq - b.seq);
  for (const entry of chunks) {
    const chunk = await trace.events(entry);
    const runs = new Map(); // by rank
    for (const s of chunk.segments) if (!s.carried) runs.set(s.rank, [...(runs.get(s.rank) ?? []), s]);
    for (const [rank, list] of runs) {
      // segments of version 1 follow each other, those of version 2 are of different threads
      const calls = trace.version === 1 ? list.flatMap((s) => merged(chunk, [s])) : merged(chunk, list);
      for (const x of calls) byRank[rank].push(x); // of any length
    }
  }
  return byRank.flat();
}

const position = (window, lane, index) => (window === NOWHERE ? null : [window, lane, index]);

/** A call as mpix_dump writes it. */
export async function eventRow(trace, [chunk, i, rank, segment]) {
  const s = chunk.signature[i];
  const of = chunk.signatures;
  const end = chunk.start[i] + chunk.duration[i];
  const wait = totalNs(await waitsOf(trace, { chunk, index: i }));
  const bytes = bytesOf(chunk, i) + (await bytesCameTo(trace, { chunk, index: i }));
  const what = [of.op[s], of.class[s], of.peer[s], of.tag[s], bytes, callsOf(chunk, i), of.comm[s]];
  const where = position(segment.window, segment.lane, segment.index + i - segment.first);
  const rest = [threadOf(chunk, i), of.callSite[s], where, collectiveOf(chunk, i)];
  return [rank, chunk.start[i], end, wait, ...what, ...rest];
}

export const MESSAGE_COLUMNS = [
  'sendStart',
  'sendEnd',
  'recvStart',
  'completionStart',
  'recvEnd',
  'bytes',
  'src',
  'dst',
  'tag',
  'comm',
  'sendCallSite',
  'recvCallSite',
];

/** All messages in the order of the file, as mpix_dump writes them. */
export async function messageRows(trace) {
  const rows = [];
  for (const entry of entries(trace, Kind.Messages)) {
    const c = await trace.messages(entry);
    for (let i = 0; i < c.count; i++) rows.push(MESSAGE_COLUMNS.map((name) => c[name][i]));
  }
  return rows;
}

/** All wait states in the order of the file, as mpix_dump writes them. */
export async function waitRows(trace) {
  const rows = [];
  for (const entry of entries(trace, Kind.Waits)) {
    const w = await trace.waits(entry);
    const at = (p, i) => position(p.window[i], p.lane[i], p.index[i]);
    for (let i = 0; i < w.count; i++) {
      const follows = w.how[i] === 1 || w.how[i] === 2;
      const [own, causer] = follows ? [await trace.eventAt(w.at, i), await trace.eventAt(w.causer, i)] : [];
      const ns = follows ? waitLength(w.how[i], w.ns[i], own, causer) : w.ns[i];
      rows.push([w.state[i], ns, at(w.at, i), at(w.causer, i)]);
    }
  }
  return rows;
}

/** All samples in the order of the file, as mpix_dump writes them. */
export async function sampleRows(trace) {
  const rows = [];
  for (const entry of entries(trace, Kind.Samples)) {
    const s = await trace.sample(entry);
    const cell = (k) => [s.op[k], s.site[k], s.calls[k], s.ticks[k], s.bytes[k], s.wait[k]];
    const threads = Array.from(s.lane, (lane, i) => {
      const cells = Array.from({ length: s.firstCell[i + 1] - s.firstCell[i] }, (_, k) => cell(s.firstCell[i] + k));
      return [lane, s.known[i], s.cpu[i], s.ready[i], s.resident[i], cells];
    });
    rows.push([s.number, s.samples, s.start, s.end, threads]);
  }
  return rows;
}

/** The same as dump() says. */
export async function decodeAll(trace) {
  const events = [];
  for (const x of await allEvents(trace)) events.push(await eventRow(trace, x));
  return { events, messages: await messageRows(trace), waits: await waitRows(trace), samples: await sampleRows(trace) };
}

export async function allMessages(trace) {
  const rows = await messageRows(trace);
  return rows.map(([start, , , , end, bytes, src, dst]) => ({ src, dst, bytes, start, end }));
}

function inflated(bytes, entry) {
  return inflateRawSync(bytes.subarray(entry.offset, entry.offset + entry.packedBytes));
}

const reader = await Reader.create();
const ENTRY = { offset: 32, packed: 40, raw: 44, crc: 48 };

/** The bytes of a file of which change() has changed the unpacked bytes of some chunks; all checksums fit. */
export function forge(bytes, change) {
  const superblock = reader.superblock(bytes.subarray(0, SUPERBLOCK_BYTES), bytes.length);
  const oldIndex = bytes.subarray(superblock.indexOffset, bytes.length - 16);
  const parts = [Uint8Array.from(bytes.subarray(0, SUPERBLOCK_BYTES))];
  const index = Uint8Array.from(oldIndex);
  const view = new DataView(index.buffer);
  let offset = SUPERBLOCK_BYTES;
  for (const e of reader.index(oldIndex)) {
    const changed = change(e, () => inflated(bytes, e));
    const packed = changed ? deflateRawSync(changed) : bytes.subarray(e.offset, e.offset + e.packedBytes);
    const at = e.id * ENTRY_BYTES;
    view.setBigUint64(at + ENTRY.offset, BigInt(offset), true);
    view.setUint32(at + ENTRY.packed, packed.length, true);
    view.setUint32(at + ENTRY.raw, changed ? changed.length : e.rawBytes, true);
    view.setUint32(at + ENTRY.crc, crc32c(packed), true);
    parts.push(packed);
    offset += packed.length;
  }
  const trailer = Uint8Array.from(bytes.subarray(bytes.length - 16));
  const head = new DataView(parts[0].buffer);
  const length = offset + index.length + trailer.length;
  head.setBigUint64(16, BigInt(length), true);
  head.setBigUint64(24, BigInt(offset), true);
  head.setUint32(36, crc32c(index), true);
  head.setUint32(60, crc32c(parts[0].subarray(0, 60)), true);
  new DataView(trailer.buffer).setBigUint64(0, BigInt(length), true);
  new DataView(trailer.buffer).setUint32(8, crc32c(parts[0]), true);
  return Uint8Array.from(Buffer.concat([...parts, index, trailer]));
}

/** {"src dst": [messages, bytes]} of rows of a matrix; of: the point of a rank. */
export function byPair(rows, of = (rank) => rank) {
  const sums = {};
  for (const { src, dst, messages = 1, bytes } of rows) {
    const sum = (sums[`${of(src)} ${of(dst)}`] ??= [0, 0]);
    sum[0] += messages;
    sum[1] += bytes;
  }
  return sums;
}
