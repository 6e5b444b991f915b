/* send.h - what waits for a destination, batch by batch, until nothing does or it cannot now. */
#pragma once

#include "fleet/publish/link.h"
#include "fleet/publish/state.h"

#include <signal.h>

/* Ends early when *stop is set. A failure of the destination is no error: it is in the state,
 * with the time of the next try. Others may send to other destinations meanwhile. 0, or -errno: the state cannot go
 * on. */
int publish_send(struct state *s, const struct destination *d, struct link *l, const volatile sig_atomic_t *stop,
		 struct error *e);
/* The body of the next request on `to`, as it would be before gzip. */
int publish_show(struct state *s, const struct destination *d, FILE *to, struct error *e);
/* Can it be reached, or written? ret_text: what there is to say. 0 or -errno. */
int publish_reach(const struct destination *d, struct link *l, char ret_text[256]);
/* A file to append to at *ret_at: what a killed run wrote behind the committed length is cut off; one that is another
 * one now is taken as it is. */
int publish_open_file(struct state *s, const struct destination *d, int *ret_fd, int64_t *ret_at, struct error *e);
