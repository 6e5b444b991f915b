/* io.c - "io": MPI-IO by class of call, of all ranks seen. Calls, times and bytes are exact from the totals; the
 * waiting in collective calls is that of the wait states. What a nonblocking call moves it moves later: its time is
 * that of starting it, and completing it is time in MPI_Wait. */
#include "postproc/analysis.h"

enum io_class {
	CLASS_OPEN,
	CLASS_READ,
	CLASS_WRITE,
	CLASS_READ_ALL,
	CLASS_WRITE_ALL,
	CLASS_NONBLOCKING,
	CLASS_OTHER,
	CLASSES
};

static const char *const names[CLASSES] = {
	[CLASS_OPEN] = "open_close",
	[CLASS_READ] = "read",
	[CLASS_WRITE] = "write",
	[CLASS_READ_ALL] = "collective_read",
	[CLASS_WRITE_ALL] = "collective_write",
	[CLASS_NONBLOCKING] = "nonblocking",
	[CLASS_OTHER] = "other",
};

struct use {
	uint64_t calls, bytes;
	double ns;
	int64_t wait_ns;
};

static enum io_class class_of(const struct sig *sig)
{
	bool all = (sig->call.io_how & IO_COLLECTIVE) != 0;
	switch (sig->call.io) {
	case IO_OPEN:
	case IO_CLOSE:
		return CLASS_OPEN;
	case IO_READ:
	case IO_WRITE:
		if ((sig->call.flags & SIG_STARTS_REQUEST) != 0)
			return CLASS_NONBLOCKING;
		return sig->call.io == IO_READ ? (all ? CLASS_READ_ALL : CLASS_READ)
					       : (all ? CLASS_WRITE_ALL : CLASS_WRITE);
	default:
		return CLASS_OTHER;
	}
}

/* class_at: by operation; each is of one class. */
static void add_process(struct use *uses, uint8_t *class_at, const struct process *p)
{
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		if (!sig->defined || sig->call.shape != SIG_IO)
			continue;
		struct use *u = &uses[class_of(sig)];
		if (sig->op != NONE)
			class_at[sig->op] = (uint8_t)class_of(sig);
		u->calls += (sig->call.io_how & IO_END) == 0 ? sig->calls : 0; /* a split call is one */
		u->bytes += sig->moved_bytes;
		u->ns += (double)sig->ticks * p->ns_per_tick;
	}
}

static void add_waits(struct use *uses, const uint8_t *class_at, const struct analysis *a)
{
	for (size_t i = 0; i < a->tally.waits.rows.n; i++) {
		const struct wait_row *r = &a->tally.waits.rows.at[i];
		if (r->state == WAIT_AT_COLLECTIVE_IO && r->site != NONE && a->step->sites.at[r->site].op != NONE)
			add_ns(&uses[class_at[a->step->sites.at[r->site].op]].wait_ns, r->ns);
	}
}

/* Of nonblocking reads those bytes were counted that were asked for. */
static void take_unread(struct use *u, const struct analysis *a)
{
	for (size_t i = 0; i < a->step->files.n; i++)
		u->bytes -= a->unread[i] < u->bytes ? a->unread[i] : u->bytes;
}

/* What a nonblocking call moves is not moved while it starts. */
static void put_class(cJSON *list, enum io_class class, const struct use *u)
{
	cJSON *row = json_row(list);
	json_put_text(row, "class", names[class]);
	json_put(row, "calls", (double)u->calls);
	json_put(row, "bytes", (double)u->bytes);
	json_put(row, "time_s", u->ns / 1e9);
	json_put_seconds(row, "wait_s", u->wait_ns);
	if (u->bytes > 0 && u->ns > 0 && class != CLASS_NONBLOCKING)
		json_put(row, "bytes_per_s", (double)u->bytes / (u->ns / 1e9));
	else
		cJSON_AddNullToObject(row, "bytes_per_s");
}

int analysis_io(struct analysis *a)
{
	const struct step *s = a->step;
	struct use uses[CLASSES] = {0};
	uint8_t *class_at = calloc(s->ops.n + 1, 1);
	double ns = 0;
	if (class_at == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			add_process(uses, class_at, s->ranks[r]);
	add_waits(uses, class_at, a);
	take_unread(&uses[CLASS_NONBLOCKING], a);
	free(class_at);
	cJSON *io = json_object(a->root, "io");
	for (int i = 0; i < CLASSES; i++)
		ns += uses[i].ns;
	json_put(io, "time_s", ns / 1e9);
	json_put_seconds(io, "wait_s", a->tally.waits.total_ns[WAIT_AT_COLLECTIVE_IO]);
	cJSON *list = json_array(io, "classes");
	for (int i = 0; i < CLASSES; i++)
		if (uses[i].calls > 0 || uses[i].ns > 0)
			put_class(list, (enum io_class)i, &uses[i]);
	return 0;
}
