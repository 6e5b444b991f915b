/* polling.c - the issue of polling: tests, again and again, that found nothing. Between two of them a rank may have
 * computed, so only the time in them is counted; for whom it waited in them, the wait state says. */
#include "postproc/issues/issues.h"
#include "base/units.h"

#include <stdio.h>

struct polls {
	uint64_t calls;
	uint32_t site; /* of the largest part */
	double site_ns;
};

static void add_rank(const struct analysis *a, uint32_t rank, struct polls *of)
{
	const struct process *p = a->step->ranks[rank];
	for (size_t i = 0; p != NULL && i < p->sigs.n; i++) {
		const struct sig *sig = &p->sigs.at[i];
		double ns = (double)sig->ticks * p->ns_per_tick;
		if (!sig->defined || (sig->call.flags & SIG_POLLS) == 0 || p->threads.at[sig->thread].progress)
			continue;
		of->calls += sig->calls;
		if (ns > of->site_ns) {
			of->site_ns = ns;
			of->site = sig->site;
		}
	}
}

/* For whom: the longest first. */
static void add_waits(const struct analysis *a, struct issue *f)
{
	const struct wait_row *most = NULL;
	char text[32];
	for (size_t i = 0; i < a->tally.waits.rows.n; i++) {
		const struct wait_row *r = &a->tally.waits.rows.at[i];
		if (r->state == POLLING && r->causer != NONE && (most == NULL || r->ns > most->ns))
			most = r;
	}
	if (most == NULL)
		return;
	size_t len = strlen(f->what);
	issue_add_pair(f, most->causer, most->rank);
	snprintf(f->what + len, sizeof(f->what) - len, " %s of it was waiting for others, most of all for rank %u.",
		 duration_text((double)a->tally.waits.total_ns[POLLING] / 1e9, text), most->causer);
}

void issue_polling(const struct analysis *a, struct issue *f)
{
	struct polls all = {.site = NONE};
	char total[32], place[256];
	for (uint32_t r = 0; r < a->step->nranks; r++) {
		f->loss_s += a->ranks[r].polling_ns / 1e9;
		add_rank(a, r, &all);
	}
	f->metric = SHARE_NAME(a, " in unsuccessful tests");
	f->value = f->loss_s / issue_total_s(a);
	f->threshold = WAIT_SHARE_MIN;
	f->found = f->value >= f->threshold;
	if (!f->found)
		return;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		if (a->ranks[r].polling_ns >= WAIT_SHARE_MIN * a->ranks[r].region_ns)
			issue_add_rank(f, r);
	issue_add_site(f, all.site);
	snprintf(f->what, sizeof(f->what), "%s unsuccessful tests took %s (total over ranks)%s.",
		 fmt_count((double)all.calls).s, duration_text(f->loss_s, total),
		 share_of_site(a->step, all.site, ", mostly", place, sizeof(place)));
	add_waits(a, f);
	snprintf(f->why, sizeof(f->why),
		 "Polling keeps a processor busy without progress. Time between two tests counts as useful, whether it "
		 "is work or only the loop around them.");
	snprintf(f->next, sizeof(f->next),
		 "Without other work, wait instead: MPI_Wait, or MPI_Probe for MPI_Iprobe. With other work, test less "
		 "often, after larger pieces of it.");
}
