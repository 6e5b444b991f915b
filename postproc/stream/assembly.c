/* assembly.c - see assembly.h. */
#include "postproc/stream/assembly.h"

#include "postproc/stream/collective.h"

#include <errno.h>
#include <stdlib.h>

#define BUCKETS_MIN 256u

static struct assembly **bucket_of(struct assembly **table, size_t buckets, uint32_t comm, uint32_t channel, uint32_t k)
{
	return &table[collective_hash(comm, channel, k) & (buckets - 1)];
}

static int grow(struct assemblies *all)
{
	size_t buckets = all->buckets == 0 ? BUCKETS_MIN : 4 * all->buckets;
	struct assembly **table = calloc(buckets, sizeof(struct assembly *));
	if (table == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < all->buckets; i++)
		for (struct assembly *m = all->table[i], *next; m != NULL; m = next) {
			next = m->link;
			struct assembly **to = bucket_of(table, buckets, m->comm, m->channel, m->k);
			m->link = *to;
			*to = m;
		}
	free(all->table);
	all->table = table;
	all->buckets = buckets;
	return 0;
}

struct assemblies assemblies_begin(void)
{
	return (struct assemblies){.slab = SLAB(struct assembly)};
}

void assemblies_done(struct assemblies *all)
{
	slab_done(&all->slab);
	free(all->table);
}

struct assembly *assembly_of(struct assemblies *all, const struct action *x, uint32_t expected)
{
	if (all->n >= all->buckets && grow(all) < 0)
		return NULL;
	struct assembly **first = bucket_of(all->table, all->buckets, x->comm, x->channel, x->k), *m = *first;
	while (m != NULL && (m->k != x->k || m->comm != x->comm || m->channel != x->channel))
		m = m->link;
	if (m != NULL || (m = slab_take(&all->slab)) == NULL)
		return m;
	*m = (struct assembly){.link = *first,
			       .comm = x->comm,
			       .channel = x->channel,
			       .k = x->k,
			       .expected = expected,
			       .last_start_ns = INT64_MIN};
	*first = m;
	all->n++;
	return m;
}

void assembly_forget(struct assemblies *all, struct assembly *m)
{
	struct assembly **at = bucket_of(all->table, all->buckets, m->comm, m->channel, m->k);
	while (*at != m)
		at = &(*at)->link;
	*at = m->link;
	all->n--;
	slab_give(&all->slab, m);
}
