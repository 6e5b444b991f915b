/* together.c - see together.h. */
#include "together.h"
#include "postproc/postproc.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct one {
	pthread_t thread;
	struct peers *peers;
	const char *dir, *mpix;
	struct postproc_result result;
	struct error error;
	int code;
};

static void *run(void *context)
{
	struct one *x = context;
	char *paths[] = {(char *)x->dir};
	x->code = postproc_analyze_by(x->peers, paths, 1, x->mpix, 1, &x->result, &x->error);
	x->code = peers_agree(x->peers, x->code, NULL);
	if (x->code < 0)
		peers_tell(x->peers, &x->error);
	return NULL;
}

static struct one *run_all(struct peer_group *g, const char *dir, const char *mpix, uint32_t processes)
{
	struct one *all = calloc(processes, sizeof(*all));
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1u << 20);
	for (uint32_t i = 0; i < processes; i++) {
		all[i].peers = peer_group_of(g, i);
		all[i].dir = dir;
		all[i].mpix = mpix;
		cr_assert_eq(pthread_create(&all[i].thread, &small, run, &all[i]), 0);
	}
	for (uint32_t i = 0; i < processes; i++)
		pthread_join(all[i].thread, NULL);
	pthread_attr_destroy(&small);
	return all;
}

char *analyse_together(const char *dir, const char *mpix, uint32_t processes, struct peer_counts *ret_counts)
{
	struct peer_group *g = peer_group_create(processes);
	cr_assert_not_null(g);
	struct one *all = run_all(g, dir, mpix, processes);
	for (uint32_t i = 0; i < processes; i++) {
		cr_assert_eq(all[i].code, 0, "process %u of %u: %s", i, processes, all[i].error.text);
		cr_expect_eq(all[i].result.json == NULL, i > 0);
	}
	char *json = all[0].result.json;
	if (ret_counts != NULL)
		*ret_counts = peer_group_counts(g);
	peer_group_destroy(g);
	free(all);
	return json;
}

int fail_together(const char *dir, const char *mpix, uint32_t processes, int *others, struct error *e)
{
	struct peer_group *g = peer_group_create(processes);
	struct one *all = run_all(g, dir, mpix, processes);
	int code = all[0].code;
	*e = all[0].error;
	for (uint32_t i = 1; i < processes; i++)
		others[i - 1] = all[i].code;
	free(all[0].result.json);
	peer_group_destroy(g);
	free(all);
	return code;
}

char *bytes_of(const char *path, size_t *ret_bytes)
{
	FILE *f = fopen(path, "r");
	cr_assert_not_null(f, "%s", path);
	fseek(f, 0, SEEK_END);
	*ret_bytes = (size_t)ftell(f);
	char *bytes = malloc(*ret_bytes + 1);
	rewind(f);
	cr_assert_eq(fread(bytes, 1, *ret_bytes, f), *ret_bytes);
	fclose(f);
	return bytes;
}
