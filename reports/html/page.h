/* page.h - the page under construction: what sections write with. Strings from outside go through
 * put_text only; put() takes the section's own markup and numbers. */
#pragma once

#include "reports/html/model.h"
#include "base/units.h"
#include "reports/text/place.h"

#include <stdio.h>

#define PLACES_MAX 256

/* Where its links to intervals lead, in the order of the page. */
struct places {
	struct place at[PLACES_MAX];
	size_t n;
};

struct page {
	FILE *out;
	const struct model *model;
	struct places *places; /* links are noted there; or NULL */
};

/* Markup of ours; arguments are numbers, struct fmt texts and constants, never strings from
 * outside. */
void put(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A string from outside, escaped for text and for quoted attributes alike; at most max_chars
 * characters are shown, then an ellipsis. Invalid UTF-8, control and direction-changing characters
 * are shown as \xNN or \uNNNN. */
void put_text(struct page *p, const char *untrusted, unsigned max_chars);

/* The first bytes of one. */
void put_text_part(struct page *p, const char *untrusted, size_t bytes);

#define NAME_CHARS 80
#define TITLE_CHARS 300 /* what is shown under the pointer */
#define SENTENCE_CHARS 600

/* "N what" under a list that was cut; nothing when left_out is 0. */
void put_left_out(struct page *p, size_t left_out, const char *what);
/* The same for what the analysis itself left out. */
void put_not_kept(struct page *p, double left_out, const char *what);
/* "function file:line" of a call site, or the module when there is no debug information. */
void put_callsite(struct page *p, const cJSON *callsite);
/* As a link to its calls in the trace. */
void put_site_link(struct page *p, const cJSON *callsite);
/* An array of rank numbers as ranges: 0-3, 7. At most max_runs ranges. */
void put_ranks(struct page *p, const cJSON *ranks, unsigned max_runs);
/* An identifier such as late_sender in words: "late sender". */
void put_words(struct page *p, const char *identifier);

/* "mpitrace view job.mpix": what comes before the name of the trace, and after; to be pasted into a shell, whatever the
 * name. */
void put_command(struct page *p, const char *before, const char *after);
/* The one that prints the analysis of this page. */
void put_json_command(struct page *p);
/* "mpitrace show --json job.mpix has all", as part of a sentence. */
void put_all_of_it(struct page *p);

/* place.c: a link into the trace around what is written until end_place(). Nothing, and false, where the page does not
 * carry the trace or the place is all of it. */
bool begin_place(struct page *p, const struct place *at);
void end_place(struct page *p, bool begun);
/* The same of a sentence, which says at its end that it is a link. */
void end_sentence(struct page *p, bool begun);
/* For an element that is no link itself and stands beside one: data-at="..." for the pointer. */
void put_place_data(struct page *p, const struct place *at);
/* The call that waited longest; else the ranks and the interval of the issue. */
struct place place_of_issue(const cJSON *issue);
struct place place_of_ranks(double first, double last);
struct place place_of_site(const cJSON *callsite);
/* A call site's calls of one rank; the rank may be NAN: of all. */
void put_site_of_rank(struct page *p, const cJSON *callsite, double rank);
/* "rank 3" as a link to it: what stands before the number. */
void put_rank_link(struct page *p, const char *before, double rank);
/* A moment, seconds, and what follows, as far as a picture needs it to be seen. */
struct place place_of_moment(const struct model *m, double at_s);

/* report.c: what every page begins and ends with. */
void html_begin(struct page *p, const char *title);
void html_end(struct page *p);

/* One part of a horizontal bar; class is one of the classes of style.css that fill. */
struct part {
	const char *class;
	double value;
};

/* A bar as wide as its cell; full is the value of the whole width. Decoration: the numbers stand
 * beside it. */
void put_bar(struct page *p, const struct part *parts, unsigned nparts, double full);
/* The same, height in pixels. */
void put_bar_of(struct page *p, const struct part *parts, unsigned nparts, double full, unsigned height);
/* The bar of computing, MPI and waiting; wait_s is a part of mpi_s. */
void put_time_bar(struct page *p, double useful_s, double mpi_s, double wait_s, double full_s);
/* Computing, MPI and waiting of all ranks from the start of the run to its end, with its axis; nothing where the
 * analysis has no windows. */
void put_time_strip(struct page *p);
/* What the three patterns of put_time_bar mean. */
void put_time_legend(struct page *p);
