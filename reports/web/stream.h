/* stream.h - who listens to announcements. Each has a place in the ring of the last WEB_EVENTS_KEPT events and reads on
 * when it can; nobody waits for it. */
#pragma once

#include "reports/web/web.h"

#include <microhttpd.h>
#include <pthread.h>

struct stream_event {
	char *text; /* as it is sent */
	size_t len_bytes;
};

struct reader;

struct streams {
	pthread_mutex_t lock;
	struct stream_event kept[WEB_EVENTS_KEPT]; /* event n at n % WEB_EVENTS_KEPT */
	uint64_t next;				   /* number of the next event, from 0 */
	struct reader *readers;
	bool over;
};

int streams_begin(struct streams *s);
/* A response that goes on until the peer leaves or streams_end(). NULL without memory. */
struct MHD_Response *streams_response(struct streams *s, struct MHD_Connection *connection);
void streams_announce(struct streams *s, const char *event, const char *data);
/* Send everybody a comment, so that it is noticed who has gone. */
void streams_ping(struct streams *s);
/* How many there are. */
unsigned streams_readers(struct streams *s);
/* All answers end. Before the daemon is stopped. */
void streams_end(struct streams *s);
void streams_done(struct streams *s);
