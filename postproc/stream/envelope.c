/* envelope.c - see envelope.h. In: who asks for an envelope.  Out: that one; those of which nothing waits go when the
 * table is full. */
#include "postproc/stream/envelope.h"

#define BUCKETS_MIN 256u

static uint64_t hash_of(uint32_t comm, uint32_t src, uint32_t dst, int32_t tag)
{
	return index_mix((uint64_t)src << 32 | dst, (uint64_t)comm << 32 | (uint32_t)tag);
}

/* Another number of buckets; envelopes of which nothing is waiting go. */
static int rebuild(struct shard *sh, size_t buckets)
{
	struct envelope **table = calloc(buckets, sizeof(struct envelope *));
	if (table == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < sh->envelope_buckets; i++)
		for (struct envelope *v = sh->envelope_table[i], *next; v != NULL; v = next) {
			next = v->link;
			if (v->send == NULL && v->recv == NULL && !v->open && !v->held) {
				slab_give(&sh->envelopes, v);
				sh->nenvelopes--;
				continue;
			}
			struct envelope **to = &table[hash_of(v->comm, v->src, v->dst, v->tag) & (buckets - 1)];
			v->link = *to;
			*to = v;
		}
	free(sh->envelope_table);
	sh->envelope_table = table;
	sh->envelope_buckets = buckets;
	return 0;
}

struct envelope *envelope_of(struct shard *sh, uint32_t comm, uint32_t src, uint32_t dst, int32_t tag, bool partitioned)
{
	uint64_t hash = hash_of(comm, src, dst, tag);
	if (sh->nenvelopes >= sh->envelope_buckets) {
		/* sweep first: a program that uses a tag only once leaves one behind with each message */
		if (rebuild(sh, sh->envelope_buckets < BUCKETS_MIN ? BUCKETS_MIN : sh->envelope_buckets) < 0)
			return NULL;
		if (sh->nenvelopes > sh->envelope_buckets / 2 && rebuild(sh, sh->envelope_buckets * 4) < 0)
			return NULL;
	}
	struct envelope **at = &sh->envelope_table[hash & (sh->envelope_buckets - 1)];
	for (struct envelope *v = *at; v != NULL; v = v->link)
		if (v->src == src && v->dst == dst && v->tag == tag && v->comm == comm && v->partitioned == partitioned)
			return v;
	struct envelope *v = slab_take(&sh->envelopes);
	if (v == NULL)
		return NULL;
	*v = (struct envelope){
		.link = *at, .comm = comm, .src = src, .dst = dst, .tag = tag, .partitioned = partitioned};
	*at = v;
	sh->nenvelopes++;
	return v;
}

const struct envelope *envelope_bucket(const struct shard *sh, uint32_t comm, uint32_t src, uint32_t dst, int32_t tag)
{
	uint64_t hash = hash_of(comm, src, dst, tag);
	return sh->envelope_buckets > 0 ? sh->envelope_table[hash & (sh->envelope_buckets - 1)] : NULL;
}
