/* metrics.c - see metrics.h. */
#include "fleet/publish/metrics.h"

#include "base/atomic_file.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

static const struct row {
	const char *name, *type, *help;
	size_t at;
} rows[] = {
	{"sent_total", "counter", "Records that have arrived.", offsetof(struct state_counts, done)},
	{"dropped_total", "counter", "Records given up since too many waited, or by --forget.",
	 offsetof(struct state_counts, dropped)},
	{"waiting", "gauge", "Records that have not arrived yet.", offsetof(struct state_counts, waiting)},
	{"dead", "gauge", "Records that the destination will never take.", offsetof(struct state_counts, dead)},
	{"failures", "gauge", "Failures since something arrived.", offsetof(struct state_counts, failures)},
	{"not_before_seconds", "gauge", "When it is tried again, seconds since 1970.",
	 offsetof(struct state_counts, next)},
};

static void put_row(struct buf *b, const struct row *r, const struct destinations *all, const struct state_counts *c)
{
	buf_printf(b, "# HELP mpitrace_publish_%s %s\n# TYPE mpitrace_publish_%s %s\n", r->name, r->help, r->name,
		   r->type);
	for (size_t i = 0; i < all->all.n; i++) {
		int64_t value;
		memcpy(&value, (const char *)&c[i] + r->at, sizeof(value));
		buf_printf(b, "mpitrace_publish_%s{destination=\"", r->name);
		publish_label(b, all->all.at[i].name);
		buf_printf(b, "\",type=\"%s\"} %lld\n", all->all.at[i].kind->name, (long long)value);
	}
}

static void put_alone(struct buf *b, const char *name, const char *type, const char *help, double value)
{
	buf_printf(b, "# HELP mpitrace_publish_%s %s\n# TYPE mpitrace_publish_%s %s\nmpitrace_publish_%s %.15g\n", name,
		   help, name, type, name, value);
}

static int replace(const char *path, const struct buf *b, struct error *e)
{
	struct atomic_file f = {.stream = NULL};
	int rc = atomic_file_open(&f, path, e);
	if (rc < 0)
		return rc;
	f.unsynced = true;
	fwrite(b->data, 1, b->len_bytes, f.stream);
	return atomic_file_commit(&f, e);
}

int publish_metrics(const char *path, struct state *s, const struct destinations *all, const struct take_counts *taken,
		    struct error *e)
{
	_cleanup_buf_ struct buf b = {0};
	struct state_counts c[DESTINATIONS_MAX];
	int rc = 0;
	for (size_t i = 0; i < all->all.n && rc == 0; i++)
		rc = state_counts(s, &all->all.at[i], &c[i], e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put_row(&b, &rows[i], all, c);
	put_alone(&b, "taken_total", "counter", "Records taken by this process.", (double)taken->added);
	put_alone(&b, "left_out_total", "counter", "Files and records that were not taken.", (double)taken->refused);
	put_alone(&b, "last_round_seconds", "gauge", "When all this was so, seconds since 1970.", (double)time(NULL));
	return buf_failed(&b) ? fail(e, -ENOMEM, "out of memory") : replace(path, &b, e);
}
