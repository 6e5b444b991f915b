/* step_analysis.h - analyse a program of program.h in a directory of its own and look into the
 * result. */
#pragma once

#include "program.h"

#include <cjson/cJSON.h>

/* A new directory below /tmp; the caller gives it to remove_directory(). */
char *make_directory(void);
void remove_directory(char *dir);
/* Its path, until the next one is asked for. */
char *file_in(const char *dir, const char *name);
/* Analyse a directory; fails the test if that fails. The caller deletes the object. */
cJSON *analyse(const char *dir);
/* The same from totals. */
cJSON *analyse_totals(const char *dir);
/* Write p, analyse it, destroy p. */
cJSON *analyse_program(struct program *p, double end_us);

/* a.b.c of an object; NAN when absent or no number. */
double at_path(const cJSON *root, const char *path);
/* The row of the array root.name in which all given keys have these numbers; NULL-terminated pairs
 * follow: find(root, "matrix.p2p", "src", 0, "dst", 1, NULL). */
cJSON *find(const cJSON *root, const char *array, ...) __attribute__((sentinel));
cJSON *find_text(const cJSON *root, const char *array, const char *key, const char *text);
double field(const cJSON *row, const char *key);
/* "" where there is none. */
const char *text_at(const cJSON *row, const char *key);
/* Element i of the array row.key. */
double element(const cJSON *row, const char *key, int i);
/* That wait state of a rank, or NULL; and its seconds, or 0. */
const cJSON *wait_row(const cJSON *root, const char *state, int rank);
double waited(const cJSON *root, const char *state, int rank);
/* The row of issues with that name, or NULL. */
cJSON *issue(const cJSON *root, const char *name);
/* The id of the call site at that line of a program of program.h, or -1. */
int id_of(const cJSON *root, unsigned line);
const cJSON *node_at(const cJSON *root, const char *path);
