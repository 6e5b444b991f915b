/* postproc.c - see postproc.h. */
#include "postproc/postproc.h"
#include "postproc/analysis.h"

int postproc_analyze(char *const *paths, size_t npaths, const char *mpix_path, unsigned nthreads,
		     struct postproc_result *ret_result, struct error *e)
{
	struct step step = {0};
	struct analysis a = {.step = &step};
	char *json = NULL;
	int code = step_load(paths, npaths, nthreads, &step, e);
	if (code == 0)
		code = analysis_run(&a, nthreads, e);
	if (code == 0) {
		json = cJSON_PrintUnformatted(a.root);
		code = json == NULL ? fail(e, -ENOMEM, "out of memory for the analysis") : 0;
	}
	if (code == 0)
		*ret_result = (struct postproc_result){json, a.complete};
	else
		cJSON_free(json);
	analysis_done(&a);
	step_done(&step);
	return code;
}
