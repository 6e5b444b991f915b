/* multi_prog.h - the configuration of `srun --multi-prog`, which Slurm hands over as the second word of the command. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The program that a task of the step is to run, as it is written there: of the first line whose ranks have the task
 * in them. False: none has, the text is no such configuration, or the name is one that only Slurm can tell (%t, quotes,
 * longer than that). */
bool multi_prog_program(const char *text, uint32_t task, char *ret_name, size_t cap_bytes);
