/* requests.h - requests: which serial number stands behind a handle. */
#pragma once

#include "pmpi/library.h"

enum request_flag {
	REQUEST_PERSISTENT = 1,
	REQUEST_WANTS_STATUS = 2, /* a wildcard receive, or cancelled: only the status knows */
	REQUEST_MAY_BE_FALSE = 4, /* but the status that MPICH gives of MPI_Isendrecv is another message's */
};

struct request {
	uint64_t serial; /* of its thread */
	uint32_t thread;
	uint32_t flags;
};

extern int64_t requests_wanting_status HIDDEN;

/* Open addressing by handle. Open MPI hands out one shared object for operations that completed at once: the operations
 * behind one handle are a queue, its oldest here, the others in nodes of requests.c. A search goes on over empty slots
 * that others passed, so that a slot is emptied without a look at the next. */
struct request_slot {
	uint64_t key;	/* a handle; of an empty slot: anything */
	uint64_t owner; /* request_owner() of the oldest; 0 = empty */
	uint64_t serial;
	uint32_t next;	 /* node; 0 = none */
	uint32_t passed; /* keys that stand behind this slot and belong to it, or before it */
};

extern struct request_slot *request_slots HIDDEN;
extern uint64_t request_mask HIDDEN;  /* of the offset of a slot in bytes */
extern uint32_t requests_held HIDDEN; /* slots in use */
extern uint32_t requests_room HIDDEN; /* that many may be without a look at anything else; 0 where threads share them */

/* Several threads may call MPI at once, or not. */
void requests_share(bool shared) HIDDEN COLD;
void request_put_slow(MPI_Request handle, struct request r) HIDDEN;
bool request_take_slow(MPI_Request handle, bool always, struct request *ret_request) HIDDEN;

static inline uint64_t request_key(MPI_Request handle)
{
	return (uint64_t)(uintptr_t)handle;
}

static inline uint64_t request_owner(uint32_t thread, uint32_t flags)
{
	return (uint64_t)thread + 1 + ((uint64_t)flags << 32);
}

static inline struct request_slot *request_home(uint64_t key)
{
	uint64_t offset = (key * 0x9e3779b97f4a7c15ull >> 32) & request_mask;
	return (struct request_slot *)(void *)((char *)request_slots + offset);
}

/* Of this thread, and nothing is to be known about it later. */
INLINE void request_put_plain(MPI_Request handle, uint32_t thread, uint64_t serial)
{
	if (__builtin_expect(requests_room > 0 && requests_held < requests_room, true)) { /* held: if not shared */
		uint64_t key = request_key(handle);
		struct request_slot *s = request_home(key);
		if (__builtin_expect((s->owner | s->passed) == 0, true)) {
			s->key = key;
			s->owner = request_owner(thread, 0);
			s->serial = serial;
			requests_held++;
			return;
		}
	}
	request_put_slow(handle, (struct request){.serial = serial, .thread = thread});
}

INLINE void request_put(MPI_Request handle, struct request r)
{
	if (r.flags == 0)
		request_put_plain(handle, r.thread, r.serial);
	else
		request_put_slow(handle, r);
}

/* Where the operation stands if it is the only one behind its handle, of that owner, and where it belongs; else NULL.
 * Where requests_room is not 0; request_drop() takes it. */
INLINE struct request_slot *request_plain(MPI_Request handle, uint64_t owner)
{
	struct request_slot *s = request_home(request_key(handle));
	bool plain = s->key == request_key(handle) && s->owner == owner && s->next == 0;
	return __builtin_expect(plain, true) ? s : NULL;
}

INLINE void request_drop(struct request_slot *s)
{
	s->owner = 0;
	requests_held--;
}

/* The oldest operation behind a handle. */
bool request_get(MPI_Request handle, struct request *ret_request) HIDDEN;

/* As request_get, and forget it unless it is persistent or `always`. */
INLINE bool request_take(MPI_Request handle, bool always, struct request *ret_request)
{
	if (__builtin_expect(requests_room > 0, true)) {
		uint64_t owner = request_home(request_key(handle))->owner;
		struct request_slot *s = owner - 1 < UINT32_MAX ? request_plain(handle, owner) : NULL;
		if (__builtin_expect(s != NULL, true)) {
			*ret_request = (struct request){.serial = s->serial, .thread = (uint32_t)owner - 1};
			request_drop(s);
			return true;
		}
	}
	return request_take_slow(handle, always, ret_request);
}

/* From now on its status matters. */
void request_want_status(MPI_Request handle) HIDDEN;
