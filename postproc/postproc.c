/* postproc.c - see postproc.h. */
#include "postproc/postproc.h"
#include "postproc/analysis.h"
#include "postproc/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void take_result(const struct analysis *a, char *json, struct postproc_result *ret_result)
{
	*ret_result = (struct postproc_result){.json = json, .complete = a->as_wanted, .lost = a->lost};
	snprintf(ret_result->policy, sizeof(ret_result->policy), "%s",
		 json_text(json_item(a->root, "job"), "policy", ""));
}

/* Where the events go for the time of the analysis if nobody wants the .mpix: gains do not depend on that. */
struct scratch {
	char dir[256], path[272];
};

static void scratch_make(struct scratch *x)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(x->dir, sizeof(x->dir), "%s/mpitrace-XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
	if (n >= (int)sizeof(x->dir) || mkdtemp(x->dir) == NULL)
		x->dir[0] = '\0';
	else
		snprintf(x->path, sizeof(x->path), "%s/job.mpix", x->dir);
}

static void scratch_remove(const struct scratch *x)
{
	if (x->dir[0] != '\0')
		rmdir(x->dir);
}

/* The analysis object, and the file with it; of several processes in one. */
static int finish(struct analysis *a, struct export *x, bool writes, char **ret_json, struct error *e)
{
	int code = 0;
	char *json = NULL;
	if (step_is_written_here(a->step) && (json = json_print(a->root)) == NULL)
		code = fail(e, -ENOMEM, "out of memory for the analysis");
	if (x != NULL) {
		int finished = export_finish(x, code == 0 && writes ? json : NULL, e);
		code = code == 0 ? finished : code;
	}
	if (code == 0)
		*ret_json = json;
	else
		cJSON_free(json);
	return code;
}

static int analyze(struct step *step, const char *mpix_path, unsigned nthreads, struct postproc_result *ret_result,
		   struct error *e)
{
	struct scratch scratch = {.dir = ""};
	if (mpix_path == NULL && !step->totals)
		scratch_make(&scratch);
	const char *path = mpix_path != NULL ? mpix_path : scratch.path[0] != '\0' ? scratch.path : NULL;
	struct export *x = path != NULL ? export_create(path, step) : NULL;
	struct analysis a = {.step = step, .export = x};
	char *json = NULL;
	int code = path != NULL && x == NULL ? fail(e, -ENOMEM, "%s: out of memory", path) : 0;
	if (code == 0)
		code = analysis_run(&a, nthreads, x != NULL ? export_visitor(x) : NULL, e);
	if (code < 0 && x != NULL && export_error(x) != NULL)
		*e = *export_error(x);
	if (code == 0)
		code = finish(&a, x, mpix_path != NULL, &json, e);
	else if (x != NULL)
		export_finish(x, NULL, e);
	scratch_remove(&scratch);
	if (code == 0 && json != NULL)
		take_result(&a, json, ret_result);
	analysis_done(&a);
	return code;
}

int postproc_analyze(char *const *paths, size_t npaths, const char *mpix_path, unsigned nthreads,
		     struct postproc_result *ret_result, struct error *e)
{
	return postproc_analyze_by(NULL, paths, npaths, mpix_path, nthreads, ret_result, e);
}

int postproc_analyze_by(struct peers *peers, char *const *paths, size_t npaths, const char *mpix_path,
			unsigned nthreads, struct postproc_result *ret_result, struct error *e)
{
	struct step step = {0};
	*ret_result = (struct postproc_result){.json = NULL};
	int code = step_load(paths, npaths, nthreads, &step, e);
	step.peers = peers;
	if (code == 0)
		code = analyze(&step, mpix_path, nthreads, ret_result, e);
	step_done(&step);
	return code;
}

int postproc_totals(char *const *paths, size_t npaths, unsigned nthreads, struct postproc_result *ret_result,
		    struct error *e)
{
	struct step step = {0};
	struct step_how how = {.nthreads = nthreads, .pass_over_files = true, .totals = true};
	int code = step_load_with(paths, npaths, &how, &step, e);
	if (code == 0)
		code = analyze(&step, NULL, nthreads, ret_result, e);
	step_done(&step);
	return code;
}

int postproc_topology(char *const *paths, size_t npaths, char **ret_json, struct error *e)
{
	struct step step = {0};
	int code = step_load(paths, npaths, 1, &step, e);
	struct analysis a = {.step = &step};
	if (code == 0) {
		a.root = cJSON_CreateObject();
		if (a.root == NULL || analysis_job(&a) < 0 || analysis_topology(&a) < 0 ||
		    (*ret_json = cJSON_PrintUnformatted(a.root)) == NULL)
			code = fail(e, -ENOMEM, "out of memory");
		cJSON_Delete(a.root);
	}
	step_done(&step);
	return code;
}
