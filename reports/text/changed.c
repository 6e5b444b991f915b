/* changed.c - see changed.h. */
#include "reports/text/changed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double change_of(const cJSON *diff, const char *metric, const char *b, const char *a)
{
	for (const cJSON *v = json_first(diff, "time"); v != NULL; v = v->next)
		if (strcmp(json_text(v, "metric", ""), metric) == 0)
			return json_number(v, b) - json_number(v, a);
	return NAN;
}

static double a_rank(const cJSON *diff, const char *metric)
{
	return change_of(diff, metric, "b_per_rank_s", "a_per_rank_s");
}

struct longer {
	char s[64];
};

static struct longer longer(double s, struct fmt (*as)(struct fmt))
{
	struct longer x = {"as long"};
	if (s != 0)
		snprintf(x.s, sizeof(x.s), "%s %s", as(fmt_time(fabs(s))).s, s < 0 ? "shorter" : "longer");
	return x;
}

/* For a problem that stays as large: a larger one is for people to know. */
static int scaled(const cJSON *diff, struct fmt (*as)(struct fmt), char *text, size_t size)
{
	double a = json_number(json_item(diff, "a"), "ranks"), b = json_number(json_item(diff, "b"), "ranks");
	double before_s = json_number(json_first(diff, "time"), "a_s"),
	       now_s = json_number(json_first(diff, "time"), "b_s");
	if (!(a > 0 && b > 0 && now_s > 0) || isnan(before_s) || a == b)
		return 0;
	return snprintf(text, size,
			" With %s times the ranks it ran %s times as fast; for the same problem %s is ideal.",
			as(fmt_ratio(b / a)).s, as(fmt_ratio(before_s / now_s)).s, as(fmt_ratio(b / a)).s);
}

void changed_text(const cJSON *diff, struct fmt (*as)(struct fmt), char ret_text[CHANGED_TEXT])
{
	double useful_s = a_rank(diff, "useful"), mpi_s = a_rank(diff, "mpi"), wait_s = a_rank(diff, "wait");
	ret_text[0] = '\0';
	if (isnan(useful_s) || isnan(mpi_s))
		return;
	int n = snprintf(ret_text, CHANGED_TEXT, "In the mean of the ranks, computing took %s, and MPI %s",
			 longer(useful_s, as).s, longer(mpi_s, as).s);
	if (!isnan(wait_s))
		n += snprintf(ret_text + n, CHANGED_TEXT - (size_t)n, " (in it, waiting for others %s)",
			      longer(wait_s, as).s);
	n += snprintf(ret_text + n, CHANGED_TEXT - (size_t)n, ".");
	scaled(diff, as, ret_text + n, CHANGED_TEXT - (size_t)n);
}
