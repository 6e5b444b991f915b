/* epilog.c - see epilog.h. In: the job's runs in this node's spool.  Out: a warden that ends them. */
#include "spank/epilog.h"
#include "spank/slurm.h"
#include "spank/start.h"
#include "spank/warden/spool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RUNS_MAX 64

struct noted {
	char prefix[32]; /* "<job>." */
	char runs[RUNS_MAX][SPOOL_NAME_MAX];
	int nruns;
};

static int note_run(int live_fd, const char *name, void *context)
{
	struct noted *n = context;
	if (strncmp(name, n->prefix, strlen(n->prefix)) != 0 || n->nruns == RUNS_MAX ||
	    snprintf(n->runs[n->nruns], SPOOL_NAME_MAX, "%s", name) >= SPOOL_NAME_MAX)
		return 0;
	spool_end_run(live_fd, name); /* a requeued job may begin right after us, and is not ours to end */
	n->nruns++;
	return 0;
}

void epilog_begin(const struct config *c, uint32_t job_id)
{
	struct noted n = {.nruns = 0};
	struct error e = {""};
	const char *args[RUNS_MAX + 2] = {"epilog"};
	int live_fd = spool_open(c->spool, "live", false, NULL);
	if (live_fd < 0)
		return; /* nothing was ever traced here */
	snprintf(n.prefix, sizeof(n.prefix), "%u.", job_id);
	spool_each(live_fd, note_run, &n);
	close(live_fd);
	for (int i = 0; i < n.nruns; i++)
		args[1 + i] = n.runs[i];
	if (n.nruns > 0 && start_warden(c, args, -1, &e) < 0)
		sl_verbose("job %u: %s", job_id, e.text);
}
