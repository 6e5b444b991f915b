/* show_events.c - `show --events`: single calls, as a table or as JSON. In: .mpix chunks.  Out:
 * stdout. */
#include "base/json.h"
#include "base/json_quote.h"
#include "cli/print.h"
#include "cli/show.h"

#include <inttypes.h>

static const char *const class_names[MPIX_CLASSES] = {"outside", "p2p", "wait", "collective",
						      "sync",	 "rma", "io",	"other"};

struct printing {
	const struct mpix_info *info;
	const cJSON **callsites; /* by id */
	int ncallsites;
	const struct event_choice *choice;
	uint32_t rank;
	unsigned long long printed;
};

static const cJSON *callsite_of(const struct printing *p, const struct mpix_event *x)
{
	return x->callsite < (uint32_t)p->ncallsites ? p->callsites[x->callsite] : NULL;
}

static void put_row(const struct printing *p, const struct mpix_event *x)
{
	const cJSON *site = callsite_of(p, x);
	printf("%6u %15.9f %13.9f %13.9f  %-22s ", p->rank, (double)x->start_ns * 1e-9,
	       (double)(x->end_ns - x->start_ns) * 1e-9, (double)x->wait_ns * 1e-9, p->info->ops[x->op]);
	if (x->peer >= 0)
		printf("%6" PRId32 " ", x->peer);
	else
		printf("%6s ", x->peer == -2 ? "null" : "-");
	printf("%8" PRId32 " %12" PRIu64 " %4" PRIu32 " ", x->tag, x->bytes, x->comm);
	if (x->calls > 1)
		printf("[%" PRIu64 " calls] ", x->calls);
	if (site != NULL) {
		put_plain(stdout,
			  json_text(site, "file", json_text(site, "module_short", json_text(site, "module", "?"))),
			  120);
		if (json_number_or(site, "line", 0) > 0)
			printf(":%.0f", json_number_or(site, "line", 0));
		putchar(' ');
		put_plain(stdout, json_text(site, "function_short", json_text(site, "function", "")), 80);
	}
	putchar('\n');
}

static void put_site(const cJSON *site)
{
	printf(",\"file\":");
	json_quote_to(stdout, json_text(site, "file", ""));
	printf(",\"line\":%.0f,\"function\":", json_number_or(site, "line", 0));
	json_quote_to(stdout, json_text(site, "function", ""));
}

static void put_object(const struct printing *p, const struct mpix_event *x)
{
	const cJSON *site = callsite_of(p, x);
	printf("%s\n{\"rank\":%u,\"start_s\":%.9f,\"end_s\":%.9f,\"wait_s\":%.9f,\"op\":", p->printed > 0 ? "," : "",
	       p->rank, (double)x->start_ns * 1e-9, (double)x->end_ns * 1e-9, (double)x->wait_ns * 1e-9);
	json_quote_to(stdout, p->info->ops[x->op]);
	printf(",\"class\":\"%s\",\"peer\":%" PRId32 ",\"tag\":%" PRId32 ",\"bytes\":%" PRIu64 ",\"calls\":%" PRIu64
	       ",\"comm\":%" PRIu32 ",\"thread\":%" PRIu32,
	       class_names[x->class], x->peer, x->tag, x->bytes, x->calls, x->comm, x->thread);
	if (x->callsite != MPIX_NO_CALLSITE)
		printf(",\"callsite\":%" PRIu32, x->callsite);
	if (site != NULL)
		put_site(site);
	putchar('}');
}

static int put_event(void *context, const struct mpix_event *x)
{
	struct printing *p = context;
	if (p->printed >= p->choice->limit)
		return 1;
	if (p->choice->json)
		put_object(p, x);
	else
		put_row(p, x);
	p->printed++;
	return ferror(stdout) ? 1 : 0;
}

static int put_ranks(struct mpix_file *f, struct printing *p, struct error *e)
{
	const struct event_choice *o = p->choice;
	uint32_t first = o->rank < 0 ? 0 : (uint32_t)o->rank;
	uint32_t last = o->rank < 0 ? p->info->ranks - 1 : (uint32_t)o->rank;
	for (p->rank = first; p->rank <= last; p->rank++) {
		int rc = mpix_each_event(f, p->rank, o->from_ns, o->to_ns, put_event, p, e);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

/* Call sites by their id, which the analysis may list in any order. */
static const cJSON **index_callsites(const cJSON *analysis, int *ret_count)
{
	int n = (int)json_count(analysis, "callsites"), at = 0;
	const cJSON **by_id = cJSON_malloc(((size_t)n + 1) * sizeof(*by_id));
	if (by_id == NULL)
		return NULL;
	for (int i = 0; i < n; i++)
		by_id[i] = NULL;
	for (const cJSON *x = json_first(analysis, "callsites"); x != NULL; x = x->next) {
		double id = json_number_or(x, "id", at++);
		if (id >= 0 && id < n)
			by_id[(int)id] = x;
	}
	*ret_count = n;
	return by_id;
}

int show_events(struct mpix_file *f, const cJSON *analysis, const struct event_choice *choice, struct error *e)
{
	struct printing p = {.info = mpix_info(f), .choice = choice};
	p.callsites = index_callsites(analysis, &p.ncallsites);
	if (choice->json)
		putchar('[');
	else
		printf("%6s %15s %13s %13s  %-22s %6s %8s %12s %4s %s\n", "rank", "start s", "duration s", "wait s",
		       "operation", "peer", "tag", "bytes", "comm", "call site");
	int rc = put_ranks(f, &p, e);
	if (choice->json)
		puts("\n]");
	cJSON_free(p.callsites);
	return rc;
}
