/* cli_place.h - a directory of a test's own, with files in it. */
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char place[] = "/tmp/mpitrace-cli-XXXXXX";

static void begin(void)
{
	cr_assert_not_null(mkdtemp(place));
	cr_assert_eq(chmod(place, 0755), 0);
}

static void end(void)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", place);
	cr_assert_eq(system(command), 0);
}

static const char *below(const char *name)
{
	static char path[4][128];
	static unsigned turn;
	char *to = path[turn++ % 4];
	snprintf(to, sizeof(path[0]), "%s/%s", place, name);
	return to;
}

static void put(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(below(name), "w");
	cr_assert_not_null(f);
	cr_assert_eq(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}
