/* unmatched.h - messages of which only one end is there when all has been read: lost by the record, or the program's
 * mistake (docs/SEMANTICS.md). */
#pragma once

#include "postproc/stream/envelope.h"

/* Count why a message of this rank did not find its peer, SIG_ANY where nobody knows who that is. Is it the program's
 * doing? */
bool unmatched_explain(struct shard *sh, uint32_t rank, int32_t peer);
/* All that is left of an envelope: 0 or -ENOMEM. */
int unmatched_envelope(struct shard *sh, struct envelope *v);
