/* peers.c - see peers.h: what all of them do alike. */
#include "base/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int peers_exchange(struct peers *c, int code, struct buf *out, struct buf *in, int64_t *number)
{
	if (c->over)
		return code;
	for (uint32_t i = 0; i < c->size; i++)
		if (buf_failed(&out[i]))
			code = -ENOMEM;
	int64_t numbers[PEER_NUMBERS] = {code, number != NULL ? *number : 0};
	int own = c->exchange(c, out, in, numbers);
	if (number != NULL)
		*number = numbers[1];
	c->over = numbers[0] < 0;
	return own < 0 ? own : (int)numbers[0];
}

static struct buf *make_bufs(const struct peers *c)
{
	return calloc(2 * (size_t)c->size, sizeof(struct buf));
}

static void free_bufs(const struct peers *c, struct buf *all)
{
	for (uint32_t i = 0; all != NULL && i < 2 * c->size; i++)
		buf_done(&all[i]);
	free(all);
}

int peers_agree(struct peers *c, int code, int64_t *number)
{
	struct buf *all = make_bufs(c);
	if (all == NULL)
		return -ENOMEM;
	code = peers_exchange(c, code, all, all + c->size, number);
	free_bufs(c, all);
	return code;
}

void peers_tell(struct peers *c, struct error *e)
{
	struct buf *all = make_bufs(c);
	int64_t numbers[PEER_NUMBERS] = {0};
	if (all == NULL)
		return;
	if (e->text[0] != '\0')
		buf_bytes(&all[0], e->text, strlen(e->text));
	e->text[0] = '\0';
	c->exchange(c, all, all + c->size, numbers);
	for (uint32_t i = 0; i < c->size && c->rank == 0 && e->text[0] == '\0'; i++)
		if (all[c->size + i].len_bytes > 0)
			fail(e, 0, "%.*s", (int)all[c->size + i].len_bytes, (const char *)all[c->size + i].data);
	free_bufs(c, all);
}
