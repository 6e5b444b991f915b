/* sec_job.c - what ran: program, place, time, versions.
 * In: job.  Out: a list of facts; a fact that is not known is not listed. */
#include "reports/html/section.h"
#include "reports/text/ended.h"

#include <math.h>
#include <string.h>

#define ARGUMENTS_MAX 24
#define NODES_MAX 12

static void fact_text(struct page *p, const char *name, const char *value)
{
	if (*value == '\0')
		return;
	put(p, "<div><dt>%s</dt><dd>", name);
	put_text(p, value, 200);
	put(p, "</dd></div>\n");
}

static void fact(struct page *p, const char *name, const char *key)
{
	fact_text(p, name, json_text(p->model->job, key, ""));
}

static size_t write_words(struct page *p, const cJSON *first, size_t max, const char *separator)
{
	size_t shown = 0;
	for (const cJSON *v = first; v != NULL && shown < max; v = v->next) {
		put(p, "%s", shown++ > 0 ? separator : "");
		put_text(p, cJSON_IsString(v) ? v->valuestring : "?", 120);
	}
	return shown;
}

static void write_command(struct page *p)
{
	size_t n = json_count(p->model->job, "argv");
	double missing = json_number_or(p->model->job, "argv_missing_bytes", 0);
	if (n == 0)
		return;
	put(p, "<div class=\"all\"><dt>Command</dt><dd><code>");
	size_t shown = write_words(p, json_first(p->model->job, "argv"), ARGUMENTS_MAX, " ");
	put(p, "</code>");
	if (n > shown)
		put(p, " and %s more arguments", fmt_count((double)(n - shown)).s);
	if (missing > 0)
		put(p, ", %s more not recorded", fmt_bytes(missing).s);
	put(p, "</dd></div>\n");
}

static void write_nodes(struct page *p)
{
	size_t n = json_count(p->model->job, "nodes");
	if (n == 0)
		return;
	put(p, "<div><dt>%s %s</dt><dd>", fmt_count((double)n).s, n == 1 ? "node" : "nodes");
	size_t shown = write_words(p, json_first(p->model->job, "nodes"), NODES_MAX, ", ");
	if (n > shown)
		put(p, " and %s more", fmt_count((double)(n - shown)).s);
	put(p, "</dd></div>\n");
}

static void write_job(struct page *p)
{
	double elapsed = json_number(p->model->job, "elapsed_s");
	const char *record = ended_record(p->model->root);
	char ended[ENDED_TEXT_MAX];
	put(p, "<dl class=\"facts\">\n");
	write_command(p);
	fact(p, "Cluster", "cluster");
	fact(p, "Job", "job_id");
	fact(p, "Step", "step_id");
	if (strcmp(json_text(p->model->job, "restart", "0"), "0") != 0)
		fact(p, "Restart", "restart");
	put(p, "<div><dt>Ranks</dt><dd>%s</dd></div>\n", fmt_count((double)model_nranks(p->model)).s);
	write_nodes(p);
	fact(p, "Started", "start");
	if (!isnan(elapsed))
		put(p, "<div><dt>Elapsed</dt><dd>%s</dd></div>\n", fmt_time(elapsed).s);
	fact(p, "MPI", "mpi");
	fact(p, "Slurm", "slurm");
	if (json_text(p->model->job, "policy", "")[0] != '\0')
		fact(p, "Policy", "policy");
	if (p->model->totals && !p->model->partial) /* it is not the job that is partial */
		record = "events not analysed yet";
	fact_text(p, "State", ended_text(p->model->root, record, ended));
	put(p, "</dl>\n");
}

static void result(struct page *p)
{
	size_t nodes = json_count(p->model->job, "nodes");
	put(p, "%s", fmt_many((double)model_nranks(p->model), "rank").s);
	if (nodes > 0)
		put(p, " on %s", fmt_many((double)nodes, "node").s);
	if (*json_text(p->model->job, "start", "") != '\0') {
		put(p, ", ");
		put_text(p, json_text(p->model->job, "start", ""), NAME_CHARS);
	}
}

static bool has_job(const struct model *m)
{
	return cJSON_IsObject(m->job);
}

const struct section section_job = {
	.id = "job",
	.title = "The job",
	.how = "What ran, where and when.",
	.has = has_job,
	.result = result,
	.write = write_job,
};
