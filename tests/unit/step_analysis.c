/* step_analysis.c - see step_analysis.h. */
#include "step_analysis.h"
#include "postproc/postproc.h"
#include "together.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *make_directory(void)
{
	char *dir = strdup("/tmp/mpitrace-test-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	return dir;
}

char *file_in(const char *dir, const char *name)
{
	static char path[512];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

void remove_directory(char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	while (d != NULL && (entry = readdir(d)) != NULL)
		unlinkat(dirfd(d), entry->d_name, 0);
	if (d != NULL)
		closedir(d);
	rmdir(dir);
	free(dir);
}

/* For whoever compares analyses with their schema: MPITRACE_ANALYSES names a directory that takes them all. */
static void keep(const char *json)
{
	const char *dir = getenv("MPITRACE_ANALYSES");
	char path[512];
	int fd = -1;
	if (dir != NULL && snprintf(path, sizeof(path), "%s/XXXXXX.json", dir) < (int)sizeof(path))
		fd = mkstemps(path, (int)strlen(".json"));
	FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (f != NULL) {
		fputs(json, f);
		fclose(f);
	}
}

static cJSON *take(struct postproc_result *result)
{
	cJSON *root = cJSON_Parse(result->json);
	keep(result->json);
	free(result->json);
	cr_assert_not_null(root);
	return root;
}

static size_t equal_bytes(const char *a, const char *b)
{
	size_t n = 0;
	while (a[n] != '\0' && a[n] == b[n])
		n++;
	return n;
}

/* Several processes find the same, to the byte: three, or as many as MPITRACE_PROCESSES says. */
static void analyse_by_several(const char *dir)
{
	const char *wanted = getenv("MPITRACE_PROCESSES");
	uint32_t processes = wanted != NULL ? (uint32_t)atoi(wanted) : 3;
	struct postproc_result result = {0};
	struct error e = {0};
	char *paths[] = {(char *)dir}, *out = make_directory(), one[300], all[300];
	size_t bytes, all_bytes;
	if (processes < 2) {
		remove_directory(out);
		return;
	}
	snprintf(one, sizeof(one), "%s/one.mpix", out);
	snprintf(all, sizeof(all), "%s/all.mpix", out);
	cr_assert_eq(postproc_analyze(paths, 1, one, 1, &result, &e), 0, "%s", e.text);
	char *json = analyse_together(dir, all, processes, NULL);
	char *first = bytes_of(one, &bytes), *second = bytes_of(all, &all_bytes);
	size_t same = equal_bytes(json, result.json), from = same > 60 ? same - 60 : 0;
	cr_expect(json[same] == result.json[same], "%.120s instead of %.120s", json + from, result.json + from);
	cr_expect(bytes == all_bytes && memcmp(first, second, bytes) == 0, "the trace differs");
	free(json);
	free(result.json);
	free(first);
	free(second);
	remove_directory(out);
}

cJSON *analyse(const char *dir)
{
	analyse_by_several(dir);
	struct postproc_result result = {0};
	struct error e = {0};
	char *paths[] = {(char *)dir};
	cr_assert_eq(postproc_analyze(paths, 1, NULL, 2, &result, &e), 0, "%s", e.text);
	return take(&result);
}

cJSON *analyse_totals(const char *dir)
{
	struct postproc_result result = {0};
	struct error e = {0};
	char *paths[] = {(char *)dir};
	cr_assert_eq(postproc_totals(paths, 1, 2, &result, &e), 0, "%s", e.text);
	return take(&result);
}

cJSON *analyse_program(struct program *p, double end_us)
{
	char *dir = make_directory();
	program_write(p, dir, end_us, -1);
	program_destroy(p);
	cJSON *root = analyse(dir);
	remove_directory(dir);
	return root;
}

const cJSON *node_at(const cJSON *root, const char *path)
{
	char copy[256], *save = NULL;
	snprintf(copy, sizeof(copy), "%s", path);
	for (char *name = strtok_r(copy, ".", &save); name != NULL; name = strtok_r(NULL, ".", &save))
		root = cJSON_GetObjectItemCaseSensitive(root, name);
	return root;
}

double field(const cJSON *row, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

double at_path(const cJSON *root, const char *path)
{
	const cJSON *item = node_at(root, path);
	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static bool fits(const cJSON *row, va_list ap)
{
	const char *key;
	while ((key = va_arg(ap, const char *)) != NULL)
		if (field(row, key) != va_arg(ap, int))
			return false;
	return true;
}

cJSON *find(const cJSON *root, const char *array, ...)
{
	cJSON *row;
	cJSON_ArrayForEach(row, node_at(root, array))
	{
		va_list ap;
		va_start(ap, array);
		bool yes = fits(row, ap);
		va_end(ap);
		if (yes)
			return row;
	}
	return NULL;
}

cJSON *find_text(const cJSON *root, const char *array, const char *key, const char *text)
{
	cJSON *row;
	cJSON_ArrayForEach(row, node_at(root, array))
	{
		const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, key));
		if (value != NULL && strcmp(value, text) == 0)
			return row;
	}
	return NULL;
}

const char *text_at(const cJSON *row, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(row, key));
	return text != NULL ? text : "";
}

double element(const cJSON *row, const char *key, int i)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItem(row, key), i)->valuedouble;
}

cJSON *issue(const cJSON *root, const char *name)
{
	return find_text(root, "issues", "issue", name);
}

int id_of(const cJSON *root, unsigned line)
{
	const cJSON *site;
	cJSON_ArrayForEach(site, node_at(root, "callsites"))
	{
		unsigned long address = strtoul(cJSON_GetObjectItem(site, "address")->valuestring, NULL, 16);
		if (address / 16 % 0x1000 == line)
			return (int)field(site, "id");
	}
	return -1;
}

const cJSON *wait_row(const cJSON *root, const char *state, int rank)
{
	const cJSON *row;
	cJSON_ArrayForEach(row, node_at(root, "wait_states"))
	{
		if (strcmp(text_at(row, "state"), state) == 0 && field(row, "rank") == rank)
			return row;
	}
	return NULL;
}

double waited(const cJSON *root, const char *state, int rank)
{
	const cJSON *row = wait_row(root, state, rank);
	return row != NULL ? field(row, "seconds") : 0;
}
