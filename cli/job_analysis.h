/* job_analysis.h - a step analysed by the processes of the Slurm job around us, as `mpitrace analyze --mpi` is. */
#pragma once

/* Traces in the directory `out` into mpix and report by so many processes, with srun, where one of our libraries of MPI
 * and a --mpi= type of srun's go together. Returns its exit code, EXIT_DONE or EXIT_PARTIAL; or -1: there is no job, or
 * it could not be done so, and nothing was changed. */
int job_analysis(const char *out, const char *mpix, const char *report, unsigned processes);
