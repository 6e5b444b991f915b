/* hours.c - see hours.h. In: ranks, processors, elapsed_s, hung_s, share, wait_s of a record.  Out: hours, whose parts
 * add up to core_hours. Processors that are bound to a rank do what the rank does; the others are idle. */
#include "fleet/hours.h"

#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_PER_HOUR 3600.0

/* Six digits, as all numbers of a record. */
static void replace(cJSON *to, const char *name, double value)
{
	char digits[32];
	snprintf(digits, sizeof(digits), "%.6g", value);
	cJSON *number = isfinite(value) ? cJSON_CreateNumber(strtod(digits, NULL)) : cJSON_CreateNull();
	if (!cJSON_ReplaceItemInObjectCaseSensitive(to, name, number))
		cJSON_AddItemToObject(to, name, number);
}

static double positive(const cJSON *o, const char *name)
{
	double value = json_number(o, name);
	return value > 0 && value < 1e9 ? value : NAN;
}

struct processors {
	double all, per_rank; /* per_rank: those that do what a rank does */
};

static struct processors processors_of(const cJSON *record)
{
	double ranks = positive(record, "ranks"), all = positive(record, "alloc_cpus"),
	       each = positive(record, "cpus_per_rank");
	if (isnan(ranks))
		return (struct processors){NAN, NAN};
	if (isnan(each))
		each = isnan(all) ? 1 : all / ranks;
	if (isnan(all))
		all = each * ranks;
	return (struct processors){all, fmin(each, all / ranks)}; /* more ranks than processors share them */
}

/* States that are parts of others, as in the analysis. */
static bool is_part(const char *state)
{
	return strcmp(state, "late_sender_wrong_order") == 0 || strcmp(state, "late_complete") == 0;
}

static void put_waits(cJSON *hours, const cJSON *wait_s, double all)
{
	cJSON *to = json_object(hours, "wait");
	double sum = 0;
	for (const cJSON *x = cJSON_IsObject(wait_s) ? wait_s->child : NULL; x != NULL; x = x->next)
		sum += is_part(x->string) ? 0 : fmax(0, json_number_of(x));
	for (const cJSON *x = cJSON_IsObject(wait_s) ? wait_s->child : NULL; x != NULL && sum > 0; x = x->next)
		if (!is_part(x->string) && json_number_of(x) > 0)
			replace(to, x->string, all * json_number_of(x) / sum);
	if (!(sum > 0) && all > 0)
		replace(to, "other", all);
}

static void put_parts(cJSON *record, const struct processors *p, double ranks, double elapsed_h, double hung_h)
{
	const cJSON *share = json_item(record, "share");
	double busy = p->per_rank * ranks * (elapsed_h - hung_h);
	double useful = json_number(share, "useful"), wait = json_number(share, "wait");
	cJSON_DeleteItemFromObjectCaseSensitive(record, "hours");
	cJSON *to = json_object(record, "hours");
	replace(to, "useful", busy * useful);
	replace(to, "transfer", busy * (1 - useful - wait));
	replace(to, "hung", p->per_rank * ranks * hung_h);
	replace(to, "idle", fmax(0, p->all - p->per_rank * ranks) * elapsed_h);
	put_waits(to, json_item(record, "wait_s"), busy * wait);
}

void record_put_hours(cJSON *record)
{
	struct processors p = processors_of(record);
	double ranks = json_number(record, "ranks"), elapsed_h = json_number(record, "elapsed_s") / SECONDS_PER_HOUR;
	double hung_h = fmax(0, fmin(elapsed_h, json_number_or(record, "hung_s", 0) / SECONDS_PER_HOUR));
	replace(record, "core_hours", p.all * elapsed_h);
	replace(record, "hung_core_hours", p.per_rank * ranks * hung_h);
	put_parts(record, &p, ranks, elapsed_h, hung_h);
	for (cJSON *x = cJSON_GetObjectItemCaseSensitive(record, "issues"), *row = x != NULL ? x->child : NULL;
	     row != NULL; row = row->next)
		if (cJSON_IsObject(row))
			replace(row, "loss_core_hours", json_number(row, "loss_s") * p.per_rank / SECONDS_PER_HOUR);
}
