/* mpix_dump.c - all that the C reader says of .mpix files: `mpix_dump FILE...` prints one line of JSON each, with all
 * calls, messages, wait states and samples, or an error. What the viewer decodes is compared with it. */
#include "format/mpix.h"

#include <inttypes.h>

struct printing {
	uint32_t rank;
	const char *comma;
};

static void put_position(const struct mpix_position *at)
{
	if (at->window == MPIX_NOWHERE)
		printf(",null");
	else
		printf(",[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", at->window, at->lane, at->index);
}

static int put_event(void *context, const struct mpix_event *x)
{
	struct printing *p = context;
	int32_t site = x->callsite == MPIX_NO_CALLSITE ? -1 : (int32_t)x->callsite;
	printf("%s[%" PRIu32 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu32 ",%d,%" PRId32 ",%" PRId32, p->comma,
	       p->rank, x->start_ns, x->end_ns, x->wait_ns, x->op, x->class, x->peer, x->tag);
	printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRId32, x->bytes, x->calls, x->comm, x->thread,
	       site);
	put_position(&x->at);
	if (x->number == MPIX_NO_NUMBER)
		printf(",-1]");
	else
		printf(",%" PRIu64 "]", x->number);
	p->comma = ",";
	return 0;
}

static int put_message(void *context, const struct mpix_link *x)
{
	struct printing *p = context;
	const struct mpix_message *m = &x->message;
	int32_t send = m->send_callsite == MPIX_NO_CALLSITE ? -1 : (int32_t)m->send_callsite;
	int32_t recv = m->recv_callsite == MPIX_NO_CALLSITE ? -1 : (int32_t)m->recv_callsite;
	printf("%s[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu64, p->comma, m->send_start_ns,
	       m->send_end_ns, m->recv_start_ns, m->completion_start_ns, m->recv_end_ns, m->bytes);
	printf(",%" PRIu32 ",%" PRIu32 ",%" PRId32 ",%" PRIu32 ",%" PRId32 ",%" PRId32 "]", m->src, m->dst, m->tag,
	       m->comm, send, recv);
	p->comma = ",";
	return 0;
}

static int put_wait(void *context, const struct mpix_wait *x)
{
	struct printing *p = context;
	printf("%s[%d,%" PRId64, p->comma, x->state, x->ns);
	put_position(&x->at);
	put_position(&x->causer);
	putchar(']');
	p->comma = ",";
	return 0;
}

static int put_sample(void *context, const struct mpix_sample *s)
{
	struct printing *p = context;
	printf("%s[%" PRIu64 ",%" PRIu32 ",%" PRId64 ",%" PRId64 ",[", p->comma, s->number, s->samples, s->start_ns,
	       s->end_ns);
	for (uint32_t i = 0; i < s->nthreads; i++) {
		const struct mpix_sample_thread *t = &s->threads[i];
		printf("%s[%" PRIu32 ",%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",[", i > 0 ? "," : "", t->lane, t->known,
		       t->cpu_ns, t->ready_ns, t->resident_bytes);
		for (uint32_t k = 0; k < t->ncells; k++) {
			const struct mpix_sample_cell *c = &t->cells[k];
			int64_t site = c->callsite == MPIX_NO_CALLSITE ? -1 : (int64_t)c->callsite;
			printf("%s[%" PRIu32 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
			       k > 0 ? "," : "", c->op, site, c->calls, c->ticks, c->bytes, c->wait_ns);
		}
		printf("]]");
	}
	printf("]]");
	p->comma = ",";
	return 0;
}

static int dump(struct mpix_file *f, struct error *e)
{
	const struct mpix_info *info = mpix_info(f);
	struct printing p = {0, ""};
	int rc = 0;
	printf("{\"events\":[");
	for (; p.rank < info->ranks && rc == 0; p.rank++)
		rc = mpix_each_event(f, p.rank, INT64_MIN, INT64_MAX, put_event, &p, e);
	printf("],\"messages\":[");
	p.comma = "";
	if (rc == 0)
		rc = mpix_each_message(f, INT64_MIN, INT64_MAX, put_message, &p, e);
	printf("],\"waits\":[");
	p.comma = "";
	if (rc == 0)
		rc = mpix_each_wait(f, INT64_MIN, INT64_MAX, put_wait, &p, e);
	printf("],\"samples\":[");
	p.comma = "";
	if (rc == 0)
		rc = mpix_each_sample(f, put_sample, &p, e);
	printf("]");
	return rc;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct error e = {{0}};
		struct mpix_file *f;
		int rc = mpix_open(argv[i], &f, &e);
		if (rc == 0) {
			rc = dump(f, &e);
			printf(",");
			mpix_close(f);
		} else {
			printf("{");
		}
		printf("\"ok\":%s}\n", rc == 0 ? "true" : "false");
		if (rc < 0)
			fprintf(stderr, "%s\n", e.text);
	}
	return 0;
}
