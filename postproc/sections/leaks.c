/* leaks.c - what each rank made and never freed, and calls that returned an error: exact, from the totals. Of ranks
 * that did not come to MPI_Finalize only the errors count. A datatype's free is not recorded with the type, so
 * datatypes are a difference of two numbers. */
#include "postproc/analysis.h"

enum { COMMS, WINDOWS, FILES, OBJECTS };

static const enum defect_kind kinds[OBJECTS] = {DEFECT_COMMUNICATOR_LEAK, DEFECT_WINDOW_LEAK, DEFECT_FILE_LEAK};

/* By local number of an object: the signature of the call that made it, and whether it was freed. */
struct made {
	uint32_t sig;
	bool made, freed;
};

struct ledger {
	VEC(struct made) objects[OBJECTS];
	uint64_t types_made, types_freed;
	VEC(uint32_t) type_sigs; /* of the calls that made types */
};

static struct made *object(struct ledger *l, int kind, uint32_t id)
{
	if (id >= 1u << 22 || vec_reach(&l->objects[kind], id) < 0)
		return NULL;
	return &l->objects[kind].at[id];
}

static void make(struct ledger *l, int kind, uint32_t id, uint32_t sig)
{
	struct made *m = object(l, kind, id);
	if (m == NULL || m->made)
		return;
	m->made = true;
	m->sig = sig;
}

static void release(struct ledger *l, int kind, uint32_t id)
{
	struct made *m = object(l, kind, id);
	if (m != NULL)
		m->freed = true;
}

static bool frees_comm(const char *op)
{
	return strcmp(op, "MPI_Comm_free") == 0 || strcmp(op, "MPI_Comm_disconnect") == 0;
}

/* Types of MPI_Type_create_f90_* are predefined. */
static bool makes_type(const char *op)
{
	static const char *const names[] = {
		"MPI_Type_contiguous",
		"MPI_Type_vector",
		"MPI_Type_create_hvector",
		"MPI_Type_hvector",
		"MPI_Type_indexed",
		"MPI_Type_create_hindexed",
		"MPI_Type_hindexed",
		"MPI_Type_create_indexed_block",
		"MPI_Type_create_hindexed_block",
		"MPI_Type_create_subarray",
		"MPI_Type_create_darray",
		"MPI_Type_create_resized",
		"MPI_Type_dup",
		"MPI_Type_create_struct",
		"MPI_Type_struct",
	};
	size_t len = strlen(op);
	len -= len > 2 && strcmp(op + len - 2, "_c") == 0 ? 2 : 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && memcmp(names[i], op, len) == 0)
			return true;
	return false;
}

static int enter(struct ledger *l, const struct step *s, const struct process *p, uint32_t at)
{
	const struct sig *sig = &p->sigs.at[at];
	const struct sig_call *c = &sig->call;
	const char *op = sig_op_or(s, sig, "");
	if (c->shape == SIG_COMM && c->new_comm != SIG_NO_COMM)
		make(l, COMMS, c->new_comm, at);
	else if (c->shape == SIG_COMM && frees_comm(op))
		release(l, COMMS, c->comm);
	else if (c->shape == SIG_RMA && c->rma == RMA_CREATE)
		make(l, WINDOWS, c->object, at);
	else if (c->shape == SIG_RMA && c->rma == RMA_FREE)
		release(l, WINDOWS, c->object);
	else if (c->shape == SIG_IO && c->io == IO_OPEN)
		make(l, FILES, c->object, at);
	else if (c->shape == SIG_IO && c->io == IO_CLOSE)
		release(l, FILES, c->object);
	else if (c->shape == SIG_TIME && strcmp(op, "MPI_Type_free") == 0)
		l->types_freed += sig->calls;
	else if (c->shape == SIG_TIME && makes_type(op)) {
		l->types_made += sig->calls;
		return vec_push(&l->type_sigs, at);
	}
	return 0;
}

static int note(struct defects *f, enum defect_kind kind, const struct process *p, uint32_t sig, uint64_t count)
{
	uint32_t site = sig != NONE ? p->sigs.at[sig].site : NONE;
	struct defect_case c = {.rank = p->rank, .sig = sig, .peer = NONE, .peer_sig = NONE, .comm = NONE};
	if (defects_note(f, kind, site, NONE, &c) < 0)
		return -ENOMEM;
	struct defect *row = defects_row(f, kind, site, NONE);
	if (row != NULL)
		row->count += count - 1;
	return 0;
}

