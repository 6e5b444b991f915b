/* requests.c - from request handles to serial numbers: open addressing by handle, a first-in first-out list behind each
 * (a handle may stand for several operations at once). Memory is mapped, never malloc'ed, and reused: freed and
 * completed requests leave nothing behind. */
#include "pmpi/requests.h"

#include "pmpi/segfile.h"

#include <sys/mman.h>

#define FIRST_SLOTS 4096u /* a power of two */

struct node {
	struct request request;
	uint32_t next;
};

struct request_slot *request_slots;
uint32_t request_mask, requests_held, request_slots_room;
int64_t requests_wanting_status;
static struct node *nodes; /* node 0 is never used */
static uint32_t nnodes, nodes_cap, free_list;

/* Where key stands, or the empty slot where it goes. */
static struct request_slot *find(uint64_t key)
{
	uint32_t at = request_home(key);
	while (request_slots[at].key != 0 && request_slots[at].key != key)
		at = (at + 1) & request_mask;
	return &request_slots[at];
}

static struct request_slot *have(MPI_Request handle)
{
	struct request_slot *s = request_slots != NULL ? find(request_key(handle)) : NULL;
	return s != NULL && s->key != 0 ? s : NULL;
}

COLD static bool grow_slots(void)
{
	struct request_slot *old = request_slots;
	uint32_t old_n = old != NULL ? request_mask + 1 : 0, want = old_n == 0 ? FIRST_SLOTS : old_n * 2;
	struct request_slot *bigger = memory_reserve(want * sizeof(*bigger));
	if (bigger == NULL)
		return false;
	request_slots = bigger;
	request_mask = want - 1;
	request_slots_room = want / 2;
	for (uint32_t i = 0; i < old_n; i++)
		if (old[i].key != 0)
			*find(old[i].key) = old[i];
	if (old != NULL)
		munmap(old, old_n * sizeof(*old));
	return true;
}

COLD static bool grow_nodes(void)
{
	uint32_t want = nodes_cap == 0 ? FIRST_SLOTS : nodes_cap * 2;
	struct node *bigger =
		nodes == NULL ? memory_reserve(want * sizeof(*bigger))
			      : mremap(nodes, nodes_cap * sizeof(*nodes), want * sizeof(*nodes), MREMAP_MAYMOVE);
	if (bigger == NULL || bigger == MAP_FAILED)
		return false;
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

/* Close the gap so that no search is cut short (Knuth, TAOCP 3, 6.4 R). */
static void erase(struct request_slot *s)
{
	uint32_t hole = (uint32_t)(s - request_slots), at = hole;
	for (;;) {
		at = (at + 1) & request_mask;
		if (request_slots[at].key == 0)
			break;
		uint32_t want = request_home(request_slots[at].key);
		if (((at - want) & request_mask) >= ((at - hole) & request_mask)) {
			request_slots[hole] = request_slots[at];
			hole = at;
		}
	}
	request_slots[hole].key = 0;
	requests_held--;
}

/* Behind those that the handle stands for already. */
static bool queue_up(struct request_slot *s, const struct request *r)
{
	uint32_t n = new_node();
	if (n == 0)
		return false;
	nodes[n] = (struct node){*r, 0};
	if (s->next == 0)
		s->next = n;
	else
		nodes[s->last].next = n;
	s->last = n;
	return true;
}

static bool enter(uint64_t key, const struct request *r)
{
	if (requests_held >= request_slots_room && !grow_slots())
		return false;
	struct request_slot *s = find(key);
	if (s->key != 0)
		return queue_up(s, r);
	*s = (struct request_slot){key, *r, 0, 0};
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
	const struct request_slot *s = have(handle);
	if (s != NULL)
		*ret_request = s->oldest;
	tables_unlock();
	return s != NULL;
}

static void forget_oldest(struct request_slot *s)
{
	uint32_t n = s->next;
	if (s->oldest.flags & REQUEST_WANTS_STATUS)
		requests_wanting_status--;
	if (n == 0) {
		erase(s);
		return;
	}
	s->oldest = nodes[n].request;
	s->next = nodes[n].next;
	nodes[n].next = free_list;
	free_list = n;
}

bool request_take_slow(MPI_Request handle, bool always, struct request *ret_request)
{
	tables_lock();
	struct request_slot *s = have(handle);
	if (s != NULL) {
		*ret_request = s->oldest;
		if (always || !(s->oldest.flags & REQUEST_PERSISTENT))
			forget_oldest(s);
	}
	tables_unlock();
	return s != NULL;
}

void request_want_status(MPI_Request handle)
{
	tables_lock();
	struct request_slot *s = have(handle);
	if (s != NULL && !(s->oldest.flags & REQUEST_WANTS_STATUS)) {
		s->oldest.flags |= REQUEST_WANTS_STATUS;
		requests_wanting_status++;
	}
	tables_unlock();
}
