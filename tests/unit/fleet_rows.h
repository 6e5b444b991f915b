/* fleet_rows.h - a fleet's database with a row of everything, and a page of it as people read it. */
#pragma once

#include "fleet/report.h"

/* Names by their numbers in the database. */
enum name { ANN = 1, BOB, PHYS, HALO, FFT, LOAD_IMBALANCE, LATE_SENDER, BUILD, MPI_1, N1, N2, CLUSTER, MPI_2, N3 };

/* Three jobs, A, B and C, numbered from 1 on: one that waited, one with processors that were idle, and one that hung,
 * of which not all is known. What is estimated of them is put by hand. fleet_close() frees. */
struct fleet rows_fleet(void);
void rows_run(struct fleet *f, const char *sql);
/* As it came; free(). */
char *rows_page(struct fleet *f, const struct fleet_report *r, const char *name);
/* What people read of it: no tags, "|" before each cell, "/" before each row, a blank for blanks. free(). */
char *rows_text(const char *page);
/* Texts that stand one behind the other, the last one NULL. Fails the test otherwise. */
void rows_hold(const char *text, const char *const *wanted);
/* Each tag is closed in its order, and a row of a table has as many cells as its head. Fails the test otherwise. */
void rows_sound(const char *page);
/* A page that is sound and has these texts; raw: and these, as they came, or NULL. */
void rows_expect(struct fleet *f, const struct fleet_report *r, const char *name, const char *const *texts,
		 const char *const *raw);

#define HOLDS(...) \
	(const char *const[]) \
	{ \
		__VA_ARGS__, NULL \
	}
#define ROWS_LEGEND "useful: outside MPI in MPI, not waiting in MPI, waiting for others "
#define ROWS_FOOT \
	"Made by mpitrace. A core-hour is an allocated processor for an hour, or, where they are not known, a rank. " \
	"Times are UTC. "
