/* files.c - "files": what went to and from each file that was opened, of all ranks seen, exact from the
 * totals. Bytes were really moved (from the statuses); of nonblocking calls those asked for, less what a completed
 * read did not find. */
#include "postproc/analysis.h"

#include <math.h>

#define ROWS_MAX 4096u

struct use {
	uint64_t calls[IO_KINDS], bytes[IO_KINDS], collective;
	double ns;
};

static void add_process(struct use *uses, const struct process *p)
{
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		if (!sig->defined || sig->call.shape != SIG_IO || sig->object == NONE)
			continue;
		struct use *u = &uses[sig->object];
		u->ns += (double)sig->ticks * p->ns_per_tick;
		if ((sig->call.io_how & IO_END) == 0) { /* a split call is one */
			u->calls[sig->call.io] += sig->calls;
			if (sig->call.io == IO_READ || sig->call.io == IO_WRITE)
				u->collective += (sig->call.io_how & IO_COLLECTIVE) != 0 ? sig->calls : 0;
		}
		u->bytes[sig->call.io] += sig->moved_bytes;
	}
}

static void put_mode(cJSON *row, uint32_t mode)
{
	static const char *const names[] = {"read",	  "write",     "create",     "append", "delete_on_close",
					    "sequential", "exclusive", "unique_open"};
	cJSON *list = json_array(row, "mode");
	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((mode >> i & 1) != 0)
			json_push_text(list, names[i]);
}

static void put_file(const struct analysis *a, cJSON *list, uint32_t id, const struct use *u)
{
	const struct object *o = &a->step->files.at[id];
	uint64_t unread = a->unread[id] < u->bytes[IO_READ] ? a->unread[id] : u->bytes[IO_READ];
	cJSON *row = json_row(list);
	json_put(row, "id", id);
	json_put_text(row, "name", o->name);
	json_put_null_or(row, "communicator", o->comm == NONE ? NAN : a->step->comms.at[o->comm].same);
	put_mode(row, o->mode);
	json_put(row, "reads", (double)u->calls[IO_READ]);
	json_put(row, "writes", (double)u->calls[IO_WRITE]);
	json_put(row, "collective", (double)u->collective);
	json_put(row, "bytes_read", (double)(u->bytes[IO_READ] - unread));
	json_put(row, "bytes_written", (double)u->bytes[IO_WRITE]);
	json_put(row, "time_s", u->ns / 1e9);
}

int analysis_files(struct analysis *a)
{
	const struct step *s = a->step;
	struct use *uses = calloc(s->files.n + 1, sizeof(*uses));
	if (uses == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			add_process(uses, s->ranks[r]);
	cJSON *list = json_array(a->root, "files");
	for (uint32_t i = 0; i < s->files.n && i < ROWS_MAX; i++)
		put_file(a, list, i, &uses[i]);
	json_put(a->root, "files_left_out", s->files.n > ROWS_MAX ? (double)(s->files.n - ROWS_MAX) : 0);
	free(uses);
	return 0;
}
