/* callsites.c - "callsites": where in the source the calls stand; exact calls, time and bytes (bytes.h). "stacks" of
 * "frames": who called, where that was recorded. */
#include "postproc/analysis.h"
#include "postproc/lines/lines.h"
#include "postproc/lines/modules_shown.h"
#include "postproc/read/names.h"

#include <math.h>
#include <stdio.h>

struct site_total {
	uint64_t calls, bytes;
	double ns;
	int64_t wait_ns;
};

static void add_process(struct site_total *totals, const struct process *p)
{
	for (size_t i = 0; i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		if (sig->site == NONE)
			continue;
		struct site_total *t = &totals[sig->site];
		t->calls += sig->calls;
		t->ns += (double)sig->ticks * p->ns_per_tick;
		t->bytes += sig->moved_bytes;
	}
}

static void add_waits(struct site_total *totals, const struct waits *w)
{
	for (size_t i = 0; i < w->rows.n; i++)
		if (w->rows.at[i].site != NONE && w->rows.at[i].state != LATE_SENDER_WRONG_ORDER &&
		    w->rows.at[i].state != LATE_COMPLETE)
			add_ns(&totals[w->rows.at[i].site].wait_ns, w->rows.at[i].ns);
}

/* A short form stands only where there is one that differs. */
static void put_short(cJSON *row, const char *name, char *text)
{
	if (text != NULL)
		json_put_text(row, name, text);
	free(text);
}

static void put_place(const struct step *s, cJSON *row, const struct site *site)
{
	char address[32];
	json_put_text(row, "file", site->file);
	json_put_null_or(row, "line", site->line > 0 ? site->line : NAN);
	json_put_text(row, "function", site->function);
	if (site->function != NULL)
		put_short(row, "function_short", name_short(site->function));
	json_put_text(row, "module", site->module == NONE ? NULL : s->modules.at[site->module].path);
	if (site->module != NONE)
		put_short(row, "module_short", module_short(s->modules.at[site->module].path));
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)site->offset);
	json_put_text(row, "address", address);
}

/* How late its calls ended, where more than one rank was there at the same logical step. */
static void put_lateness(cJSON *row, const struct late_site *late)
{
	if (late == NULL || late->calls == 0)
		return;
	cJSON *to = json_object(row, "lateness");
	json_put(to, "calls", (double)late->calls);
	json_put_seconds(to, "total_s", late->total_ns);
	json_put_seconds(to, "max_s", late->max_ns);
	json_put(to, "max_rank", late->max_rank);
}

static void put_site(const struct step *s, cJSON *list, uint32_t id, const struct site_total *t,
		     const struct late_site *late)
{
	const struct site *site = &s->sites.at[id];
	cJSON *row = json_row(list);
	json_put(row, "id", id);
	json_put_text(row, "op", site->op == NONE ? NULL : s->ops.at[site->op]);
	put_place(s, row, site);
	json_put(row, "calls", (double)t->calls);
	json_put(row, "time_s", t->ns / 1e9);
	json_put(row, "bytes", (double)t->bytes);
	json_put_seconds(row, "wait_s", t->wait_ns);
	put_lateness(row, late);
}

static void put_stacks(const struct step *s, cJSON *root)
{
	cJSON *frames = json_array(root, "frames"), *stacks = json_array(root, "stacks");
	for (uint32_t i = 0; i < s->frames.n; i++) {
		cJSON *row = json_row(frames);
		json_put(row, "id", i);
		put_place(s, row, &s->frames.at[i]);
	}
	for (uint32_t i = 0; i < s->stacks.n; i++) {
		cJSON *row = json_row(stacks), *list;
		json_put(row, "id", i);
		list = json_array(row, "frames");
		for (uint32_t k = 0; k < s->stacks.at[i].n; k++)
			json_push(list, s->stack_frames.at[s->stacks.at[i].first + k]);
	}
	json_put(root, "stacks_left_out", (double)s->stacks_left_out);
}

int analysis_callsites(struct analysis *a)
{
	struct step *s = a->step;
	struct site_total *totals = calloc(s->sites.n + 1, sizeof(*totals));
	if (totals == NULL)
		return -ENOMEM;
	lines_resolve(s);
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			add_process(totals, s->ranks[r]);
	add_waits(totals, &a->tally.waits);
	cJSON *list = json_array(a->root, "callsites");
	for (uint32_t i = 0; i < s->sites.n; i++)
		put_site(s, list, i, &totals[i], a->swept.late != NULL ? &a->swept.late[i] : NULL);
	if (a->swept.late_left_out > 0)
		json_put(a->root, "callsites_late_left_out", (double)a->swept.late_left_out);
	if (s->stacks.n > 0)
		put_stacks(s, a->root);
	free(totals);
	return 0;
}
