/* show_text.h - numbers and words of `mpitrace show`: as on the page, in ASCII and 80 columns. */
#pragma once

#include "base/json.h"
#include "base/units.h"

#include <stdbool.h>

#define SHOW_COLUMNS 80
#define SHOW_TOP 8 /* rows of a table */

struct show_name {
	char s[48];
};

static inline struct fmt seconds_text(double s)
{
	return fmt_plain(fmt_time(s));
}

static inline struct fmt bytes_text(double bytes)
{
	return fmt_plain(fmt_bytes(bytes));
}

static inline struct fmt count_text(double n)
{
	return fmt_plain(fmt_count(n));
}

static inline struct fmt many_text(double n, const char *what)
{
	return fmt_plain(fmt_many(n, what));
}

static inline struct fmt share_text(double share)
{
	return fmt_plain(fmt_share(share));
}

static inline struct fmt ratio_text(double ratio)
{
	return fmt_plain(fmt_ratio(ratio));
}

/* A table of n rows was cut. */
void show_more(size_t n);
/* An imported trace does not tell everything. */
struct fmt show_known(const cJSON *row, const char *key, struct fmt (*text)(double));
/* A name in a column of at most 40: anything but printable ASCII becomes '?'; underscores become blanks if wanted. */
struct show_name show_name(const char *text, unsigned max_bytes, bool words);
/* Words of a text from outside from this column on, broken before the last column, each further line indented. */
void show_words(const char *text, int column, int indent);
/* Messages and waits are found in single calls: without any they are not known, and not zero. */
bool show_has_events(const cJSON *analysis);
/* How long ranks waited, or a bound that says something. */
bool show_knows_waits(const cJSON *analysis);
/* All ranks' time in the traced region, as the page adds it up. */
double show_ranks_s(const cJSON *analysis);
/* Of what operations and waits are shares; NAN when not known. */
double show_whole_s(const cJSON *analysis);

/* show_tables.c */
void show_operations(const cJSON *analysis);
void show_waits(const cJSON *analysis);
void show_callsites(const cJSON *analysis);
/* Where a call is, on the rest of this line if that has room for it. */
void show_place(const cJSON *site, int room);
/* show_ranks.c */
void show_strip(const cJSON *analysis);
void show_ranks(const cJSON *analysis);
/* show_traffic.c */
void show_traffic(const cJSON *analysis);
void show_arrivals(const cJSON *analysis);
void show_delays(const cJSON *analysis);
void show_correctness(const cJSON *analysis);
/* show_issues.c: what to repair first, in a sentence; all issues. */
void show_verdict(const cJSON *analysis);
void show_issues(const cJSON *analysis, const char *path);
