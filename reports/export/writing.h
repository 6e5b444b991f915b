/* writing.h - a format's functions run in a thread of their own, so that the trace is read while what was read before
 * is written. What they are given waits in batches: memory is bounded. */
#pragma once

#include "reports/export/format.h"

struct writing;

/* NULL with text in e. Where no thread can be had the caller's writes. */
struct writing *writing_create(struct exporting *x, const struct export_format *format, struct error *e);
/* Both copy what they are given. 0, or what the format failed with: its text is in x->e, to be read after
 * writing_end(). */
int writing_event(struct writing *w, const struct export_event *ev);
int writing_message(struct writing *w, const struct mpix_link *link, uint64_t number);
/* Wait until all is written and the thread has ended. Frees w; NULL is harmless. */
int writing_end(struct writing *w);
