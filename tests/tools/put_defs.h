/* put_defs.h - definition records for test data, as pmpi/ writes them. */
#pragma once

#include "format/mpic.h"

void mpic_put_def_sig(struct buf *out, uint32_t id, const uint64_t *words, uint32_t nwords);
void mpic_put_def_name(struct buf *out, enum mpic_def_type type, uint32_t id, const char *name);
void mpic_put_def_datatype(struct buf *out, uint32_t id, uint64_t size_bytes, struct typesig sig, const char *name);
/* d->name is unused; runs and remote_runs as in struct mpic_def. */
void mpic_put_def_comm(struct buf *out, const struct mpic_def *d);
void mpic_put_def_module(struct buf *out, const struct mpic_def *d);
/* WINDOW and FILE; name is used for FILE only. */
void mpic_put_def_object(struct buf *out, const struct mpic_def *d);
