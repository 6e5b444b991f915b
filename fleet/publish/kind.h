/* kind.h - the kinds of destinations, one file kind_<name>.c and one row each. A kind turns records into the body of a
 * request; sending, repeating and counting is the same for all (send.c). */
#pragma once

#include "base/buf.h"
#include "fleet/job.h"
#include "fleet/publish/config.h"
#include "fleet/publish/totals.h"

#include <cjson/cJSON.h>
#include <stddef.h>

/* A record as it was taken: text is its JSON, one line, and `json` the same. */
struct publish_record {
	int64_t id;
	const char *text;
	const cJSON *json;
	bool again; /* another record of the same step and user was taken before */
};

struct publish_batch {
	const char *name; /* the same whenever this very batch is sent */
	const struct publish_record *records;
	size_t n;
	const struct totals *totals; /* for kinds with add(): with this batch in them */
};

/* A request that is no batch. */
struct publish_request {
	struct buf url, body;
	const char *content_type;
};
enum publish_step { FORGET_COUNT, FORGET_REMOVE };

/* What a server says of one record. */
struct publish_fate {
	enum { FATE_ARRIVED, FATE_LATER, FATE_REFUSED } what;
	char why[ERROR_TEXT_MAX]; /* as the server says it */
};

struct http_answer; /* http.h */

/* For kinds that speak no HTTP. What came of it is said as if they did. */
struct publish_store {
	void *(*create)(const struct destination *d); /* NULL without memory */
	void (*destroy)(void *of);
	void (*put)(void *of, const struct destination *d, const struct publish_batch *b, const struct buf *body,
		    struct http_answer *ret_a);
	void (*reach)(void *of, struct http_answer *ret_a);
	void (*forget)(void *of, const char *user, enum publish_step step, struct http_answer *ret_a);
};

struct publish_kind {
	const char *name, *content_type;
	/* What a destination of this kind lacks, or NULL. */
	const char *(*missing)(const struct destination *d);
	/* Where requests go, after percent-encoding what is the site's. */
	void (*url)(const struct destination *d, struct buf *ret_url);
	/* The body; the same for the same batch, and harmless when it comes again. */
	void (*encode)(const struct publish_batch *b, struct buf *ret_body);
	/* Header lines that authenticate, a newline behind each; body: as it goes over the wire. May be NULL. */
	int (*headers)(const struct destination *d, const struct publish_batch *b, const struct buf *body,
		       struct buf *ret_lines, struct error *e);
	/* A server that takes a request may refuse some of its records: fates of n records, all ARRIVED before.
	 * -EBADMSG: the answer cannot be understood, so that all of it goes out again. NULL: who takes a request takes
	 * all of it. */
	int (*fates)(const char *answer, size_t n, struct publish_fate *fates);
	/* For servers that hold sums in place of records: what a record adds to them. It is called once for each step.
	 * Not 0: out of memory. */
	int (*add)(const struct publish_record *r, struct totals *totals);
	/* The request that asks how many records of a user there are, or removes them; false: there is none. NULL: it
	 * has no records, or cannot. */
	bool (*forget)(const struct destination *d, const char *user, enum publish_step step,
		       struct publish_request *ret_r);
	/* How many, of the answer; negative: it cannot be understood. */
	int64_t (*left)(const char *answer);
	bool alerts;	    /* it takes those of steps that hang, too (fleet/alert.h), among the records */
	const char *method; /* NULL: POST */
	/* Set for kinds that append to a file in place of a request. */
	void (*append)(const struct publish_batch *b, struct buf *ret_body);
	const struct publish_store *store; /* in place of url, headers and forget */
};

#define PUBLISH_KINDS(ROW) \
	ROW(influxdb) \
	ROW(clickhouse) \
	ROW(elasticsearch) \
	ROW(postgresql) \
	ROW(pushgateway) \
	ROW(webhook) \
	ROW(file) \
	/* one row a kind */
#define PUBLISH_KIND_NAMES "influxdb, clickhouse, elasticsearch, postgresql, pushgateway, webhook or file"

#define DECLARE_KIND(name) extern const struct publish_kind publish_##name;
PUBLISH_KINDS(DECLARE_KIND)
#undef DECLARE_KIND

/* NULL for no kind of ours. */
const struct publish_kind *publish_kind_find(const char *name);
/* The url of the configuration without the slashes that it may end with. */
void publish_base(const struct destination *d, struct buf *b);
/* text with all but letters, digits and -._~ as %XX (RFC 3986). */
void publish_percent(struct buf *b, const char *text);
/* An answer that is a number alone; -1 for any other. */
int64_t publish_number(const char *answer);
/* A record's columns and all of it as `record`, as one object of JSON between two texts; the id's column is called so.
 * False: it is no record, which state_take() would not have taken, and nothing is written. */
bool publish_row(const struct publish_record *r, const char *id_name,
		 void (*put_number)(cJSON *row, const struct fleet_column *c), const char *before, const char *after,
		 struct buf *b);
/* text as the value of a label in Prometheus' text format, without its quotes. */
void publish_label(struct buf *b, const char *text);