/* By index of l->type_sigs: how many all calls of that kind made. */
static uint64_t made_by(const struct process *p, const struct ledger *l, size_t at)
{
	uint64_t n = 0;
	for (size_t i = 0; i < l->type_sigs.n; i++)
		if (p->sigs.at[l->type_sigs.at[i]].op == p->sigs.at[l->type_sigs.at[at]].op)
			n += p->sigs.at[l->type_sigs.at[i]].calls;
	return n;
}

/* A call of the only kind that made as many as are left, or more: the others cannot have all of them; or NONE. */
static uint32_t call_of(const struct process *p, const struct ledger *l, uint64_t left)
{
	uint32_t found = NONE;
	for (size_t i = 0; i < l->type_sigs.n; i++) {
		uint32_t sig = l->type_sigs.at[i];
		if (made_by(p, l, i) < left || (found != NONE && p->sigs.at[found].op == p->sigs.at[sig].op))
			continue;
		if (found != NONE)
			return NONE;
		found = sig;
	}
	return found;
}

/* Where nothing was freed, all that each place made is left. */
static int note_types(struct defects *f, const struct process *p, const struct ledger *l)
{
	uint64_t left = l->types_made - l->types_freed;
	int code = 0;
	if (l->types_freed > 0)
		return note(f, DEFECT_DATATYPE_LEAK, p, call_of(p, l, left), left);
	for (size_t i = 0; i < l->type_sigs.n && code == 0; i++)
		code = note(f, DEFECT_DATATYPE_LEAK, p, l->type_sigs.at[i], p->sigs.at[l->type_sigs.at[i]].calls);
	return code;
}

static int note_ledger(struct defects *f, const struct process *p, const struct ledger *l)
{
	int code = 0;
	for (int kind = 0; kind < OBJECTS; kind++)
		for (size_t i = 0; i < l->objects[kind].n && code == 0; i++) {
			const struct made *m = &l->objects[kind].at[i];
			if (m->made && !m->freed)
				code = note(f, kinds[kind], p, m->sig, 1);
		}
	if (code == 0 && l->types_made > l->types_freed)
		code = note_types(f, p, l);
	return code;
}

/* Truncated receives are named as such. */
static int find_errors(struct defects *f, const struct process *p)
{
	int code = 0;
	for (uint32_t i = 0; i < p->sigs.n && code == 0; i++) {
		const struct sig *sig = &p->sigs.at[i];
		bool received = sig->call.shape == SIG_RECV || sig->call.shape == SIG_SENDRECV;
		if (sig->defined && sig->calls > 0 && (sig->call.flags & SIG_FAILED) != 0 && !received)
			code = note(f, DEFECT_ERROR, p, i, sig->calls);
	}
	return code;
}

static int find_leaks(struct defects *f, const struct step *s, const struct process *p)
{
	struct ledger l = {0};
	int code = 0;
	for (uint32_t i = 0; i < p->sigs.n && code == 0; i++)
		if (p->sigs.at[i].defined && p->sigs.at[i].calls > 0 && (p->sigs.at[i].call.flags & SIG_FAILED) == 0)
			code = enter(&l, s, p, i);
	if (code == 0)
		code = note_ledger(f, p, &l);
	vec_done(&l.type_sigs);
	for (int kind = 0; kind < OBJECTS; kind++)
		vec_done(&l.objects[kind]);
	return code;
}

static int find_requests(const struct analysis *a, struct defects *f, uint32_t rank)
{
	struct defect_case c = {.rank = rank, .sig = NONE, .peer = NONE, .peer_sig = NONE, .comm = NONE};
	if (a->leaked[rank] == 0)
		return 0;
	if (defects_note(f, DEFECT_REQUEST_LEAK, a->leak_site[rank], NONE, &c) < 0)
		return -ENOMEM;
	struct defect *row = defects_row(f, DEFECT_REQUEST_LEAK, a->leak_site[rank], NONE);
	if (row != NULL)
		row->count += a->leaked[rank] - 1;
	return 0;
}

int leaks_find(const struct analysis *a, struct defects *f)
{
	int code = 0;
	for (uint32_t r = 0; r < a->step->nranks && code == 0; r++) {
		const struct process *p = a->step->ranks[r];
		if (p == NULL)
			continue;
		code = find_errors(f, p);
		if (code == 0 && p->finalized)
			code = find_leaks(f, a->step, p);
		if (code == 0)
			code = find_requests(a, f, r);
	}
	return code;
}
