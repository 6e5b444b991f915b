/* check.h - what messages and collectives say about the program's correctness (docs/SEMANTICS.md, Correctness). Called
 * only where a comparison of two numbers says that something may be wrong, or at the end. All return 0 or -ENOMEM. */
#pragma once

#include "postproc/stream/stream.h"

/* A message met its receive; sizes or kinds of types differ. */
int check_message(struct shard *sh, const struct send *x, const struct recv *r);
/* Members called different operations, or named different roots or sizes. */
int check_collective(struct shard *sh, const struct collective *whole);
/* Nobody ever received it, or sent it, though all records are whole. */
int check_unreceived(struct shard *sh, const struct send *x);
int check_unserved(struct shard *sh, const struct recv *r);
