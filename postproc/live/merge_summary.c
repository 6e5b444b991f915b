/* merge_summary.c - a merged sample in short, for pictures over time: shares of its interval, of all ranks and row
 * by row. A row is a rank, or some that follow each other where there are more than MERGE_ROWS_MAX. */
#include "postproc/live/merge_node.h"

#include <inttypes.h>

void merge_summary_add(struct merge_summary *s, const struct process *p, const struct merge_node *n, double mpi_ticks,
		       double wait_ns)
{
	double whole_ns = (double)n->interval_ticks * n->live.ns_per_tick, mpi_ns = mpi_ticks * n->live.ns_per_tick;
	if (p->rank >= s->ranks || n->folded == 0 || whole_ns <= 0)
		return;
	mpi_ns = mpi_ns < 0 ? 0 : mpi_ns > whole_ns ? whole_ns : mpi_ns;
	struct merge_share *row = &s->mpi[(uint64_t)p->rank * s->rows / s->ranks];
	row->part_ns += mpi_ns;
	row->whole_ns += whole_ns;
	s->all.part_ns += mpi_ns;
	s->all.whole_ns += whole_ns;
	s->waiting.part_ns += wait_ns < whole_ns ? wait_ns : whole_ns;
	s->waiting.whole_ns += whole_ns;
}

static void put_share(struct buf *out, struct merge_share s)
{
	if (s.whole_ns > 0)
		buf_printf(out, "%.3g", s.part_ns / s.whole_ns);
	else
		buf_str(out, "null");
}

char *merge_summary_json(const struct merging *m, const struct merge_summary *s)
{
	struct buf out = {0};
	size_t late = m->missing.n;
	for (size_t i = 0; i < m->nodes.n; i++)
		late += m->nodes.at[i].state == MERGE_LAGS || m->nodes.at[i].state == MERGE_NONE;
	buf_printf(&out, "{\"number\":%" PRIu64 ",\"time\":%.3f,\"ranks\":%" PRIu32 ",\"nodes_silent\":%zu,\"mpi\":",
		   m->number, (double)m->slot_ns / 1e9, s->ranks, late);
	put_share(&out, s->all);
	buf_str(&out, ",\"off_processor\":");
	put_share(&out, s->waiting);
	buf_str(&out, ",\"rows\":[");
	for (uint32_t i = 0; i < s->rows; i++) {
		if (i > 0)
			buf_str(&out, ",");
		put_share(&out, s->mpi[i]);
	}
	buf_str(&out, "]}");
	buf_u8(&out, 0);
	if (!buf_failed(&out))
		return (char *)out.data;
	buf_done(&out);
	return NULL;
}
