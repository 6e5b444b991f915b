// record.mjs - traces of programs of tests/programs for claims that only a real run can prove: deaths, deadlocks, broadcasts.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const programs = join(dirname(fileURLToPath(import.meta.url)), '../programs');

const HANGS_S = 6;

/** The .mpix of a program on so many ranks, also of one that is there to fail; null: no Open MPI here. */
export function record(mpitrace, work, ranks, name, ...args) {
  return recordBy([mpitrace], [], work, ranks, name, ...args);
}

/** The same of which only totals are recorded. */
export function recordTotals(mpitrace, work, ranks, name, ...args) {
  return recordBy([mpitrace], ['--profile', '--sample', '0.2'], work, ranks, name, ...args);
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

/** A run that hangs while it is looked at: what it writes, and how to end it. null: no Open MPI here. */
export function startHung(mpitrace, work, ranks, name, ...args) {
  const program = compiled(work, name);
  if (!program) return null;
  const title = [name, ...args, 'live'].join('-');
  for (const end of ENDS) rmSync(join(work, `${title}.${end}`), { force: true, recursive: true });
  const options = ['--sample', '0.2', '--', program, ...args];
  const words = ['run', '-n', String(ranks), '--out', work, '--name', title, ...options];
  const run = spawn(mpitrace, words, { env: ENV, cwd: work, stdio: 'ignore' });
  const over = new Promise((done) => run.once('exit', done));
  const stop = () => {
    spawn('sh', ['-c', TELL, 'sh', String(run.pid)], { stdio: 'ignore' });
    return over;
  };
  return { trace: join(work, `${title}.mpic`), stop };
}

/** Some launchers stay though all their ranks are gone, and end when they are told again, or killed. */
const TELL = `kill -TERM $1
for signal in TERM KILL; do
  for i in $(seq 100); do kill -0 $1 || exit 0; sleep 0.1; done
  pkill -$signal -P $1 mpirun
done`;
const STOP = `"$@" & run=$!
( sleep ${HANGS_S}; set -- $run; ${TELL} ) >/dev/null 2>&1 & watch=$!
wait $run; kill $watch`;

const stopped = (mpitrace) => ['sh', '-c', STOP, 'sh', mpitrace];

const ENDS = ['mpic', 'mpix', 'html'];
const ENV = {
  ...process.env,
  OMPI_ALLOW_RUN_AS_ROOT: '1',
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
  OMPI_MCA_mpi_yield_when_idle: '1',
  OMPI_MCA_rmaps_base_oversubscribe: '1',
  PRTE_MCA_rmaps_default_mapping_policy: ':oversubscribe', // of Open MPI 5 and later
  OMPI_MCA_osc: '^rdma', // as in tests/integration/trace.py
};

/** Its ranks sleep while they hang: nobody else has to wait for them. */
function compiled(work, name) {
  if (!existsSync('/usr/bin/mpicc.openmpi')) return null;
  const program = join(work, name);
  const sources = [join(programs, `${name}.c`), join(programs, 'patient.c')];
  const patient = ['-DSLEEPS', '-Wl,--export-dynamic-symbol=sched_yield', '-ldl'];
  execFileSync('/usr/bin/mpicc.openmpi', ['-g', '-w', '-o', program, ...sources, ...patient]);
  return program;
}

function recordBy([command, ...before], options, work, ranks, name, ...args) {
  const program = compiled(work, name);
  if (!program) return null;
  const title = [name, ...args, ...options.slice(0, 1)].join('-');
  const trace = join(work, `${title}.mpix`);
  for (const end of ENDS) rmSync(join(work, `${title}.${end}`), { force: true, recursive: true });
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
    execFileSync(command, words, { env: ENV, cwd: work, stdio: 'pipe', timeout: 120000 });
  } catch (error) {
    if (!existsSync(trace)) throw error;
  }
  return trace;
}
