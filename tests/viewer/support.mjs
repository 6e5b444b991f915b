// support.mjs - traces for the tests: made, recorded, opened, and shown by the C reader.
// Environment: MPITRACE, MAKE_MPIX, PROGRAMS (tests/programs), WORK (where files go).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kind } from '../../reports/viewer/src/decode/layout.ts';
import { FileSource } from '../../reports/viewer/src/io/source.ts';
import { Trace } from '../../reports/viewer/src/model/trace.ts';

const { MPITRACE, MAKE_MPIX, PROGRAMS, WORK } = process.env;
const SHOWN_MAX = 512 * 2 ** 20;

export const flavour = ['openmpi', 'mpich'].find((name) => existsSync(`/usr/bin/mpicc.${name}`));

/** A halo exchange of known content; tests/tools/make_mpix.c says which. */
export function make(columns, rows, steps) {
  const path = join(WORK, `${columns}x${rows}x${steps}.mpix`);
  execFileSync(MAKE_MPIX, [path, columns, rows, steps].map(String));
  return path;
}

/** The trace of a program of tests/programs on four ranks. */
export function record(name, ...args) {
  const program = join(WORK, name);
  const bin = join(WORK, 'bin'); // with `mpirun` of the compiler's MPI
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'mpirun'), `#!/bin/sh\nexec /usr/bin/mpirun.${flavour} "$@"\n`, { mode: 0o755 });
  execFileSync(`/usr/bin/mpicc.${flavour}`, ['-g', '-w', '-o', program, join(PROGRAMS, `${name}.c`)]);
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    OMPI_ALLOW_RUN_AS_ROOT: '1',
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
    OMPI_MCA_mpi_yield_when_idle: '1',
    OMPI_MCA_rmaps_base_oversubscribe: '1',
    OMPI_MCA_osc: '^rdma', // as in tests/integration/trace.py
  };
  const words = ['run', '-n', '4', '--out', WORK, '--name', name, '--', program, ...args];
  execFileSync(MPITRACE, words, { env, cwd: WORK, stdio: 'pipe', timeout: 120000 });
  return join(WORK, `${name}.mpix`);
}

export function openBytes(bytes) {
  return Trace.open(new FileSource(new Blob([bytes]), 'test.mpix'));
}

export function open(path) {
  return openBytes(readFileSync(path));
}

/** What `mpitrace show --json` says. */
export function show(path, ...options) {
  return JSON.parse(execFileSync(MPITRACE, ['show', path, '--json', ...options], { maxBuffer: SHOWN_MAX }));
}

/** The index entries of one kind, in the order of the file. */
export function entries(trace, kind) {
  return trace.byKind.get(kind) ?? [];
}

/** Every call of every rank once: [chunk, index], as the C reader walks them. */
export async function allEvents(trace) {
  const byRank = Array.from({ length: trace.meta.ranks }, () => []);
  const chunks = entries(trace, Kind.Events).sort((a, b) => a.group - b.group || a.seq - b.seq);
  for (const entry of chunks) {
    const chunk = await trace.events(entry);
    for (const s of chunk.segments)
      for (let i = s.first; !s.carried && i < s.first + s.count; i++) byRank[s.rank].push([chunk, i]);
  }
  return byRank.flat();
}

export async function allMessages(trace) {
  const all = [];
  for (const entry of entries(trace, Kind.Messages)) {
    const c = await trace.messages(entry);
    for (let i = 0; i < c.count; i++)
      all.push({ src: c.src[i], dst: c.dst[i], bytes: c.bytes[i], start: c.sendStart[i], end: c.recvEnd[i] });
  }
  return all;
}

/** {"src dst": [messages, bytes]} of rows of a matrix, ranks in groups of `size`. */
export function byPair(rows, size = 1) {
  const sums = {};
  for (const { src, dst, messages = 1, bytes } of rows) {
    const sum = (sums[`${Math.floor(src / size)} ${Math.floor(dst / size)}`] ??= [0, 0]);
    sum[0] += messages;
    sum[1] += bytes;
  }
  return sums;
}
