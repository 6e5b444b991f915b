/* processor.h - how long threads ran, and how long they were ready to and had no processor: what the kernel counts of
 * each (Documentation/scheduler/sched-stats.rst), into its struct thread_area. Of a thread that is killed nobody asks:
 * its samples tell (collect/sample.c). */
#pragma once

#include "pmpi/stream.h"

/* The calling thread counts from here on; others do from their birth. */
void processor_begin(struct thread_area *area) HIDDEN COLD;
/* When this thread ends, it will be asked how long it was. Takes one of the process's keys (pthread_key_create(3)), of
 * programs with one thread none. */
void processor_watch(void) HIDDEN COLD;
/* Who has this area now, be it another thread. */
void processor_note(struct thread_area *area) HIDDEN COLD;
