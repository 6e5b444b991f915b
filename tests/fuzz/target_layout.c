/* target_layout.c - a step's layout file (docs/STEPDIR.md): refused, or read and written again as the same. */
#include "tests/fuzz/fuzz.h"

#include "format/layout.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIST_MAX 16

static char directory[] = "/tmp/mpitrace-fuzz-XXXXXX";
static int dir_fd = -1;

static void remove_directory(void)
{
	unlinkat(dir_fd, LAYOUT_FILENAME, 0);
	rmdir(directory);
}

static void make_directory(void)
{
	if (dir_fd >= 0)
		return;
	fuzz_check(mkdtemp(directory) != NULL);
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fuzz_check(dir_fd >= 0);
	atexit(remove_directory);
}

static void put(const uint8_t *data, size_t len_bytes)
{
	int fd = openat(dir_fd, LAYOUT_FILENAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fuzz_check(fd >= 0 && write(fd, data, len_bytes) == (ssize_t)len_bytes);
	close(fd);
}

static void ask(const struct layout *l)
{
	uint32_t numbers[LIST_MAX];
	for (int key = 0; key < LAYOUT_KEYS; key++) {
		fuzz_check(layout_has(l, key) || layout_text(l, key)[0] == '\0');
		layout_number(l, key, 0);
		fuzz_check(layout_list(l, key, numbers, LIST_MAX) <= LIST_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct layout l, again;
	make_directory();
	put(data, len_bytes);
	if (layout_read(dir_fd, true, &l, NULL) < 0)
		return 0;
	ask(&l);
	fuzz_check(layout_write(dir_fd, &l, NULL) == 0 && layout_read(dir_fd, true, &again, NULL) == 0);
	for (int key = 0; key < LAYOUT_KEYS; key++)
		fuzz_check(strcmp(layout_text(&l, key), layout_text(&again, key)) == 0);
	layout_done(&again);
	layout_done(&l);
	return 0;
}
