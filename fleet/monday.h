/* monday.h - what somebody should do this week: at most ten sentences, ordered by the core-hours of the
 * week before that could be had back, each with whom to write to and texts for them; and what has become of those of
 * the Monday before. */
#pragma once

#include "fleet/db.h"

#include "base/vec.h"

#include <stdio.h>

#define MONDAY_WEEK_S (7 * FLEET_SECONDS_PER_DAY)

/* A text for somebody, ready to be sent; ours to free. */
struct monday_letter {
	char *to; /* a user; "" for who runs the machine */
	char *text;
	char *link; /* the page that it is about, or "" */
};

struct monday_sentence {
	const char *kind;
	char *key; /* the same key: the same matter in another week */
	char *text;
	double core_hours;
	VEC(struct monday_letter) letters;
};

struct monday_old {
	char *text;
	double then, now; /* core-hours */
};

struct monday {
	int64_t from, until; /* seconds since 1970 */
	double jobs;	     /* of the week */
	double core_hours;   /* of all jobs of the week */
	double not_known;    /* of them: nobody knows how they were spent */
	double saving;	     /* of them, at most: sentences overlap */
	VEC(struct monday_sentence) sentences;
	VEC(struct monday_old) old;
};

/* The Monday before `now`, at midnight, UTC. */
int64_t monday_before(int64_t now);
/* The end of the last week that ended before `now`, or had jobs. */
int monday_last(struct fleet *f, int64_t now, int64_t *ret_monday, struct error *e);
/* Keep what can be said of the week before `until`, inside of the caller's transaction, with which fleet_estimate()
 * ends: pages do not find it out again. */
int monday_keep(struct fleet *f, int64_t until, struct error *e);
/* The week before `until`, after fleet_estimate(). 0 or -errno with text. */
int monday_read(struct fleet *f, int64_t until, struct monday *ret_m, struct error *e);
void monday_done(struct monday *m);
/* Keep its sentences for the Monday after. 0 or -errno. */
int monday_save(struct fleet *f, const struct monday *m, struct error *e);
/* As a mail, and as JSON. url: where the pages are, for links in letters; or NULL. */
void monday_put_mail(const struct monday *m, const char *url, FILE *out);
void monday_put_json(const struct monday *m, const char *url, FILE *out);
/* Core-hours as sentences have them: 1,234,567; 0.3. */
void monday_hours(double hours, char ret_text[32]);
/* What became of one: "gone", "less", "the same", "more". */
const char *monday_became(const struct monday_old *o);
