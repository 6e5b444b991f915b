/* requests.h - requests: which serial number stands behind a handle. */
#pragma once

#include "pmpi/library.h"

enum request_flag {
	REQUEST_PERSISTENT = 1,
	REQUEST_WANTS_STATUS = 2, /* a wildcard receive, or cancelled: only the status knows */
};

struct request {
	uint64_t serial; /* of its thread */
	uint32_t thread;
	uint32_t flags;
};

extern int64_t requests_wanting_status HIDDEN;

/* Open addressing by handle. Open MPI hands out one shared object for operations that completed at once: the operations
 * behind one handle are a queue, its oldest here, the others in nodes of requests.c. */
struct request_slot {
	uint64_t key; /* 0 = empty: no request has that handle */
	struct request oldest;
	uint32_t next, last; /* nodes; 0 = none */
};

extern struct request_slot *request_slots HIDDEN;
extern uint32_t request_mask HIDDEN;	   /* of the index of a slot */
extern uint32_t requests_held HIDDEN;	   /* slots in use */
extern uint32_t request_slots_room HIDDEN; /* that many may be */

void request_put_slow(MPI_Request handle, struct request r) HIDDEN;
bool request_take_slow(MPI_Request handle, bool always, struct request *ret_request) HIDDEN;

static inline uint64_t request_key(MPI_Request handle)
{
	return (uint64_t)(uintptr_t)handle;
}

static inline uint32_t request_home(uint64_t key)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & request_mask;
}

INLINE void request_put(MPI_Request handle, struct request r)
{
	if (__builtin_expect(!tables_shared && requests_held < request_slots_room && r.flags == 0, true)) {
		uint64_t key = request_key(handle);
		struct request_slot *s = &request_slots[request_home(key)];
		if (__builtin_expect(s->key == 0, true)) {
			*s = (struct request_slot){key, r, 0, 0};
			requests_held++;
			return;
		}
	}
	request_put_slow(handle, r);
}

/* The oldest operation behind a handle. */
bool request_get(MPI_Request handle, struct request *ret_request) HIDDEN;

/* As request_get, and forget it unless it is persistent or `always`. */
INLINE bool request_take(MPI_Request handle, bool always, struct request *ret_request)
{
	if (__builtin_expect(!tables_shared && requests_held > 0, true)) {
		uint64_t key = request_key(handle);
		uint32_t at = request_home(key);
		struct request_slot *s = &request_slots[at];
		/* Nothing behind it that a search would no longer find. */
		bool alone = s->key == key && s->next == 0 && s->oldest.flags == 0 &&
			     request_slots[(at + 1) & request_mask].key == 0;
		if (__builtin_expect(alone, true)) {
			*ret_request = s->oldest;
			s->key = 0;
			requests_held--;
			return true;
		}
	}
	return request_take_slow(handle, always, ret_request);
}

/* From now on its status matters. */
void request_want_status(MPI_Request handle) HIDDEN;
