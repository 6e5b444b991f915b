/* spank_mock.h - spank/slurm.h without a Slurm: one environment, one step, one directory. */
#pragma once

#include "spank/config.h"
#include "spank/request.h"
#include "spank/task.h"

#include <limits.h>

extern char *program[3];      /* what the tasks run */
extern uint32_t task_of_step; /* the first of the node */

/* A directory for one test. */
extern char root[];
void make_root(void);
void drop_root(void);
int open_root(void);
void put_file(const char *name);
bool exists(const char *name);

/* What a task of a step is made of; its tracer lies in root. */
extern struct request r;
extern struct config here;
extern struct step step;
extern struct notice notice;
extern char library[PATH_MAX + 32];
void make_task(void);
