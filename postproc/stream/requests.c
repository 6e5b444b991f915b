/* requests.c - the requests of one thread, in order of their serial numbers (format/sig.h); pages of which all are over
 * are used again. */
#include "postproc/stream/stream.h"

struct request request_gone = {.sig = NONE};

struct request *request_start(struct shard *sh, struct requests_of *r, uint32_t sig)
{
	size_t place = r->count % REQUESTS_PAGE;
	if (place == 0) {
		if (r->last != NULL && r->last->live == 0) { /* while it was the last it was kept */
			slab_give(&sh->pages, r->last);
			r->pages.at[r->pages.n - 1] = NULL;
		}
		struct request_page *page = slab_take(&sh->pages);
		if (page == NULL || vec_push(&r->pages, page) < 0)
			return NULL;
		page->live = 0;
		r->last = page;
	}
	struct request *q = &r->last->at[place];
	*q = (struct request){.sig = sig};
	r->last->live++;
	r->count++;
	return q;
}

struct request *request_find(const struct requests_of *r, uint64_t serial)
{
	if (serial >= r->count)
		return NULL;
	struct request_page *page = r->pages.at[serial / REQUESTS_PAGE];
	return page == NULL ? &request_gone : &page->at[serial % REQUESTS_PAGE];
}

void request_over(struct shard *sh, struct requests_of *r, uint64_t serial, struct request *q)
{
	if (q == &request_gone || q->sig == NONE)
		return;
	struct request_page *page = r->pages.at[serial / REQUESTS_PAGE];
	q->sig = NONE;
	if (--page->live == 0 && page != r->last) {
		r->pages.at[serial / REQUESTS_PAGE] = NULL;
		slab_give(&sh->pages, page);
	}
}
