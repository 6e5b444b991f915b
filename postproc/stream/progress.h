/* progress.h - who was outside of MPI while another needed it there: see progress.c. */
#pragma once

#include "postproc/replay/moves.h"
#include "postproc/stream/stream.h"

/* Of a rank: was it outside of MPI at from_ns, and which call did it come with next? In the match phase, of a rank of
 * the shard; go_on: in a later slice. */
void progress_after(const struct shard *sh, uint32_t rank, int64_t from_ns, struct coming *c);
void progress_go_on(const struct shard *sh, uint32_t rank, struct coming *c);
/* Are all its calls there? */
bool progress_is_known(const struct shard *sh, uint32_t rank);

/* In the calls phase, of a call that completes a send and took longer than that can: what it waited for. */
int progress_ask(struct shard *sh, const struct slow_send *x);
void progress_match(struct shard *sh);
void progress_match_end(struct shard *sh);
void progress_classify(struct shard *sh);
