/* requests.c - from request handles to serial numbers: open addressing by handle, a first-in first-out list behind each
 * (a handle may stand for several operations at once). Memory is mapped, never malloc'ed, and reused: freed and
 * completed requests leave nothing behind. */
#include "pmpi/requests.h"

#include "pmpi/segfile.h"

#include <string.h>
#include <sys/mman.h>

#define FIRST_SLOTS 4096u /* a power of two */

struct node {
	struct request request;
	uint32_t next;
	uint32_t last; /* of the queue; valid in its first node */
};

/* Before there is a table: a slot where nothing is found. */
static struct request_slot nothing;
struct request_slot *request_slots = &nothing;
uint64_t request_mask;
uint32_t requests_held, requests_room;
static uint32_t slots, room; /* that many slots, of which half may be in use */
static bool shared;
int64_t requests_wanting_status;
static struct node *nodes; /* node 0 is never used */
static uint32_t nnodes, nodes_cap, free_list;

static struct request_slot *behind(struct request_slot *s)
{
	return s + 1 < request_slots + slots ? s + 1 : request_slots;
}

/* Where key stands; NULL. */
static struct request_slot *find(uint64_t key)
{
	struct request_slot *s = request_home(key);
	while (s->owner == 0 || s->key != key) {
		if (s->passed == 0)
			return NULL;
		s = behind(s);
	}
	return s;
}

/* The first empty slot from its home on. It is nowhere yet. */
static struct request_slot *place(uint64_t key)
{
	struct request_slot *s = request_home(key);
	for (; s->owner != 0; s = behind(s))
		s->passed++;
	return s;
}

static void empty(struct request_slot *s)
{
	for (struct request_slot *at = request_home(s->key); at != s; at = behind(at))
		at->passed--;
	s->owner = 0;
	requests_held--;
}

static struct request request_in(const struct request_slot *s)
{
	return (struct request){s->serial, (uint32_t)s->owner - 1, (uint32_t)(s->owner >> 32)};
}

static void set_oldest(struct request_slot *s, const struct request *r)
{
	s->owner = request_owner(r->thread, r->flags);
	s->serial = r->serial;
}

static struct request_slot *lookup_request(MPI_Request handle)
{
	return requests_held > 0 ? find(request_key(handle)) : NULL;
}

void requests_share(bool share)
{
	shared = share;
	requests_room = share ? 0 : room;
}

COLD static bool grow_slots(void)
{
	struct request_slot *old = request_slots;
	uint32_t old_n = slots, want = old_n == 0 ? FIRST_SLOTS : old_n * 2;
	struct request_slot *bigger = memory_reserve(want * sizeof(*bigger));
	if (bigger == NULL)
		return false;
	request_slots = bigger;
	request_mask = (want - 1) * sizeof(*bigger);
	slots = want;
	room = want / 2;
	if (!shared) /* else others look at it */
		requests_room = room;
	for (uint32_t i = 0; i < old_n; i++)
		if (old[i].owner != 0) {
			struct request_slot *s = place(old[i].key);
			uint32_t passed = s->passed;
			*s = old[i];
			s->passed = passed;
		}
	if (old_n > 0)
		munmap(old, old_n * sizeof(*old));
	return true;
}

COLD static bool grow_nodes(void)
{
	uint32_t want = nodes_cap == 0 ? FIRST_SLOTS : nodes_cap * 2;
	struct node *bigger = memory_reserve(want * sizeof(*bigger));
	if (bigger == NULL)
		return false;
	if (nodes != NULL) {
		memcpy(bigger, nodes, nodes_cap * sizeof(*nodes));
		munmap(nodes, nodes_cap * sizeof(*nodes));
	}
	nodes = bigger;
	nodes_cap = want;
	if (nnodes == 0)
		nnodes = 1;
	return true;
}

static uint32_t new_node(void)
{
	uint32_t n = free_list;
	if (n != 0) {
		free_list = nodes[n].next;
		return n;
	}
	if (nnodes >= nodes_cap && !grow_nodes())
		return 0;
	return nnodes++;
}

/* Behind those that the handle stands for already. */
static bool queue_up(struct request_slot *s, const struct request *r)
{
	uint32_t n = new_node();
	if (n == 0)
		return false;
	nodes[n] = (struct node){*r, 0, n};
	if (s->next == 0) {
		s->next = n;
	} else {
		nodes[nodes[s->next].last].next = n;
		nodes[s->next].last = n;
	}
	return true;
}

static bool enter(uint64_t key, const struct request *r)
{
	if (requests_held >= room && !grow_slots())
		return false;
	struct request_slot *s = find(key);
	if (s != NULL)
		return queue_up(s, r);
	s = place(key);
	s->key = key;
	s->next = 0;
	set_oldest(s, r);
	requests_held++;
	return true;
}

void request_put_slow(MPI_Request handle, struct request r)
{
	tables_lock();
	if (request_key(handle) != 0 && enter(request_key(handle), &r) && (r.flags & REQUEST_WANTS_STATUS))
		requests_wanting_status++;
	tables_unlock();
}

bool request_get(MPI_Request handle, struct request *ret_request)
{
	tables_lock();
	const struct request_slot *s = lookup_request(handle);
	if (s != NULL)
		*ret_request = request_in(s);
	tables_unlock();
	return s != NULL;
}

static void forget_oldest(struct request_slot *s)
{
	uint32_t n = s->next;
	if (request_in(s).flags & REQUEST_WANTS_STATUS)
		requests_wanting_status--;
	if (n == 0) {
		empty(s);
		return;
	}
	set_oldest(s, &nodes[n].request);
	s->next = nodes[n].next;
	if (s->next != 0)
		nodes[s->next].last = nodes[n].last;
	nodes[n].next = free_list;
	free_list = n;
}

bool request_take_slow(MPI_Request handle, bool always, struct request *ret_request)
{
	tables_lock();
	struct request_slot *s = lookup_request(handle);
	if (s != NULL) {
		*ret_request = request_in(s);
		if (always || !(ret_request->flags & REQUEST_PERSISTENT))
			forget_oldest(s);
	}
	tables_unlock();
	return s != NULL;
}

void request_want_status(MPI_Request handle)
{
	tables_lock();
	struct request_slot *s = lookup_request(handle);
	if (s != NULL && !(request_in(s).flags & REQUEST_WANTS_STATUS)) {
		s->owner |= (uint64_t)REQUEST_WANTS_STATUS << 32;
		requests_wanting_status++;
	}
	tables_unlock();
}
