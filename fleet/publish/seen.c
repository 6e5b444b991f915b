/* seen.c - see seen.h. */
#include "fleet/publish/seen.h"

#define FILES_MOST 4000000 /* 128 MB; then it begins anew */

struct sought {
	const struct seen *s;
	struct seen_file key;
};

static bool is_it(const void *context, uint32_t at)
{
	const struct sought *x = context;
	return memcmp(&x->s->files.at[at], &x->key, sizeof(x->key)) == 0;
}

/* The time of its change of state, too: no program can set it. */
static struct seen_file key_of(const struct stat *st)
{
	uint64_t ns = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
	uint64_t ctime_ns = (uint64_t)st->st_ctim.tv_sec * 1000000000 + (uint64_t)st->st_ctim.tv_nsec;
	return (struct seen_file){st->st_dev, st->st_ino, (uint64_t)st->st_size, index_mix(ns, ctime_ns)};
}

bool seen_before(struct seen *s, const struct stat *st)
{
	struct sought x = {s, key_of(st)};
	uint64_t hash = index_hash(INDEX_SEED, &x.key, sizeof(x.key));
	if (index_find(&s->by_key, hash, is_it, &x) != INDEX_NONE)
		return true;
	if (s->files.n >= FILES_MOST)
		seen_done(s);
	if (vec_push(&s->files, x.key) == 0)
		index_add(&s->by_key, hash, (uint32_t)s->files.n - 1);
	return false;
}

void seen_done(struct seen *s)
{
	vec_done(&s->files);
	index_done(&s->by_key);
}
