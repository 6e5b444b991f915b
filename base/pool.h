/* pool.h - a fixed number of threads that share out numbered pieces of work. */
#pragma once

#include <stddef.h>

struct pool;

/* As many threads as there are processors, 1 to 16. */
unsigned pool_threads(void);
/* nthreads 1 or more, the caller's own included; as many as can be had are started. NULL without memory. */
struct pool *pool_create(unsigned nthreads);
void pool_destroy(struct pool *p);
/* Call work(context, i) for each i in 0 .. n, once each, on all threads of the pool, and return when all are done. One
 * caller at a time. Which thread takes which piece is left to chance: what comes out must not depend on it. */
void pool_run(struct pool *p, size_t n, void (*work)(void *context, size_t i), void *context);
