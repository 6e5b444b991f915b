/* dictionary.h - what a thread's calls were: definitions, and signatures by their words. Each has a number, a total
 * and, where there is room, its words; stream_sig(), stream_coarse() and stream_put_def() of stream.h. */
#pragma once

#include "pmpi/stream.h"

/* An empty one. False: no room yet, ask again; what it got stays. */
bool dictionary_begin(struct stream *s) HIDDEN;
/* Room in advance, as far as there is some. */
void dictionary_stock(struct stream *s) HIDDEN COLD;
