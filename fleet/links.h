/* links.h - whose jobs wait because of the network: programs that spend more of their time in MPI while another program
 * runs beside them on a switch of theirs, and switches on which all programs do.
 *
 * Compared are jobs of one program, user and power of two of ranks, within one quarter of one day: what nights, days
 * and weeks have of their own is in both. One with a job of each kind gives a difference of the share of time in MPI,
 *
 *     beside:  a job of which the other program had half of its time or more on a switch of its own, less one that
 *              never had it;
 *     switch:  a job with all of its nodes there, less one with none.
 *
 * Their signed ranks (Wilcoxon, Biometrics Bulletin 1, 1945) say how sure it is, at a false discovery rate of LINK_RATE
 * among all that are compared (Benjamini and Hochberg, 1995); of several others beside a program the surest is named. A
 * cause it need not be: who always runs together with the cause is named as well as it.
 *
 * It may have become so: of the differences by time, the split with the largest two-sample rank sum is taken
 * (Wilcoxon). It counts when chance would bring one such among all splits of all that are compared in LINK_CHANGE_P of
 * reports, and medians differ by LINK_LEAST. Then those since are judged; a switch that was repaired is not named any
 * more. */
#pragma once

#include "fleet/scan.h"

#define LINK_LAST_DAYS 56 /* that are looked at */
#define LINK_LEAST 0.05	  /* of a job's time, more in MPI: the median */
#define LINK_RATE 0.001	  /* of those named of which it is chance, expected */
#define LINK_CHANGE_P 0.01
#define LINK_BLOCKS 15	  /* quarters of days with jobs of both kinds; fewer tell nothing, */
#define LINK_DAYS 5	  /* nor do those of fewer days */
#define LINK_JOBS 500000u /* of so many jobs at most, the last ones: fewer days then */
#define LINK_EVIDENCE 4	  /* pairs of jobs that are named */
#define LINK_NONE UINT32_MAX

/* Jobs of one program, user and size that began in the same quarter of a day, by their numbers in the database. */
struct link_pair {
	sqlite3_int64 with, without;
};

/* What it may have cost on a day. */
struct link_day {
	uint32_t day;
	double hours;
};

struct link_effect {
	uint32_t at;		       /* the switch; LINK_NONE: a program beside another */
	uint32_t program, user, other; /* numbers of names; 0 of a switch */
	double effect, z, q;
	uint32_t jobs, without, blocks, days;	  /* jobs of either kind in those blocks */
	double since;				  /* seconds since 1970: it became so; 0: it has been all the time */
	double since_low, since_high;		  /* surely between, at 95 % */
	double before, change_p;		  /* its effect until then; of the change, as LINK_CHANGE_P */
	struct link_pair evidence[LINK_EVIDENCE]; /* those that show it best first; 0: no more */
	VEC(struct link_day) cost;
};
typedef VEC(struct link_effect) link_list;

/* What was not compared, so that it has an end whatever the records say. */
struct link_omitted {
	uint64_t jobs;	   /* there were too many beside them */
	uint64_t programs; /* beside a program of a user, for which there were others of more jobs */
};

/* switch_of: of each of s->names, from 1 on, 0 where it is not known. Those that are found, the surest first.
 * links_done() frees. 0 or -ENOMEM. */
int links_find(const struct scan *s, const uint32_t *switch_of, link_list *ret_list, struct link_omitted *ret_omitted);
void links_done(link_list *list);

/* ---- links_db.c ---- */

/* The switches of nodes as Slurm's topology.conf has them, in place of what is known: 0 or -errno with text. */
int links_topology(struct fleet *f, const char *path, struct error *e);
/* Find them by what is known of switches; links_done() frees. 0 or -errno with text. */
int links_estimate(struct fleet *f, const struct scan *s, link_list *ret_list, struct error *e);
/* In place of those that are there, inside of the caller's transaction. */
int links_keep(struct fleet *f, const link_list *list, struct error *e);
