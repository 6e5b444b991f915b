/* share.c - pieces of one file, read by several threads, each with a file of its own. */
#include "postproc/replay/parts.h"

#include "base/pool.h"

#include <stdatomic.h>

#define FILES_MAX 64u

struct sharing {
	uint32_t n;
	replay_piece *work;
	void *context;
	atomic_uint next;
	atomic_bool stop;
	struct outcome {
		uint32_t piece;
		int code;
		struct error e;
	} outcomes[FILES_MAX]; /* by file */
};

/* Pieces are taken in order: whoever fails leaves none before it to nobody. */
static void work_on(void *context, size_t file)
{
	struct sharing *s = context;
	struct outcome *o = &s->outcomes[file];
	uint32_t i;
	while (o->code == 0 && !atomic_load(&s->stop) && (i = atomic_fetch_add(&s->next, 1)) < s->n) {
		o->piece = i;
		o->code = s->work(s->context, i, (unsigned)file, &o->e);
		if (o->code != 0)
			atomic_store(&s->stop, true);
	}
}

int replay_share(const struct replay_from *from, uint32_t n, replay_piece *work, void *context, struct error *e)
{
	struct sharing s = {.n = n, .work = work, .context = context};
	const struct outcome *first = NULL;
	unsigned files = from->n < FILES_MAX ? from->n : FILES_MAX;
	if (from->pool != NULL)
		pool_run(from->pool, files, work_on, &s);
	else
		work_on(&s, 0);
	for (unsigned i = 0; i < files; i++)
		if (s.outcomes[i].code != 0 && (first == NULL || s.outcomes[i].piece < first->piece))
			first = &s.outcomes[i];
	if (first == NULL)
		return 0;
	*e = first->e;
	return first->code;
}
