/* step_files.h - a directory of the test's own with a segment file as a program leaves it, and what the agent makes of
 * it. */
#pragma once

#include "collect/output.h"
#include "collect/process.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE 4096u
#define SLOT 4096u
#define AREA_AT SEGFILE_HEAD_BYTES
#define DEFS_AT (AREA_AT + PAGE)
#define TOTALS_AT (DEFS_AT + PAGE)
#define RING_AT (TOTALS_AT + 2 * PAGE)
#define FILE_BYTES (RING_AT + RING_SEGMENTS * SLOT)

extern char dir[];
extern char segfile_path[PATH_MAX - 16], spill_path[PATH_MAX];

/* Before and after each test. */
void make_dir(void);
void remove_dir(void);
void write_file(const char *path, const void *bytes, size_t len_bytes);

struct output output_to(const char *wanted);
/* Files of this process cannot become longer. */
void limit_file(size_t len_bytes);
/* In the file as it is on disk. */
unsigned blocks_of(const char *path, enum mpic_kind kind);

struct segfile *map_segfile(void);
void *at(struct segfile *f, size_t offset);
/* One thread with definitions, totals in two regions, and a ring of free segments. */
struct segfile *make_segfile(void);
