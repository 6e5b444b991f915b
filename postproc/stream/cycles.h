/* cycles.h - blocking standard sends that complete only because the MPI library buffers them (MPI 4.0, 3.5: unsafe
 * programs). */
#pragma once

#include "postproc/stream/stream.h"

struct cycles;

/* NULL without memory, or (*ret_code 0) when the step has no such sends or several threads a rank. */
struct cycles *cycles_create(const struct stream *st, int *ret_code);
void cycles_destroy(struct cycles *c);
/* Of several processes: is there one here that needed a buffer? Then all send theirs to process 0, which takes them,
 * and there cycles_window() has all. */
bool cycles_any(const struct cycles *c, const struct stream *st);
void cycles_send(const struct cycles *c, const struct stream *st, struct buf *out);
int cycles_take(struct cycles *c, struct cursor *in);
/* Look at the transfers of a whole window. 0 or -ENOMEM. */
int cycles_window(struct cycles *c, struct stream *st);
