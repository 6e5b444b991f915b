/* correctness_words.c - see correctness.h. */
#include "postproc/sections/correctness.h"
#include "postproc/issues/issues.h"
#include "postproc/read/comms.h"
#include "postproc/read/ends.h"
#include "postproc/read/types.h"
#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>

#define UNLESS ", unless a thread that had not called MPI yet was to let them continue"

static const struct {
	const char *name, *severity;
	const char *one, *many; /* what there is of it */
} kinds[DEFECT_KINDS] = {
	[DEFECT_TRUNCATION] = {"truncation", "high", "message was longer than its receive buffer",
			       "messages were longer than their receive buffers"},
	[DEFECT_DATATYPE] = {"datatype_mismatch", "high", "message was received as another datatype than it was sent",
			     "messages were received as another datatype than they were sent"},
	[DEFECT_BYTE_TYPE] = {"datatype_mismatch", "low",
			      "message is MPI_BYTE at one end and another datatype at the other",
			      "messages are MPI_BYTE at one end and another datatype at the other"},
	[DEFECT_COLLECTIVE_ORDER] = {"collective_operation_mismatch", "high",
				     "call met a different collective operation on other ranks",
				     "calls met a different collective operation on other ranks"},
	[DEFECT_COLLECTIVE_ROOT] = {"collective_root_mismatch", "high",
				    "call of a collective operation named another root than other ranks",
				    "calls of collective operations named another root than other ranks"},
	[DEFECT_COLLECTIVE_SIZE] = {"collective_size_mismatch", "high",
				    "call of a collective operation had another size than on other ranks",
				    "calls of collective operations had another size than on other ranks"},
	[DEFECT_UNRECEIVED] = {"unreceived_message", "medium", "message was never received",
			       "messages were never received"},
	[DEFECT_UNSERVED] = {"unserved_receive", "medium", "receive was posted and never matched",
			     "receives were posted and never matched"},
	[DEFECT_SEND_CYCLE] = {"unsafe_send_cycle", "medium",
			       "time ranks sent to each other before they received, which only buffering by the MPI "
			       "library keeps from a deadlock",
			       "times ranks sent to each other before they received, which only buffering by the MPI "
			       "library keeps from a deadlock"},
	[DEFECT_DEADLOCK] = {"deadlock", "high", "group of ranks is deadlocked", "groups of ranks are deadlocked"},
	[DEFECT_REQUEST_LEAK] = {"request_leak", "medium", "request was neither completed nor freed",
				 "requests were neither completed nor freed"},
	[DEFECT_COMMUNICATOR_LEAK] = {"communicator_leak", "low", "communicator was created and not freed, on one rank",
				      "communicators were created and not freed, counted on each rank"},
	[DEFECT_WINDOW_LEAK] = {"window_leak", "medium", "window was created and not freed, on one rank",
				"windows were created and not freed, counted on each rank"},
	[DEFECT_FILE_LEAK] = {"file_leak", "medium", "file was opened and not closed, on one rank",
			      "files were opened and not closed, counted on each rank"},
	[DEFECT_DATATYPE_LEAK] = {"datatype_leak", "low", "datatype was created and not freed",
				  "datatypes were created and not freed"},
	[DEFECT_ERROR] = {"error_returned", "low", "call returned an error", "calls returned an error"},
};

const char *correctness_name(enum defect_kind kind)
{
	return kinds[kind].name;
}

const char *correctness_severity(enum defect_kind kind)
{
	return kinds[kind].severity;
}

