/* requests.h - requests of a process by their numbers (requests.c). */
#pragma once

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct shard;
struct send;
struct recv;
struct part;

#define REQUESTS_PAGE 128u

struct request {
	struct send *send;
	struct recv *recv;
	struct part *part;
	uint32_t sig; /* that started or initialised it */
	uint32_t channel, starts;
	uint32_t window, at; /* which event of its lane started it */
	bool persistent, active, cancelling;
};

struct request_page {
	uint32_t live;
	struct request at[REQUESTS_PAGE];
};

struct requests_of {
	VEC(struct request_page *) pages; /* NULL: all of it is over */
	uint64_t count;
	struct request_page *last;
};

/* requests.c: the next serial number's request, fresh; NULL without memory. */
struct request *request_start(struct shard *sh, struct requests_of *r, uint32_t sig);
/* NULL: none was ever started by that number; &request_gone: it is over, and nothing is done with it. */
struct request *request_find(const struct requests_of *r, uint64_t serial);
void request_over(struct shard *sh, struct requests_of *r, uint64_t serial, struct request *q);
extern struct request request_gone;
