/* sizes.c - "message_sizes": how large messages are, and what a call of a collective moves: a row for each power of two
 * of bytes. Exact, from the totals. */
#include "postproc/analysis.h"

#define SIZES 66u /* 0 bytes, then 1, 2 to 3, 4 to 7, ... */

struct size_row {
	uint64_t messages, message_bytes, collectives, collective_bytes;
};

static unsigned row_of(uint64_t bytes)
{
	return bytes == 0 ? 0 : 64 - (unsigned)__builtin_clzll(bytes);
}

static void add_sig(struct size_row *rows, const struct sig *sig)
{
	uint64_t messages = traffic_messages_of(sig);
	if (messages > 0) {
		struct size_row *row = &rows[row_of(sig->bytes)];
		row->messages += messages;
		row->message_bytes += messages * sig->bytes;
	}
	if (!sig->defined || sig->call.shape != SIG_COLL || sig->call.coll == COLL_NONE || sig->calls == 0)
		return;
	struct size_row *row = &rows[row_of(sig->moved_bytes / sig->calls)];
	row->collectives += sig->calls;
	row->collective_bytes += sig->moved_bytes;
}

int analysis_sizes(struct analysis *a)
{
	struct size_row rows[SIZES] = {0};
	for (uint32_t r = 0; r < a->step->nranks; r++)
		for (size_t i = 0; a->step->ranks[r] != NULL && i < a->step->ranks[r]->sigs.n; i++)
			add_sig(rows, &a->step->ranks[r]->sigs.at[i]);
	cJSON *list = json_array(a->root, "message_sizes");
	for (unsigned i = 0; i < SIZES; i++) {
		if (rows[i].messages == 0 && rows[i].collectives == 0)
			continue;
		cJSON *row = json_row(list);
		json_put(row, "from_bytes", i == 0 ? 0 : (double)(1ull << (i - 1)));
		json_put(row, "messages", (double)rows[i].messages);
		json_put(row, "message_bytes", (double)rows[i].message_bytes);
		json_put(row, "collectives", (double)rows[i].collectives);
		json_put(row, "collective_bytes", (double)rows[i].collective_bytes);
	}
	return 0;
}
