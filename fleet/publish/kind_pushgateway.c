/* kind_pushgateway.c - sums over all jobs for a Prometheus Pushgateway, in the text format that Prometheus and
 * OpenMetrics readers share. A Pushgateway keeps one value of each metric, and no jobs: so what is sent is what all
 * jobs add up to, as counters, by cluster, partition and account. One group is put whole each time, so that a repeat
 * changes nothing. */
#include "fleet/publish/kind.h"

#include "fleet/job.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define SERIES_MAX 20000u /* sets of labels, times metrics; who comes later is counted among others */
#define OTHERS "(others)"

static const struct metric {
	const char *name, *help;
} metrics[] = {
	{"mpitrace_jobs_total", "Steps with a record."},
	{"mpitrace_incomplete_jobs_total", "Steps of which a part is not in the trace."},
	{"mpitrace_core_hours_total", "Allocated processors times hours; ranks, where those are not known."},
	{"mpitrace_useful_core_hours_total", "Core-hours outside of MPI."},
	{"mpitrace_waiting_core_hours_total", "Core-hours in wait states of MPI."},
	{"mpitrace_hung_core_hours_total", "Core-hours after the last progress of any rank."},
	{"mpitrace_idle_core_hours_total", "Core-hours of processors that were allocated without a rank."},
	{"mpitrace_not_known_core_hours_total", "Core-hours of which it is not known how they were spent."},
	{"mpitrace_lost_core_hours_total", "Core-hours that the first issue of each step cost."},
};

static const char *missing(const struct destination *d)
{
	return d->instance != NULL && (*d->instance == '\0' || strchr(d->instance, '/') != NULL)
		       ? "has an instance that is empty or has a slash"
		       : NULL;
}

static void url(const struct destination *d, struct buf *ret_url)
{
	char host[256] = "localhost";
	gethostname(host, sizeof(host) - 1);
	publish_base(d, ret_url);
	buf_str(ret_url, "/metrics/job/mpitrace/instance/");
	publish_percent(ret_url, d->instance != NULL ? d->instance : host);
}

/* ---- sums ---- */

static void put_label(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, "%s%s=\"", b->len_bytes > 0 ? "," : "", name);
	publish_label(b, value);
	buf_u8(b, '"');
}

static void put_labels(struct buf *b, const struct fleet_job *j, bool others, const char *issue)
{
	b->len_bytes = 0;
	put_label(b, "cluster", others ? OTHERS : j->names[FLEET_CLUSTER]);
	put_label(b, "partition", others ? OTHERS : j->names[FLEET_PARTITION]);
	put_label(b, "account", others ? OTHERS : j->names[FLEET_ACCOUNT]);
	if (issue != NULL)
		put_label(b, "issue", others ? OTHERS : issue);
	buf_u8(b, 0);
}

static int add_to(struct totals *t, const char *metric, const char *labels, double value)
{
	struct total *x = totals_at(t, metric, labels);
	if (x == NULL)
		return -ENOMEM;
	x->value += value;
	return 0;
}

static bool has_room(const struct totals *t, const char *metric, const struct buf *labels)
{
	return t->all.n < SERIES_MAX || totals_has(t, metric, (const char *)labels->data);
}

/* Anybody may have written the record: an issue that no analysis has is one of others. */
static int add_loss(struct totals *t, const struct fleet_job *j, bool others)
{
	static const char metric[] = "mpitrace_lost_core_hours_total";
	_cleanup_buf_ struct buf labels = {0};
	const char *issue = fleet_issue_is_known(j) ? j->names[FLEET_ISSUE] : OTHERS;
	put_labels(&labels, j, others, issue);
	if (!buf_failed(&labels) && !has_room(t, metric, &labels))
		put_labels(&labels, j, true, issue);
	return buf_failed(&labels) ? -ENOMEM : add_to(t, metric, (const char *)labels.data, j->loss);
}

static int add_with(struct totals *t, const struct fleet_job *j, bool others)
{
	_cleanup_buf_ struct buf labels = {0};
	put_labels(&labels, j, others, NULL);
	bool known = !isnan(j->useful);
	double useful = known ? j->core_hours * j->useful : 0, not_known = known ? 0 : j->core_hours * (1 - j->wait);
	const double values[] = {1,	  !j->complete, j->core_hours, useful, j->core_hours * j->wait,
				 j->hung, j->idle,	not_known};
	int rc = buf_failed(&labels) ? -ENOMEM : 0;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && rc == 0; i++)
		rc = add_to(t, metrics[i].name, (const char *)labels.data, values[i]);
	return rc < 0 || *j->names[FLEET_ISSUE] == '\0' ? rc : add_loss(t, j, others);
}

static int add(const struct publish_record *r, struct totals *t)
{
	struct fleet_job j;
	_cleanup_buf_ struct buf labels = {0};
	if (fleet_job_of(r->json, &j) != NULL) /* state_take() has looked */
		return 0;
	put_labels(&labels, &j, false, NULL);
	if (buf_failed(&labels))
		return -ENOMEM;
	return add_with(t, &j, !has_room(t, metrics[0].name, &labels));
}

/* ---- text ---- */

static void encode(const struct publish_batch *b, struct buf *ret_body)
{
	for (size_t m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++) {
		buf_printf(ret_body, "# HELP %s %s\n# TYPE %s counter\n", metrics[m].name, metrics[m].help,
			   metrics[m].name);
		for (size_t i = 0; i < b->totals->all.n; i++) {
			const struct total *x = &b->totals->all.at[i];
			if (strcmp(x->metric, metrics[m].name) == 0)
				buf_printf(ret_body, "%s{%s} %.15g\n", x->metric, x->labels, x->value);
		}
	}
}

const struct publish_kind publish_pushgateway = {
	.name = "pushgateway",
	.content_type = "text/plain; version=0.0.4; charset=utf-8",
	.missing = missing,
	.url = url,
	.encode = encode,
	.add = add,
	.method = "PUT",
};
