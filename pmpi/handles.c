/* handles.c - see handles.h. */
#include "pmpi/handles.h"

#include "pmpi/segfile.h"

static uint32_t home(const struct handle_map *m, uint64_t handle)
{
	return (uint32_t)(handle * 0x9e3779b97f4a7c15ull >> 32) & (m->places - 1);
}

/* Where the handle stands, or the empty place where it goes. */
static struct handle_place *place_of(const struct handle_map *m, uint64_t handle)
{
	uint32_t at = home(m, handle);
	while (m->at[at].handle != 0 && m->at[at].handle != handle)
		at = (at + 1) & (m->places - 1);
	return &m->at[at];
}

bool handle_map_find(const struct handle_map *m, uint64_t handle, uint32_t *ret_value)
{
	const struct handle_place *p = m->at != NULL ? place_of(m, handle) : NULL;
	if (p == NULL || p->handle == 0)
		return false;
	*ret_value = p->value;
	return true;
}

bool handle_map_put(struct handle_map *m, uint64_t handle, uint32_t value)
{
	if (m->at == NULL)
		m->at = memory_reserve(m->places * sizeof(*m->at));
	if (m->at == NULL || handle == 0)
		return false;
	struct handle_place *p = place_of(m, handle);
	if (p->handle == 0) {
		if (m->used >= m->places / 2)
			return false;
		m->used++;
	}
	*p = (struct handle_place){handle, value};
	return true;
}

/* Close the gap so that no search is cut short. */
static void erase(struct handle_map *m, uint32_t hole)
{
	uint32_t mask = m->places - 1;
	for (uint32_t at = (hole + 1) & mask; m->at[at].handle != 0; at = (at + 1) & mask) {
		uint32_t want = home(m, m->at[at].handle);
		if (((at - want) & mask) >= ((at - hole) & mask)) {
			m->at[hole] = m->at[at];
			hole = at;
		}
	}
	m->at[hole].handle = 0;
	m->used--;
}

bool handle_map_take(struct handle_map *m, uint64_t handle, uint32_t *ret_value)
{
	const struct handle_place *p = m->at != NULL ? place_of(m, handle) : NULL;
	if (p == NULL || p->handle == 0)
		return false;
	*ret_value = p->value;
	erase(m, (uint32_t)(p - m->at));
	return true;
}

bool index_take(struct index_pool *p, uint32_t *ret_index)
{
	if (p->free_list != 0) {
		*ret_index = p->free_list - 1;
		p->free_list = p->next[*ret_index];
		return true;
	}
	if (p->used == p->max)
		return false;
	*ret_index = p->used++;
	return true;
}

/* Without memory it is not handed out again. */
void index_give(struct index_pool *p, uint32_t index)
{
	if (p->next == NULL)
		p->next = memory_reserve(p->max * sizeof(*p->next));
	if (p->next == NULL)
		return;
	p->next[index] = p->free_list;
	p->free_list = index + 1;
}

uint64_t handle_epoch = 1;

static void put(struct handle_cached *p, uint64_t handle, uint32_t id, uint64_t a, uint64_t b)
{
	uint32_t seq = __atomic_load_n(&p->seq, __ATOMIC_RELAXED);
	__atomic_store_n(&p->seq, seq + 1, __ATOMIC_RELAXED);
	/* Release, each: none may be seen before `seq` is odd. Partner: the acquire loads of handle_cache_get(). */
	__atomic_store_n(&p->handle, handle, __ATOMIC_RELEASE);
	__atomic_store_n(&p->id, id, __ATOMIC_RELEASE);
	__atomic_store_n(&p->a, a, __ATOMIC_RELEASE);
	__atomic_store_n(&p->b, b, __ATOMIC_RELEASE);
	__atomic_store_n(&p->seq, seq + 2, __ATOMIC_RELEASE);
	/* Last: who reads the new epoch finds what is new. Partner: the acquire loads of fast_handles(). */
	__atomic_store_n(&handle_epoch, handle_epoch + 1, __ATOMIC_RELEASE);
}

void handle_cache_put(struct handle_cache *c, uint64_t handle, uint32_t id, uint64_t a, uint64_t b)
{
	put(&c->at[handle_slot(handle)], handle, id, a, b);
}

void handle_cache_drop(struct handle_cache *c, uint64_t handle)
{
	struct handle_cached *p = &c->at[handle_slot(handle)];
	if (__atomic_load_n(&p->handle, __ATOMIC_RELAXED) == handle)
		put(p, 0, 0, 0, 0);
}
