/* export.h - the .mpix of a step, written while its events pass. */
#pragma once

#include "format/mpix.h"
#include "postproc/stream/stream.h"

struct export;

/* path: where to write, under a temporary name until export_finish(). NULL without memory. */
struct export *export_create(const char *path, struct step *s);
/* What the stream is to call; its n is set when the stream begins. */
struct stream_visitor *export_visitor(struct export *x);
/* When all events have passed: peek() reads what is in the file so far (mpix_writer_peek()). */
int export_peek(struct export *x, int (*peek)(void *context, struct mpix_file *f), void *context, struct error *e);
/* Seal with the analysis object as JSON text, or with NULL give up: nothing is left then. Frees x. */
int export_finish(struct export *x, const char *json, struct error *e);
/* Why writing failed, if it did. */
const struct error *export_error(const struct export *x);
/* What the calls of all ranks were, for a file that has just been begun (export_signatures.c). 0, or -errno with
 * text. */
int export_signatures(const struct step *s, struct mpix_writer *w, struct error *e);
/* ---- export_samples.c: the profile over time ---- */

struct sampling;

/* Before the events pass. lane_of: of the stream's lanes those of the file. NULL without memory. */
struct sampling *samples_begin(const struct stream *st, const uint32_t *lane_of);
/* A call of a lane of the file waited; lanes may be of several threads at a time. 0 or -ENOMEM. */
int samples_wait(struct sampling *x, uint32_t lane, int64_t start_ns, int64_t ns, uint32_t site);
/* Nothing where nobody took samples. 0, -ENOMEM, or -errno with text. */
int samples_write(struct sampling *x, struct mpix_writer *w, struct error *e);
/* Waiting that was noted in one process, to another one that has the same samples. */
void samples_send(const struct sampling *x, struct buf *out);
int samples_take(struct sampling *x, struct cursor *in);
void samples_free(struct sampling *x);
