/* job.c - "job": what ran, where, how long, and how it ended. */
#include "base/multi_prog.h"
#include "base/path.h"
#include "postproc/analysis.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static const cJSON *first_meta(const struct step *s)
{
	for (size_t i = 0; i < s->nodes.n; i++)
		if (s->nodes.at[i].meta != NULL)
			return s->nodes.at[i].meta;
	return NULL;
}

static const struct process *first_process(const struct step *s)
{
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL)
			return s->ranks[r];
	return NULL;
}

/* Numbers or texts of the META are both texts here. */
static void put_any(cJSON *to, const char *name, const cJSON *item)
{
	char text[32];
	if (cJSON_IsNumber(item)) {
		snprintf(text, sizeof(text), "%.0f", item->valuedouble);
		json_put_text(to, name, text);
	} else {
		json_put_text(to, name, cJSON_GetStringValue(item));
	}
}

static void put_argv(cJSON *job, const cJSON *argv)
{
	cJSON *out = json_array(job, "argv");
	const cJSON *item;
	cJSON_ArrayForEach(item, argv)
	{
		if (cJSON_IsString(item))
			json_push_text(out, item->valuestring);
	}
}

static void put_start(const struct analysis *a, cJSON *job)
{
	char text[64];
	time_t t = (time_t)a->step->realtime_start_s;
	struct tm tm;
	if (a->step->realtime_start_s < 1e9 || gmtime_r(&t, &tm) == NULL) {
		cJSON_AddNullToObject(job, "start");
		return;
	}
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_put_text(job, "start", text);
}

static void put_nodes(const struct step *s, cJSON *job)
{
	cJSON *nodes = json_array(job, "nodes");
	for (size_t i = 0; i < s->nodes.n; i++)
		json_push_text(nodes, s->nodes.at[i].name);
}

static const cJSON *member(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Only where a site has one. */
static void put_policy(cJSON *job, const char *policy)
{
	if (policy[0] != '\0')
		json_put_text(job, "policy", policy);
}

/* Only where the site limits it. */
static void put_page(cJSON *job, const cJSON *meta)
{
	if (cJSON_IsNumber(member(meta, "page")))
		json_put(job, "page_bytes", member(meta, "page")->valuedouble);
}

/* What a program's file is, however it is called: of the module whose path is that of the process, which is a name
 * without directories where the site wants no paths. */
static void put_build_id(const struct step *s, cJSON *job, const struct process *p)
{
	const char *exe = json_text(p == NULL ? NULL : p->meta, "exe", "");
	for (size_t i = 0; i < s->modules.n && *exe != '\0'; i++)
		if (strcmp(s->modules.at[i].path, exe) == 0 && s->modules.at[i].build_id[0] != '\0') {
			json_put_text(job, "build_id", s->modules.at[i].build_id);
			return;
		}
}

/* Only where the site's prolog told them. */
static void put_known(cJSON *job, const cJSON *meta, const char *name)
{
	const char *text = json_text(meta, name, "");
	if (*text != '\0')
		json_put_text(job, name, text);
}

/* "a/1,b,+3": two names, and that there were three more. Only where the site wants them. */
static void put_modules(cJSON *job, const char *text)
{
	cJSON *names = text != NULL ? json_array(job, "modules") : NULL;
	unsigned left_out = 0;
	char name[256];
	for (const char *at = text; at != NULL && *at != '\0'; at += *at == ',') {
		size_t len = strcspn(at, ",");
		snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name) - 1), at);
		if (sscanf(name, "+%u", &left_out) != 1 && len > 0)
			json_push_text(names, name);
		at += len;
	}
	if (names != NULL)
		json_put(job, "modules_left_out", left_out);
}

/* What others than the ranks know of the end; state UNKNOWN where nobody does. */
static void put_outcome(cJSON *job, const struct outcome *o)
{
	cJSON *out = json_object(job, "outcome");
	json_put_text(out, "state", outcome_name(o));
	json_put_null_or(out, "signal", o->signal != 0 ? o->signal : NAN);
	json_put_null_or(out, "by_user", o->by >= 0 ? (double)o->by : NAN);
	json_put_null_or(out, "launcher_code",
			 !o->have_launcher		   ? NAN
			 : WIFSIGNALED(o->launcher_status) ? 128 + WTERMSIG(o->launcher_status)
							   : WEXITSTATUS(o->launcher_status));
}

/* Of `srun --multi-prog` the command is a file of programs and its text: then it is the one that the process ran. */
static void put_program(cJSON *job, const cJSON *meta, const struct process *p)
{
	char name[PATH_MAX];
	const cJSON *of_process = p != NULL ? p->meta : NULL;
	const char *command = json_text(meta, "program", json_text(of_process, "exe", ""));
	const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(member(meta, "argv"), 1));
	const char *runs = cJSON_GetStringValue(cJSON_GetArrayItem(member(of_process, "argv"), 0));
	bool is_file = text != NULL && runs != NULL && strcmp(path_name(command), path_name(runs)) != 0 &&
		       multi_prog_program(text, p->rank, name, sizeof(name)) &&
		       strcmp(path_name(name), path_name(runs)) == 0;
	json_put_text(job, "program", is_file ? name : command);
}

int analysis_job(struct analysis *a)
{
	static const char *const keys[] = {"cluster", "job_id", "step_id", "restart"};
	const struct step *s = a->step;
	const cJSON *meta = first_meta(s);
	const struct process *p = first_process(s);
	const cJSON *argv = member(p == NULL ? NULL : p->meta, "argv");
	json_put_text(a->root, "schema", "mpitrace/analysis/1");
	cJSON *job = json_object(a->root, "job");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		put_any(job, keys[i], member(meta, keys[i]));
	put_program(job, meta, p);
	put_argv(job, cJSON_GetArraySize(argv) > 0 ? argv : member(meta, "argv"));
	json_put(job, "argv_missing_bytes",
		 cJSON_GetArraySize(argv) > 0 ? json_number_or(p->meta, "argv_missing_bytes", 0) : 0);
	put_nodes(s, job);
	json_put(job, "ranks", s->nranks);
	put_start(a, job);
	json_put_seconds(job, "elapsed_s", s->runtime_ns);
	json_put_seconds(job, "hung_s", s->runtime_ns - s->advanced_ns);
	put_outcome(job, &s->outcome);
	json_put_text(job, "mpi", p == NULL ? NULL : p->library);
	put_any(job, "slurm", member(meta, "slurm"));
	put_policy(job, json_text(meta, "policy", ""));
	put_page(job, meta);
	put_known(job, meta, "account");
	put_known(job, meta, "partition");
	put_modules(job, json_text(meta, "modules", NULL));
	put_build_id(s, job, p);
	return 0;
}