/* "Ranks 0, 3 and 12 more are deadlocked": of one group alone; who has ended only let it down. */
static bool put_group(const struct step *s, const struct defect *f, char *text, size_t size)
{
	const struct defect_case *x = &f->cases[0];
	uint32_t known = x->nmembers < DEFECT_MEMBERS_MAX ? x->nmembers : DEFECT_MEMBERS_MAX;
	uint32_t n = x->nmembers, last = known > 0 ? x->members[known - 1] : NONE;
	size_t used = 0;
	if (f->kind != DEFECT_DEADLOCK || f->count != 1 || f->ncases == 0 || known == 0)
		return false;
	if (n == known && n > 1 && ends_left(s, s->ranks[last]))
		n = --known;
	used = (size_t)snprintf(text, size, n == 1 ? "Rank %u is deadlocked" : "Ranks %u", x->members[0]);
	for (uint32_t i = 1; i < known && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s %u", i + 1 == n ? " and" : ",", x->members[i]);
	if (n > known && used < size)
		used += (size_t)snprintf(text + used, size - used, " and %u more", n - known);
	if (n > 1 && used < size)
		snprintf(text + used, size - used, " are deadlocked");
	return true;
}

/* Of each of its groups nothing more is known. */
static bool is_possible(const struct defect *f)
{
	for (uint32_t i = 0; i < f->ncases; i++)
		if (!f->cases[i].possible)
			return false;
	return f->ncases > 0;
}

const char *correctness_what(const struct step *s, const struct defect *f, char *text, size_t size)
{
	char subject[256], site[256], other[256];
	site_text(s, f->site, site, sizeof(site));
	site_text(s, f->other_site, other, sizeof(other));
	bool two = other[0] != '\0' && f->other_site != f->site;
	if (!put_group(s, f, subject, sizeof(subject)))
		snprintf(subject, sizeof(subject), "%" PRIu64 " %s", f->count,
			 f->count == 1 ? kinds[f->kind].one : kinds[f->kind].many);
	snprintf(text, size, "%s%s%s%s%s.", subject, site, two ? ", and" : "", two ? other : "",
		 is_possible(f) ? UNLESS : "");
	return text;
}

static const struct sig *sig_of(const struct step *s, uint32_t rank, uint32_t sig)
{
	return &s->ranks[rank]->sigs.at[sig];
}

static const char *op_of(const struct step *s, const struct sig *sig)
{
	return sig->op == NONE ? "an unknown call" : s->ops.at[sig->op];
}

static void put_message(const struct step *s, const struct defect_case *x, char *text, size_t size)
{
	const struct sig_call *sent = &sig_of(s, x->rank, x->sig)->call, *got = &sig_of(s, x->peer, x->peer_sig)->call;
	bool pair = got->shape == SIG_SENDRECV;
	char a[64], b[64];
	types_text(s->ranks[x->rank], sent->datatype, a, sizeof(a));
	types_text(s->ranks[x->peer], pair ? got->recv_datatype : got->datatype, b, sizeof(b));
	snprintf(text, size, "Rank %u sent %s (%s times %s) with tag %d, rank %u had room for %s (%s times %s).",
		 x->rank, fmt_many((double)x->bytes, "byte").s, fmt_count((double)sent->count).s, a, x->tag, x->peer,
		 fmt_count((double)x->other).s, fmt_count((double)(pair ? got->recv_count : got->count)).s, b);
}

/* "root 3" as the program wrote it, "8 bytes". */
static const char *opinion(enum defect_kind kind, const struct sig *sig, uint64_t bytes, char *text, size_t size)
{
	text[0] = '\0';
	if (kind == DEFECT_COLLECTIVE_ROOT)
		snprintf(text, size, " with root %d", sig->call.peer);
	else if (kind == DEFECT_COLLECTIVE_SIZE && sig->call.nlist > 0)
		snprintf(text, size, " with other counts");
	else if (kind == DEFECT_COLLECTIVE_SIZE)
		snprintf(text, size, " of %s", fmt_many((double)bytes, "byte").s);
	return text;
}

static void put_collective(const struct step *s, enum defect_kind kind, const struct defect_case *x, char *text,
			   size_t size)
{
	const struct sig *a = sig_of(s, x->rank, x->sig), *b = sig_of(s, x->peer, x->peer_sig);
	const char *name = comms_shown_name(s, &s->comms.at[x->comm]);
	char one[64], other[64];
	snprintf(text, size,
		 "Rank %u called %s%s as collective operation %" PRIu64 " of communicator %u (%.64s), rank %u %s%s.",
		 x->rank, op_of(s, a), opinion(kind, a, x->bytes, one, sizeof(one)), x->k + 1, x->comm,
		 name != NULL ? name : "unnamed", x->peer, op_of(s, b),
		 opinion(kind, b, x->other, other, sizeof(other)));
}

static void put_members(const struct defect_case *x, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "Ranks");
	for (uint32_t i = 0; i < x->nmembers && i < DEFECT_MEMBERS_MAX && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s %u", i > 0 ? "," : "", x->members[i]);
	if (x->nmembers > DEFECT_MEMBERS_MAX && used < size)
		used += (size_t)snprintf(text + used, size - used, " and %u more", x->nmembers - DEFECT_MEMBERS_MAX);
	if (used < size)
		snprintf(text + used, size - used,
			 ": each sends to the next, the last to the first, before it receives; %s, tag %d.",
			 fmt_many((double)x->bytes, "byte").s, x->tag);
}

/* Who else, and what would be enough. */
static void put_reason(const struct defect_case *x, char *text, size_t size)
{
	size_t used = strlen(text);
	if (x->waiting > 0)
		used += (size_t)snprintf(text + used, size - used, " %u more rank%s for them.", x->waiting,
					 x->waiting == 1 ? " waits" : "s wait");
	if (x->until[0] != '\0' && used < size)
		snprintf(text + used, size - used, " Rank %u needs %s.", x->members[0], x->until);
}

/* Who died in which call, for want of whom. */
static void put_waiters(const struct step *s, const struct defect_case *x, char *text, size_t size)
{
	size_t used = 0;
	uint32_t shown = x->nmembers < DEFECT_MEMBERS_MAX ? x->nmembers : DEFECT_MEMBERS_MAX;
	text[0] = '\0';
	for (uint32_t i = 0; i < shown && used < size; i++) {
		const struct process *p = s->ranks[x->members[i]];
		const struct sig *sig = p->open.n > 0 ? &p->sigs.at[p->open.at[0].sig] : NULL;
		const char *op = sig != NULL ? op_of(s, sig) : "MPI_Finalize";
		bool ended = ends_left(s, p);
		used += (size_t)snprintf(text + used, size - used, "%sank %u ", i > 0 ? ", r" : "R", x->members[i]);
		if (used < size && ended)
			used += (size_t)snprintf(text + used, size - used, "has ended");
		else if (used < size && i + 1 == shown && x->nmembers > shown)
			used += (size_t)snprintf(text + used, size - used, "waits in %s for %u more", op,
						 x->nmembers - shown);
		else if (used < size && x->needs[i] == NONE)
			used += (size_t)snprintf(text + used, size - used, "waits in %s for any rank", op);
		else if (used < size)
			used += (size_t)snprintf(text + used, size - used, "waits in %s for rank %u", op, x->needs[i]);
	}
	if (used < size)
		snprintf(text + used, size - used, ".");
	if (used + 1 < size)
		put_reason(x, text, size);
}

const char *correctness_case(const struct step *s, enum defect_kind kind, const struct defect_case *x, char *text,
			     size_t size)
{
	char from[32] = "anybody";
	if (x->peer != NONE)
		snprintf(from, sizeof(from), "rank %u", x->peer);
	switch (kind) {
	case DEFECT_TRUNCATION:
	case DEFECT_DATATYPE:
	case DEFECT_BYTE_TYPE:
		put_message(s, x, text, size);
		break;
	case DEFECT_COLLECTIVE_ORDER:
	case DEFECT_COLLECTIVE_ROOT:
	case DEFECT_COLLECTIVE_SIZE:
		put_collective(s, kind, x, text, size);
		break;
	case DEFECT_UNRECEIVED:
		snprintf(text, size, "Rank %u sent %s to %s with tag %d.", x->rank,
			 fmt_many((double)x->bytes, "byte").s, from, x->tag);
		break;
	case DEFECT_UNSERVED:
		snprintf(text, size, "Rank %u waited for a message from %s with tag %d.", x->rank, from, x->tag);
		break;
	case DEFECT_SEND_CYCLE:
		put_members(x, text, size);
		break;
	case DEFECT_DEADLOCK:
		put_waiters(s, x, text, size);
		break;
	default:
		snprintf(text, size, "Rank %u: %s.", x->rank,
			 x->sig != NONE ? op_of(s, sig_of(s, x->rank, x->sig)) : "see the call site");
	}
	return text;
}
