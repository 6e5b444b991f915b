/* step_files.c - see step_files.h. */
#include "tests/unit/step_files.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

char dir[] = "/tmp/collect-test-XXXXXX";
char segfile_path[PATH_MAX - 16], spill_path[PATH_MAX];

void make_dir(void)
{
	cr_assert_not_null(mkdtemp(dir));
	snprintf(segfile_path, sizeof(segfile_path), "%s/1.1" SEGFILE_SUFFIX, dir);
	snprintf(spill_path, sizeof(spill_path), "%s" SPILL_SUFFIX, segfile_path);
}

void remove_dir(void)
{
	char command[PATH_MAX];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_assert_eq(system(command), 0);
}

void write_file(const char *path, const void *bytes, size_t len_bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, len_bytes), (ssize_t)len_bytes);
	close(fd);
}

struct output output_to(const char *wanted)
{
	return (struct output){.wanted_dir = wanted, .fallback_dir = dir, .name = "n1", .fd = -1};
}

void limit_file(size_t len_bytes)
{
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){len_bytes, RLIM_INFINITY}), 0);
}

unsigned blocks_of(const char *path, enum mpic_kind kind)
{
	struct mpic_file f;
	unsigned n = 0;
	cr_assert_eq(mpic_open(path, &f, NULL), 0);
	cr_assert_eq(f.damaged_bytes, 0);
	for (size_t i = 0; i < f.nblocks; i++)
		n += f.blocks[i].kind == kind;
	mpic_close(&f);
	return n;
}

struct segfile *map_segfile(void)
{
	int fd = open(segfile_path, O_RDWR | O_CREAT, 0600);
	cr_assert_eq(ftruncate(fd, FILE_BYTES), 0);
	struct segfile *f = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(f, MAP_FAILED);
	close(fd);
	return f;
}

void *at(struct segfile *f, size_t offset)
{
	return (uint8_t *)f + offset;
}

struct segfile *make_segfile(void)
{
	struct segfile *f = map_segfile();
	const struct region rows[] = {{REGION_THREAD, 0, AREA_AT, PAGE},
				      {REGION_DEFS, 0, DEFS_AT, PAGE},
				      {REGION_TOTALS, 0, TOTALS_AT, PAGE},
				      {REGION_TOTALS, 0, TOTALS_AT + PAGE, PAGE},
				      {REGION_RING, 0, RING_AT, RING_SEGMENTS * SLOT}};
	memcpy(f->regions, rows, sizeof(rows));
	f->nregions = sizeof(rows) / sizeof(rows[0]);
	f->version = SEGFILE_VERSION;
	for (unsigned i = 0; i < RING_SEGMENTS; i++)
		((struct segment *)at(f, RING_AT + i * SLOT))->len_bytes = SLOT;
	f->magic = SEGFILE_MAGIC;
	return f;
}
