// record.mjs - traces of programs of tests/programs for claims that only a real run can prove: deaths, deadlocks, broadcasts.
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const programs = join(dirname(fileURLToPath(import.meta.url)), '../programs');

const HANGS_S = 6;

/** The .mpix of a program on so many ranks, also of one that is there to fail; null: no Open MPI here. */
export function record(mpitrace, work, ranks, name, ...args) {
  return recordBy([mpitrace], [], work, ranks, name, ...args);
}

/** Of a run that hangs until somebody stops it, and of which only totals are recorded. */
export function recordHungTotals(mpitrace, work, ranks, name, ...args) {
  return recordBy(stopped(mpitrace), ['--profile', '--sample', '0.2'], work, ranks, name, ...args);
}

/** The same with single calls. */
export function recordHung(mpitrace, work, ranks, name, ...args) {
  return recordBy(stopped(mpitrace), ['--sample', '0.2'], work, ranks, name, ...args);
}

/** The same with single calls, until the program switches them off before it hangs; of tests/programs/stuck.c. */
export function recordHungPaused(mpitrace, work, ranks, ...args) {
  const paused = ['env', 'STUCK_PAUSED=yes', ...stopped(mpitrace)];
  return recordBy(paused, ['--sample', '0.2'], work, ranks, 'stuck', ...args);
}

const stopped = (mpitrace) => ['timeout', '-s', 'TERM', String(HANGS_S), mpitrace];

function recordBy([command, ...before], options, work, ranks, name, ...args) {
  if (!existsSync('/usr/bin/mpicc.openmpi')) return null;
  const program = join(work, name);
  const title = [name, ...args, ...options.slice(0, 1)].join('-');
  const trace = join(work, `${title}.mpix`);
  for (const end of ['mpic', 'mpix', 'html']) rmSync(join(work, `${title}.${end}`), { force: true, recursive: true });
  execFileSync('/usr/bin/mpicc.openmpi', ['-g', '-w', '-o', program, join(programs, `${name}.c`)]);
  const env = {
    ...process.env,
    OMPI_ALLOW_RUN_AS_ROOT: '1',
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
    OMPI_MCA_mpi_yield_when_idle: '1',
    OMPI_MCA_rmaps_base_oversubscribe: '1',
    PRTE_MCA_rmaps_default_mapping_policy: ':oversubscribe', // of Open MPI 5 and later
    OMPI_MCA_osc: '^rdma', // as in tests/integration/trace.py
  };
  const words = [
    ...before,
    'run',
    '-n',
    String(ranks),
    '--out',
    work,
    '--name',
    title,
    ...options,
    '--',
    program,
    ...args,
  ];
  try {
    execFileSync(command, words, { env, cwd: work, stdio: 'pipe', timeout: 120000 });
  } catch (error) {
    if (!existsSync(trace)) throw error;
  }
  return trace;
}
