/* bytes.h - bytes of operations, the same in every table: what the rank sends plus what it receives, by the operation's
 * meaning. A rank's own share, which stays with it, is none; nor is anything that goes to MPI_PROC_NULL.
 *
 *  messages     a send what it sends; a receive what it received, a nonblocking one the room it posted
 *  collectives  what goes to and comes from each other member: so Alltoall counts its size 2 (n - 1) times, a Bcast
 *               n - 1 times at the root and once elsewhere, a Reduce the other way round, Scan by the ranks around it
 *  persistent   with the MPI_Start that moves them, as far as there are events
 *  one-sided    both ways, with the call that asks for it; files: what was moved, or asked for where the call
 *               returns before; probes: none
 *
 * So of all sends, receives and collectives together: twice the sum of the matrices, if all ranks are in the record.
 *
 * A rank's own record does not say what comes to it by Alltoallv or Alltoallw (and their neighbourhood forms): its
 * partners' do. Where all events of an operation are there, each call gets what came to it. Of others it is only
 * known how much came to the rank by all calls of that function on that communicator: each call site gets its
 * share by calls. */
#pragma once

#include "postproc/read/step.h"

/* Before the stream: set call_bytes of every signature. */
void bytes_of_calls(struct step *s);
/* After it: set moved_bytes. 0 or -ENOMEM. */
int bytes_count(struct step *s);

/* bytes_coll.c: what one call moves as far as its own record says. */
uint64_t bytes_collective(const struct step *s, uint32_t rank, const struct sig *sig);
/* Must partners be asked what came to it? */
bool bytes_need_partners(const struct step *s, const struct sig *sig);
