/* replay.c FILE|DIRECTORY... - gives a target the inputs of its corpus, one after the other: a test without a fuzzer.
 * Each input is also given cut after every 1/16 of it, since a cut is what happens to files. Says how many there were.
 */
#include "base/buf_file.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CUTS 16

static unsigned inputs;

/* A copy of exactly its length, so that a sanitizer sees the first byte behind it. */
static void give(const struct buf *whole, size_t len_bytes)
{
	uint8_t *copy = malloc(len_bytes > 0 ? len_bytes : 1);
	if (copy == NULL)
		abort();
	memcpy(copy, whole->data, len_bytes);
	LLVMFuzzerTestOneInput(copy, len_bytes);
	free(copy);
}

static int replay_file(const char *path)
{
	_cleanup_buf_ struct buf whole = {0};
	if (buf_file(&whole, path, SIZE_MAX) < 0) {
		fprintf(stderr, "%s: cannot read\n", path);
		return 1;
	}
	fprintf(stderr, "%s\n", path); /* the last one that is named is the one that failed */
	for (size_t i = 0; i <= CUTS; i++)
		give(&whole, whole.len_bytes * i / CUTS);
	inputs++;
	return 0;
}

static int replay(const char *path)
{
	struct stat st;
	int failed = 0;
	DIR *dir = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
	const struct dirent *entry;
	if (dir == NULL)
		return replay_file(path);
	while ((entry = readdir(dir)) != NULL) {
		char *full = NULL;
		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&full, "%s/%s", path, entry->d_name) < 0)
			abort();
		failed |= replay_file(full);
		free(full);
	}
	closedir(dir);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0;
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	printf("%u inputs\n", inputs);
	return failed != 0 || inputs == 0;
}
