/* join.c - give every process-local name (operation, communicator, module, datatype) the step's
 * number, and write into every signature what it means in world ranks and bytes. */
#include "postproc/read/comms.h"
#include "postproc/read/load.h"
#include "postproc/read/objects.h"
#include "postproc/read/sites.h"
#include "postproc/read/types.h"
#include "postproc/read/agreed.h"

#define LOCAL_ID_MAX (1u << 22) /* a larger local id is damage */

static int map_id(struct step *s, uint32_t **at, size_t *n, size_t *cap, uint32_t id, uint32_t value)
{
	int code = id >= LOCAL_ID_MAX ? -EBADMSG : budget_reach_(&s->kept, at, n, cap, sizeof(**at), id);
	if (code == 0)
		(*at)[id] = value + 1;
	return code;
}

#define MAP(v, id, value) map_id(s, &(v)->at, &(v)->n, &(v)->cap, id, value)

static uint32_t mapped(const uint32_t *at, size_t n, uint32_t id)
{
	return id < n ? at[id] - 1 : NONE; /* 0, not defined, becomes NONE */
}

static int join_op(struct step *s, struct process *p, const struct mpic_def *d)
{
	char name[128];
	size_t n = d->name.len_bytes < sizeof(name) - 1 ? d->name.len_bytes : sizeof(name) - 1;
	memcpy(name, d->name.data, n);
	name[n] = '\0';
	for (char *c = name; *c != '\0'; c++) /* as an .mpix file has it */
		*c = *c > ' ' && *c <= '~' ? *c : '_';
	uint32_t op = step_op(s, name);
	return op == NONE ? -ENOMEM : MAP(&p->ops, d->id, op);
}

static int join_comm(struct step *s, struct process *p, const struct mpic_def *d)
{
	uint32_t comm;
	int code = comms_add(s, d, &comm);
	return code < 0 ? code : MAP(&p->comms, d->id, comm);
}

static int join_module(struct step *s, struct process *p, const struct mpic_def *d)
{
	struct module_at at = {d->begin, d->end, d->bias, sites_module(s, d->name, d->build_id)};
	return at.module == NONE ? -ENOMEM : vec_push(&p->modules, at);
}

static int join_def(struct step *s, struct process *p, const struct mpic_def *d)
{
	switch (d->type) {
	case MPIC_DEF_OP:
		return join_op(s, p, d);
	case MPIC_DEF_DATATYPE:
		return d->id < LOCAL_ID_MAX ? types_add(s, p, d) : -EBADMSG;
	case MPIC_DEF_COMM:
		return join_comm(s, p, d);
	case MPIC_DEF_MODULE:
		return join_module(s, p, d);
	default:
		return 0;
	}
}

/* Names and parents may stand before what they name. */
static int join_late(struct step *s, struct process *p, const struct mpic_def *d)
{
	uint32_t comm = mapped(p->comms.at, p->comms.n, d->id);
	if (comm == NONE)
		return 0;
	if (d->type == MPIC_DEF_TOPOLOGY)
		return vec_push(&p->neighbors, (struct neighbors){comm, d->in_neighbors, d->out_neighbors});
	if (d->type == MPIC_DEF_COMM_NAME)
		comms_name(s, comm, d->name);
	if (d->type == MPIC_DEF_COMM && s->comms.at[comm].created_by == NONE) {
		s->comms.at[comm].parent = mapped(p->comms.at, p->comms.n, d->parent);
		s->comms.at[comm].created_by = mapped(p->ops.at, p->ops.n, d->created_by);
	}
	return 0;
}

static void join_message(const struct step *s, const struct process *p, struct sig *sig)
{
	const struct sig_call *c = &sig->call;
	const struct comm *comm = sig->comm == NONE ? NULL : &s->comms.at[sig->comm];
	bool receives = c->shape == SIG_RECV || c->shape == SIG_SENDRECV;
	sig->peer = comms_peer(comm, c->peer);
	sig->recv_peer = comms_peer(comm, c->shape == SIG_RECV ? c->peer : c->recv_peer);
	if ((c->shape == SIG_SEND || c->shape == SIG_SENDRECV) && sig->peer != SIG_PROC_NULL)
		sig->bytes = types_bytes(p, c->count, c->datatype);
	if (receives && sig->recv_peer != SIG_PROC_NULL)
		sig->recv_bytes = (c->flags & (SIG_SIZED | SIG_FAILED)) == SIG_SIZED ? c->received_bytes
				  : c->shape == SIG_RECV ? types_bytes(p, c->count, c->datatype)
							 : types_bytes(p, c->recv_count, c->recv_datatype);
	sig->type = types_kind(p, c->datatype);
	sig->recv_type = types_kind(p, c->shape == SIG_RECV ? c->datatype : c->recv_datatype);
}

static int join_sig(struct step *s, struct process *p, struct sig *sig)
{
	if (!sig->defined)
		return 0;
	sig->op = mapped(p->ops.at, p->ops.n, sig->call.op);
	sig->object = objects_of(p, &sig->call);
	if (sig->call.shape == SIG_RMA && sig->object != NONE)
		sig->comm = s->windows.at[sig->object].comm;
	if (sig->call.comm != SIG_NO_COMM)
		sig->comm = mapped(p->comms.at, p->comms.n, sig->call.comm);
	join_message(s, p, sig);
	sig->agreed = agreed_of(s, p, sig);
	return sites_add(s, p, sig);
}

static int join_process(struct step *s, struct process *p)
{
	int code = 0;
	for (size_t i = 0; i < p->defs.n && code != -ENOMEM; i++)
		code = join_def(s, p, &p->defs.at[i]); /* one that cannot be takes no other away */
	code = code == -ENOMEM ? code : 0;
	for (size_t i = 0; i < p->defs.n && code == 0; i++)
		code = join_late(s, p, &p->defs.at[i]);
	if (code == 0)
		code = objects_join(s, p);
	for (size_t i = 0; i < p->sigs.n && code == 0; i++)
		code = join_sig(s, p, &p->sigs.at[i]);
	return code;
}

int step_join(struct step *s, struct error *e)
{
	int code = 0;
	for (uint32_t r = 0; r < s->nranks && code == 0; r++)
		if (s->ranks[r] != NULL)
			code = join_process(s, s->ranks[r]);
	return code < 0 ? fail(e, code, "cannot join the ranks' definitions: %s", strerror(-code)) : 0;
}
