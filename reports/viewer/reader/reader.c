/* reader.c - the reader of .mpix files for the browser: what format/ has, behind the functions that the viewer's worker
 * calls (src/decode/reader.ts). In: chunks, unpacked, that it puts into memory.  Out: columns, which it copies away.
 *
 * Nothing is kept from one chunk to the next but what META says: reader_begin() forgets all else, so memory is that of
 * the largest chunk. */
#include "reader.h"

#include <stdlib.h>

struct mpix_table table;
struct error error;
static struct mpix_file file;
static struct mpix_entry entry;
static uint32_t *first; /* of the group's signatures */

/* ---- what the reader of files has, and who is given bytes has not ---- */

int mpix_damaged(const struct mpix_file *f, const struct mpix_entry *x, struct error *e)
{
	(void)f, (void)x, (void)e;
	return -EBADMSG;
}

const struct mpix_entry *mpix_find(const struct mpix_file *f, enum mpix_kind kind, uint32_t group, uint32_t seq)
{
	(void)f, (void)kind, (void)group, (void)seq;
	return NULL;
}

const struct mpix_entry *mpix_find_kind(const struct mpix_file *f, enum mpix_kind kind, uint32_t *ret_count)
{
	(void)f, (void)kind;
	*ret_count = 0;
	return NULL;
}

int mpix_read_chunk(const struct mpix_file *f, const struct mpix_entry *x, uint8_t **ret_raw, struct error *e)
{
	(void)f, (void)x, (void)ret_raw, (void)e;
	return -EBADMSG;
}

/* ---- what the worker calls ---- */

/* Forget the last chunk. */
EXPORTED("begin") void reader_begin(void)
{
	for (uint32_t i = 0; file.clocks != NULL && i < file.info.nclocks; i++)
		file.clocks[i].n = 0;
	if (file.cache != NULL)
		mpix_scratch_done(&file);
	table = (struct mpix_table){0};
	first = NULL;
	memory_reset();
}

/* Room for bytes that will be given; 0: none. */
EXPORTED("room") void *reader_room(uint32_t len_bytes)
{
	return malloc(len_bytes);
}

/* First signatures of the ranks of the group. */
EXPORTED("signatures") void reader_signatures(uint32_t *at)
{
	first = at;
}

/* Knots of a clock, as they came out of its chunk. */
EXPORTED("clock") void reader_clock(uint32_t number, struct mpix_clock_knot *knots, uint32_t len_bytes)
{
	if (number < file.info.nclocks)
		file.clocks[number] = (struct mpix_knots){knots, len_bytes / sizeof(*knots)};
}

static int read_chunk(struct cursor c)
{
	switch (entry.kind) {
	case MPIX_CLOCK:
		return mpix_columns_clock(c, &table);
	case MPIX_SIGNATURES:
		return mpix_columns_signatures(&file, entry.group, c, &table);
	case MPIX_EVENTS:
		return file.super.version == 1 ? mpix_columns_events_v1(&file, &entry, c, &table)
					       : mpix_columns_events(&file, &entry, first, c, &table);
	case MPIX_MESSAGES:
		return file.super.version == 1 ? mpix_columns_messages(&file, c, &table)
					       : mpix_columns_links(&file, &entry, c, &table);
	case MPIX_WAITS:
		return mpix_columns_waits(&file, &entry, c, &table);
	case MPIX_SAMPLES:
		return mpix_columns_sample(&file, &entry, c, &table);
	case MPIX_TOP:
		return mpix_columns_messages(&file, c, &table);
	case MPIX_FLOW:
		return mpix_columns_flow(&file, c, &table);
	default:
		return -EBADMSG;
	}
}

/* Text of what was wrong, ended by a zero. */
EXPORTED("error") const char *reader_error(void)
{
	return error.text;
}

/* The superblock of a file of so many bytes, first of all. 0, or -errno with text. Column f64: version, offset of the
 * index, number of its entries. */
EXPORTED("super") int reader_super(const void *bytes, uint32_t len_bytes, double file_bytes)
{
	struct mpix_super *s = &file.super;
	int rc = mpix_get_super(cursor_over(bytes, len_bytes), (uint64_t)file_bytes, s, &error);
	if (rc == 0)
		rc = mpix_check_place(s, &error);
	mpix_table_done(&table);
	double *to = rc == 0 ? mpix_table_column(&table, MPIX_F64, 3) : NULL;
	if (to == NULL)
		return rc < 0 ? rc : table.rc;
	to[0] = s->version;
	to[1] = (double)s->index_offset;
	to[2] = s->entries;
	return 0;
}

/* The index, of whose bytes there are as many as it has entries. 0, or -errno with text. Columns f64: kind · level ·
 * rank level · group · seq · records · start · end · offset · packed · raw · checksum. */
EXPORTED("index") int reader_index(const uint8_t *bytes)
{
	uint32_t n = file.super.entries;
	struct mpix_entry *entries = calloc(n + 1u, sizeof(*entries));
	double *to[12];
	mpix_table_done(&table);
	for (unsigned i = 0; i < 12; i++)
		to[i] = mpix_table_column(&table, MPIX_F64, n);
	if (entries == NULL || table.rc < 0)
		return fail(&error, -ENOMEM, "out of memory");
	int rc = mpix_get_index(&file.super, bytes, entries, &error);
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		const struct mpix_entry *x = &entries[i];
		const double row[12] = {x->kind,
					x->level,
					x->rank_level,
					x->group,
					x->seq,
					x->records,
					mpix_table_signed(&table, x->start_ns),
					mpix_table_signed(&table, x->end_ns),
					mpix_table_number(&table, x->offset),
					x->packed_bytes,
					x->raw_bytes,
					x->crc};
		for (unsigned k = 0; k < 12; k++)
			to[k][i] = row[k];
	}
	if (rc == 0 && table.rc < 0)
		rc = fail(&error, table.rc, "a number in the index is too large");
	return rc;
}

/* META, once: 0 or an error of mpix_columns.h. What it takes stays. */
EXPORTED("meta") int reader_meta(const void *bytes, uint32_t len_bytes)
{
	int rc = mpix_columns_meta(&file, cursor_over(bytes, len_bytes), &table);
	memory_keep();
	return rc;
}

/* Any other chunk. */
EXPORTED("chunk")
int reader_chunk(uint32_t kind, uint32_t group, uint32_t seq, uint32_t records, double start_ns, double end_ns,
		 const void *bytes, uint32_t len_bytes)
{
	entry = (struct mpix_entry){.kind = (uint8_t)kind,
				    .group = group,
				    .seq = seq,
				    .records = records,
				    .start_ns = (int64_t)start_ns,
				    .end_ns = (int64_t)end_ns,
				    .raw_bytes = len_bytes};
	return read_chunk(cursor_over(bytes, len_bytes));
}

/* Of columns: type, number, address, number of the next and so on; *ret_n of them. */
EXPORTED("columns") const struct mpix_column *reader_columns(void)
{
	return table.columns;
}

EXPORTED("count") uint32_t reader_count(void)
{
	return table.ncolumns;
}
