/* show_epochs.c - `show --epochs`: what a run falls into, as text or JSON. In: .mpix chunks.  Out: stdout. */
#include "base/units.h"
#include "cli/show.h"
#include "postproc/protocol/epochs_report.h"

#define SHOWN 20u

static struct fmt count_text(double n)
{
	return fmt_plain(fmt_count(n));
}

static void put_head(const cJSON *x)
{
	printf("Epochs      %s: %s, %s; %s\n", count_text(json_number_or(x, "count", 0)).s,
	       fmt_many(json_number_or(x, "messages", 0), "message").s,
	       fmt_plain(fmt_bytes(json_number_or(x, "bytes", 0))).s,
	       fmt_many(json_number_or(x, "collectives", 0), "collective").s);
	if (json_number_or(x, "largest_messages", 0) > 0)
		printf("            largest: epoch %.0f, %s\n", json_number_or(x, "largest", 0),
		       fmt_many(json_number_or(x, "largest_messages", 0), "message").s);
	if (json_number_or(x, "deepest", 0) > 0)
		printf("            deepest: epoch %.0f, %s in flight at once; most bytes at once %s\n",
		       json_number_or(x, "deepest", 0), fmt_many(json_number_or(x, "deepest_messages", 0), "message").s,
		       fmt_plain(fmt_bytes(json_number_or(x, "deepest_bytes", 0))).s);
	if (json_number_or(x, "unknown_buffers", 0) > 0)
		printf("            buffers not known: %s with more than %u messages\n",
		       fmt_many(json_number_or(x, "unknown_buffers", 0), "epoch").s, EPOCH_MESSAGES_MAX);
}

static void put_rows(const cJSON *list, const char *title)
{
	unsigned n = 0;
	printf("\n%-12s %14s %14s %8s %10s %12s %10s %12s\n", title, "from", "to", "ranks", "messages", "collectives",
	       "in flight", "bytes");
	for (const cJSON *x = list != NULL ? list->child : NULL; x != NULL && n < SHOWN; x = x->next, n++) {
		const cJSON *buffers = json_item(x, "buffers");
		printf("%12.0f %12.6f s %12.6f s %8.0f %10.0f %12.0f ", json_number_or(x, "epoch", 0),
		       json_number_or(x, "from_s", 0), json_number_or(x, "to_s", 0), json_number_or(x, "ranks", 0),
		       json_number_or(x, "messages", 0), json_number_or(x, "collectives", 0));
		if (cJSON_IsObject(buffers))
			printf("%10.0f %12.0f\n", json_number_or(buffers, "total", 0),
			       json_number_or(buffers, "bytes", 0));
		else
			printf("%10s %12s\n", "not known", "not known");
	}
}

static void put_super(const cJSON *list)
{
	for (const cJSON *x = list != NULL ? list->child : NULL; x != NULL; x = x->next) {
		double over = json_number_or(x, "over", 0);
		printf("\nSuper epochs with at most %s: %s", fmt_many(json_number_or(x, "budget", 0), "buffer").s,
		       count_text(json_number_or(x, "count", 0)).s);
		if (over > 0)
			printf(" (epochs that alone need more: %s)", count_text(over).s);
	}
	if (list != NULL && list->child != NULL)
		putchar('\n');
}

static void put_text(const cJSON *x)
{
	put_head(x);
	put_rows(json_item(x, "list"), "First");
	if (json_number_or(x, "count", 0) > SHOWN)
		printf("  ... %s more\n", count_text(json_number_or(x, "count", 0) - SHOWN).s);
	if (json_number_or(x, "count", 0) > SHOWN && json_first(x, "worst") != NULL)
		put_rows(json_item(x, "worst"), "Deepest");
	put_super(json_item(x, "super"));
}

int show_epochs(struct mpix_file *f, const char *path, const cJSON *analysis, const struct epoch_choice *choice,
		bool json, struct error *e)
{
	cJSON *epochs;
	int code = epochs_of_trace(f, path, analysis, choice->budgets, choice->nbudgets, &epochs, e);
	if (code < 0)
		return code;
	if (json) {
		char *text = json_print(epochs);
		printf("{\"epochs\":%s}\n", text != NULL ? text : "null");
		cJSON_free(text);
	} else {
		put_text(epochs);
	}
	cJSON_Delete(epochs);
	return 0;
}
