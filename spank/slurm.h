/* slurm.h - every call into Slurm's plugin interface (spank(8)) that this room makes.
 * slurm.c forwards to Slurm; unit tests put a mock in its place. Nothing here allocates for the
 * caller: pointers belong to Slurm and live as long as the callback. */
#pragma once

#include <slurm/spank.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Steps that are not numbered (slurm/slurm.h). */
#define STEP_EXTERN 0xfffffffcu
#define STEP_BATCH 0xfffffffbu
#define STEP_INTERACTIVE 0xfffffffau

/* An item that is a number; false if Slurm does not tell it in this context. */
bool sl_number(spank_t sp, spank_item_t item, uint32_t *ret_value);
/* Processors that the step has on this node; 0: unknown. */
uint32_t sl_cpus(spank_t sp);
/* The rank in the step of the local task; only ask for local < S_JOB_LOCAL_TASK_COUNT, Slurm reads
 * past its table. */
bool sl_global_task(spank_t sp, uint32_t local, uint32_t *ret_global);
/* The wait status of the task that has ended (task_exit). */
bool sl_exit_status(spank_t sp, int *ret_status);
/* The command; returns the number of arguments, 0 if unknown. */
int sl_argv(spank_t sp, char ***ret_argv);
/* A variable of the job's environment, of any length (spank_getenv truncates); NULL if unset. */
const char *sl_env(spank_t sp, const char *name);
bool sl_setenv(spank_t sp, const char *name, const char *value);
bool sl_unsetenv(spank_t sp, const char *name);
/* The user's supplementary groups; returns how many, -1: Slurm does not tell. */
int sl_gids(spank_t sp, gid_t **ret_gids);
/* Which of the nodes in Slurm's form of a list this is, -1: none of them. */
int sl_node_index(const char *list, const char *node);
/* The first of them; false if there is none. */
bool sl_first_node(const char *list, char ret_node[256]);
/* Slurm's version, NULL if unknown. */
const char *sl_version(spank_t sp);
/* Offer --mpitrace; false if somebody else offers an option of that name. */
bool sl_register(spank_t sp, const char *name, const char *arginfo, const char *usage, spank_opt_cb_f cb);
/* For the log of slurmd or a verbose user. */
void sl_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* For the user; on a node for the log, and once a step has tasks for its standard error as well. */
void sl_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
