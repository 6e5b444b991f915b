/* requests.c - from request handles to serial numbers: open addressing by handle, a first-in first-out list behind each
 * (a handle may stand for several operations at once). Memory is mapped, never malloc'ed, and reused: freed and
 * completed requests leave nothing behind. */
#include "pmpi/segfile.h"
#include "pmpi/tables.h"

#include <sys/mman.h>

#define FIRST_SLOTS 4096u /* a power of two */

struct slot {
	uint64_t key;
	uint32_t head, tail; /* nodes; head 0 = the slot is empty */
};

struct node {
	struct request request;
	uint32_t next;
};

static struct slot *slots;
static uint32_t nslots, used_slots;
static struct node *nodes; /* node 0 is never used */
static uint32_t nnodes, nodes_cap, free_list;
int64_t requests_wanting_status;

static uint32_t home(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & (nslots - 1);
}

static struct slot *find(uint64_t key)
{
	uint32_t at = home(key);
	while (slots[at].head != 0 && slots[at].key != key)
		at = (at + 1) & (nslots - 1);
	return &slots[at];
}

COLD static bool grow_slots(void)
{
	struct slot *old = slots;
	uint32_t old_n = nslots, want = nslots == 0 ? FIRST_SLOTS : nslots * 2;
	struct slot *bigger = memory_reserve(want * sizeof(*bigger));
	if (bigger == NULL)
		return false;
	slots = bigger;
	nslots = want;
	for (uint32_t i = 0; i < old_n; i++)
		if (old[i].head != 0)
			*find(old[i].key) = old[i];
	if (old != NULL)
		munmap(old, old_n * sizeof(*old));
	return true;
}

COLD static bool grow_nodes(void)
{
	uint32_t want = nodes_cap == 0 ? FIRST_SLOTS : nodes_cap * 2;
	struct node *bigger = nodes == NULL ? memory_reserve(want * sizeof(*bigger))
					    : mremap(nodes, nodes_cap * sizeof(*nodes), want * sizeof(*nodes),
						     MREMAP_MAYMOVE);
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
static void erase(struct slot *s)
{
	uint32_t hole = (uint32_t)(s - slots), at = hole;
	for (;;) {
		at = (at + 1) & (nslots - 1);
		if (slots[at].head == 0)
			break;
		uint32_t want = home(slots[at].key);
		if (((at - want) & (nslots - 1)) >= ((at - hole) & (nslots - 1))) {
			slots[hole] = slots[at];
			hole = at;
		}
	}
	slots[hole].head = 0;
	used_slots--;
}

static uint64_t key_of(MPI_Request handle)
{
	return (uint64_t)(uintptr_t)handle;
}

void request_put(MPI_Request handle, const struct request *r)
{
	tables_lock();
	uint32_t n = 0;
	if (used_slots * 2 < nslots || grow_slots())
		n = new_node();
	if (n != 0) {
		struct slot *s = find(key_of(handle));
		nodes[n] = (struct node){*r, 0};
		if (s->head == 0) {
			*s = (struct slot){key_of(handle), n, n};
			used_slots++;
		} else {
			nodes[s->tail].next = n;
			s->tail = n;
		}
		if (r->flags & REQUEST_WANTS_STATUS)
			requests_wanting_status++;
	}
	tables_unlock();
}

bool request_get(MPI_Request handle, struct request *ret_request)
{
	bool found = false;
	tables_lock();
	struct slot *s = nslots > 0 ? find(key_of(handle)) : NULL;
	if (s != NULL && s->head != 0) {
		*ret_request = nodes[s->head].request;
		found = true;
	}
	tables_unlock();
	return found;
}

bool request_take(MPI_Request handle, bool always, struct request *ret_request)
{
	bool found = false;
	tables_lock();
	struct slot *s = nslots > 0 ? find(key_of(handle)) : NULL;
	if (s != NULL && s->head != 0) {
		uint32_t n = s->head;
		*ret_request = nodes[n].request;
		found = true;
		if (always || !(ret_request->flags & REQUEST_PERSISTENT)) {
			if (ret_request->flags & REQUEST_WANTS_STATUS)
				requests_wanting_status--;
			s->head = nodes[n].next;
			nodes[n].next = free_list;
			free_list = n;
			if (s->head == 0) {
				s->head = n; /* erase() moves occupied slots only */
				erase(s);
			}
		}
	}
	tables_unlock();
	return found;
}

void request_want_status(MPI_Request handle)
{
	tables_lock();
	struct slot *s = nslots > 0 ? find(key_of(handle)) : NULL;
	if (s != NULL && s->head != 0 && !(nodes[s->head].request.flags & REQUEST_WANTS_STATUS)) {
		nodes[s->head].request.flags |= REQUEST_WANTS_STATUS;
		requests_wanting_status++;
	}
	tables_unlock();
}
