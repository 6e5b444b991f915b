/* stream.c - see stream.h. A reader for whom there is nothing is suspended, and resumed by what comes next. */
#include "reports/web/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (WEB_EVENT_MAX + 256u)
#define PING ":\n\n"

struct reader {
	struct streams *streams;
	struct MHD_Connection *connection;
	struct reader *before, *after;
	uint64_t at; /* the event that it reads next */
	size_t sent; /* bytes of text */
	size_t len_bytes;
	bool suspended, ping;
	char text[TEXT_MAX];
};

int streams_begin(struct streams *s)
{
	*s = (struct streams){0};
	return -pthread_mutex_init(&s->lock, NULL);
}

/* Under the lock. */
static void wake(struct reader *r)
{
	if (!r->suspended)
		return;
	r->suspended = false;
	MHD_resume_connection(r->connection);
}

static void wake_all(struct streams *s)
{
	for (struct reader *r = s->readers; r != NULL; r = r->after)
		wake(r);
}

/* Under the lock: the next text of r, of no length when there is none. */
static void next_text(struct streams *s, struct reader *r)
{
	uint64_t oldest = s->next > WEB_EVENTS_KEPT ? s->next - WEB_EVENTS_KEPT : 0;
	r->sent = 0;
	r->len_bytes = 0;
	if (r->at < oldest) {
		r->len_bytes =
			(size_t)snprintf(r->text, TEXT_MAX, "event: missed\ndata: %" PRIu64 "\n\n", oldest - r->at);
		r->at = oldest;
	} else if (r->at < s->next) {
		const struct stream_event *e = &s->kept[r->at % WEB_EVENTS_KEPT];
		memcpy(r->text, e->text, e->len_bytes);
		r->len_bytes = e->len_bytes;
		r->at++;
	} else if (r->ping) {
		r->len_bytes = (size_t)snprintf(r->text, TEXT_MAX, PING);
	}
	r->ping = false;
}

/* The daemon asks for what is to be sent. */
static ssize_t read_stream(void *context, uint64_t position, char *buffer, size_t max)
{
	struct reader *r = context;
	struct streams *s = r->streams;
	ssize_t n = 0;
	(void)position;
	pthread_mutex_lock(&s->lock);
	if (r->sent == r->len_bytes)
		next_text(s, r);
	if (r->sent < r->len_bytes) {
		n = (ssize_t)(r->len_bytes - r->sent < max ? r->len_bytes - r->sent : max);
		memcpy(buffer, r->text + r->sent, (size_t)n);
		r->sent += (size_t)n;
	} else if (s->over) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		r->suspended = true;
		MHD_suspend_connection(r->connection);
	}
	pthread_mutex_unlock(&s->lock);
	return n;
}

static void leave(void *context)
{
	struct reader *r = context;
	struct streams *s = r->streams;
	pthread_mutex_lock(&s->lock);
	*(r->before != NULL ? &r->before->after : &s->readers) = r->after;
	if (r->after != NULL)
		r->after->before = r->before;
	pthread_mutex_unlock(&s->lock);
	free(r);
}

struct MHD_Response *streams_response(struct streams *s, struct MHD_Connection *connection)
{
	struct reader *r = calloc(1, sizeof(*r));
	if (r == NULL)
		return NULL;
	r->streams = s;
	r->connection = connection;
	r->ping = true; /* its browser knows at once that it is heard */
	pthread_mutex_lock(&s->lock);
	r->at = s->next > 0 ? s->next - 1 : 0; /* the last one says where things stand */
	r->after = s->readers;
	if (r->after != NULL)
		r->after->before = r;
	s->readers = r;
	pthread_mutex_unlock(&s->lock);
	struct MHD_Response *response =
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, TEXT_MAX, read_stream, r, leave);
	if (response == NULL)
		leave(r);
	return response;
}

void streams_announce(struct streams *s, const char *event, const char *data)
{
	char *text = malloc(TEXT_MAX);
	if (text == NULL)
		return; /* the readers are told how many they missed by its number */
	pthread_mutex_lock(&s->lock);
	int n = snprintf(text, TEXT_MAX, "id: %" PRIu64 "\nevent: %.64s\ndata: %.*s\n\n", s->next, event, WEB_EVENT_MAX,
			 data);
	struct stream_event *e = &s->kept[s->next++ % WEB_EVENTS_KEPT];
	free(e->text);
	*e = (struct stream_event){text, (size_t)n};
	wake_all(s);
	pthread_mutex_unlock(&s->lock);
}

void streams_ping(struct streams *s)
{
	pthread_mutex_lock(&s->lock);
	for (struct reader *r = s->readers; r != NULL; r = r->after)
		r->ping = true;
	wake_all(s);
	pthread_mutex_unlock(&s->lock);
}

unsigned streams_readers(struct streams *s)
{
	unsigned n = 0;
	pthread_mutex_lock(&s->lock);
	for (const struct reader *r = s->readers; r != NULL; r = r->after)
		n++;
	pthread_mutex_unlock(&s->lock);
	return n;
}

void streams_end(struct streams *s)
{
	pthread_mutex_lock(&s->lock);
	s->over = true;
	wake_all(s);
	pthread_mutex_unlock(&s->lock);
}

void streams_done(struct streams *s)
{
	for (size_t i = 0; i < WEB_EVENTS_KEPT; i++)
		free(s->kept[i].text);
	pthread_mutex_destroy(&s->lock);
}
