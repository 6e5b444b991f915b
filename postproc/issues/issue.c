/* issue.c - see issues.h: what all issues have in common: what their loss is a share of, where they are seen, words. */
#include "postproc/issues/issues.h"

#include "base/path.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double issue_total_s(const struct analysis *a)
{
	return a->threads_ns > 1 ? a->threads_ns / 1e9 : 1e-9;
}

double issue_ranks_s(const struct analysis *a)
{
	double ns = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		ns += a->ranks[r].region_ns;
	return ns > 1 ? ns / 1e9 : 1e-9;
}

double issue_run_s(const struct analysis *a)
{
	double s = a->longest_region_ns * a->ranks_seen / 1e9;
	return s > 1e-9 ? s : 1e-9;
}

#define LATENCY_MAX_S 50e-6 /* of a message: slower than Ethernet between nodes */
#define BANDWIDTH_MIN 100e6 /* bytes a second of a rank */

double issue_moving_max_s(double calls, double bytes, double steps)
{
	return calls * steps * LATENCY_MAX_S + bytes / BANDWIDTH_MIN;
}

const char *issue_ranks_text(const struct issue *f, char ret_text[ISSUE_RANKS_TEXT])
{
	const uint32_t *r = f->ranks;
	if (f->nranks == 1)
		snprintf(ret_text, ISSUE_RANKS_TEXT, "rank %u", r[0]);
	else if (f->nranks == 2)
		snprintf(ret_text, ISSUE_RANKS_TEXT, "ranks %u and %u", r[0], r[1]);
	else if (f->nranks == 3)
		snprintf(ret_text, ISSUE_RANKS_TEXT, "ranks %u, %u and %u", r[0], r[1], r[2]);
	else
		snprintf(ret_text, ISSUE_RANKS_TEXT, "the ranks named");
	return ret_text;
}

void issue_add_rank(struct issue *f, uint32_t rank)
{
	for (unsigned i = 0; i < f->nranks; i++)
		if (f->ranks[i] == rank)
			return;
	f->more_ranks |= f->nranks == ISSUE_RANKS_MAX;
	if (f->nranks < ISSUE_RANKS_MAX)
		f->ranks[f->nranks++] = rank;
}

void issue_add_another_rank(struct issue *f, uint32_t rank)
{
	if (f->nranks < ISSUE_RANKS_ALL_MAX)
		f->ranks[f->nranks++] = rank;
}

void issue_add_pair(struct issue *f, uint32_t a, uint32_t b)
{
	for (unsigned i = 0; i < f->npairs; i++)
		if (f->pairs[i][0] == a && f->pairs[i][1] == b)
			return;
	if (f->npairs == ISSUE_PAIRS_MAX)
		return;
	f->pairs[f->npairs][0] = a;
	f->pairs[f->npairs++][1] = b;
}

void issue_add_site(struct issue *f, uint32_t site)
{
	for (unsigned i = 0; i < f->nsites; i++)
		if (f->sites[i] == site)
			return;
	if (site != NONE && f->nsites < ISSUE_SITES_MAX)
		f->sites[f->nsites++] = site;
}

const char *duration_text(double seconds, char *text)
{
	snprintf(text, 32, "%.31s", fmt_words(fmt_time(seconds)).s);
	return text;
}

const char *bytes_text(double bytes, char *text)
{
	snprintf(text, 32, "%.31s", fmt_plain(fmt_bytes(bytes)).s);
	return text;
}

const char *site_text(const struct step *s, uint32_t site, char *text, size_t size)
{
	const struct site *x = site == NONE ? NULL : &s->sites.at[site];
	text[0] = '\0';
	if (x == NULL || x->op == NONE)
		return text;
	if (x->file != NULL)
		snprintf(text, size, " at %s in %s (%.60s:%d)", s->ops.at[x->op],
			 x->function != NULL ? x->function : "?", path_name(x->file), x->line);
	else if (x->function != NULL)
		snprintf(text, size, " at %s in %.80s", s->ops.at[x->op], x->function);
	else
		snprintf(text, size, " at %s", s->ops.at[x->op]);
	return text;
}

const char *share_of_site(const struct step *s, uint32_t site, const char *words, char *text, size_t size)
{
	size_t n = strlen(words);
	if (*site_text(s, site, text + n, size - n) != '\0')
		memcpy(text, words, n);
	else
		*text = '\0';
	return text;
}

double issue_loss_of_s(const struct analysis *a, const struct issue *f)
{
	return f->of_s > 0 ? f->of_s : issue_total_s(a);
}

double issue_score(const struct analysis *a, const struct issue *f)
{
	double share = f->replayed ? fmax(0, f->gain) : f->loss_s / issue_loss_of_s(a, f);
	return fmin(1, f->severity > 0 ? f->severity : 4 * share);
}
