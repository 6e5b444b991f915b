/* web.c - see web.h. In: requests of whoever reaches the port.  Out: what the handler answers to those who may ask. */
#include "reports/web/web.h"
#include "base/loopback.h"
#include "reports/web/gate.h"
#include "reports/web/peers.h"
#include "reports/web/request.h"
#include "reports/web/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define THREADS 2u

struct web {
	int listener;
	struct gate *gate;
	struct MHD_Daemon *daemon;
	struct web_options o;
	uint16_t port;
	struct streams streams;
};

/* ---- who asks ---- */

struct seen {
	unsigned hosts, origins;
	const char *host, *origin;
	bool body;
};

static enum MHD_Result see_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct seen *s = context;
	(void)kind;
	if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
		s->hosts++;
		s->host = value;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_ORIGIN) == 0) {
		s->origins++;
		s->origin = value;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
		s->body = true;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0) {
		s->body |= value == NULL || strcmp(value, "0") != 0;
	}
	return MHD_YES;
}

/* 0, or the status of a refusal. */
static unsigned check_request(const struct web *w, struct MHD_Connection *connection, const char *method)
{
	struct seen s = {0};
	MHD_get_connection_values(connection, MHD_HEADER_KIND, see_header, &s);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	if (s.hosts > 1 || s.origins > 1 || s.body) /* nothing here takes a body */
		return MHD_HTTP_BAD_REQUEST;
	if (!host_is_known(s.host, w->o.hosts) || (s.origin != NULL && !origin_is_known(s.origin, w->o.hosts)))
		return MHD_HTTP_FORBIDDEN;
	return 0;
}

/* ---- answers ---- */

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
	static const char *const headers[][2] = {
		{MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Content-Security-Policy", "frame-ancestors 'none'"},
	};
	if (response == NULL)
		return MHD_NO; /* no memory: the connection is closed */
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	enum MHD_Result result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, uint64_t resource_bytes)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
	char range[64];
	if (response == NULL)
		return MHD_NO;
	if (status == MHD_HTTP_RANGE_NOT_SATISFIABLE) {
		snprintf(range, sizeof(range), "bytes */%llu", (unsigned long long)resource_bytes);
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_RANGE, range);
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	return send_response(connection, status, response);
}

/* The library closes its own descriptor when all is sent. */
static struct MHD_Response *part_of_file(int fd, uint64_t first, uint64_t len)
{
	if (len == 0)
		return MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct MHD_Response *response = own >= 0 ? MHD_create_response_from_fd_at_offset64(len, own, first) : NULL;
	if (response == NULL && own >= 0)
		close(own);
	return response;
}

/* RFC 6266. */
static void put_name(struct MHD_Response *response, const char *name)
{
	char text[NAME_MAX + 32];
	if (name == NULL || name[0] == '\0')
		return;
	snprintf(text, sizeof(text), "inline; filename=\"%s\"", name);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, text);
}

static enum MHD_Result answer_file(struct MHD_Connection *connection, const struct web_answer *a)
{
	uint64_t first, len;
	char text[96];
	const char *range = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_RANGE);
	int status = range_of(range, a->len_bytes, &first, &len);
	if (status == MHD_HTTP_RANGE_NOT_SATISFIABLE)
		return refuse(connection, (unsigned)status, a->len_bytes);
	struct MHD_Response *response = part_of_file(a->fd, first, len);
	if (response == NULL)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
	put_name(response, a->name);
	if (status == MHD_HTTP_PARTIAL_CONTENT) {
		snprintf(text, sizeof(text), "bytes %llu-%llu/%llu", (unsigned long long)first,
			 (unsigned long long)(first + len - 1), (unsigned long long)a->len_bytes);
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_RANGE, text);
	}
	return send_response(connection, (unsigned)status, response);
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, const struct web_answer *a)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(a->text_bytes, a->text, MHD_RESPMEM_MUST_FREE);
	if (response == NULL) {
		free(a->text);
		return MHD_NO;
	}
	if (a->type != NULL)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	if (a->policy != NULL)
		MHD_add_response_header(response, "Content-Security-Policy", a->policy);
	if (a->go_to != NULL)
		MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, a->go_to);
	if (a->download)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION, "attachment");
	return send_response(connection, a->status != 0 ? (unsigned)a->status : MHD_HTTP_OK, response);
}

static enum MHD_Result answer_stream(struct web *w, struct MHD_Connection *connection)
{
	gate_answers(w->gate, connection, true);
	struct MHD_Response *response = streams_response(&w->streams, connection);
	if (response != NULL)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "text/event-stream");
	return send_response(connection, MHD_HTTP_OK, response);
}

/* What the library makes of "%00" ends a string: nothing behind it would be looked at. */
static char asked_with_nul;

/* The address as it came is the first that is known of a request; what is returned becomes its state. */
static void *see_address(void *context, const char *address, struct MHD_Connection *connection)
{
	(void)context, (void)connection;
	return strstr(address, "%00") != NULL ? &asked_with_nul : NULL;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
			      const char *version, const char *upload, size_t *upload_bytes, void **state)
{
	struct web *w = context;
	struct web_answer a = {.fd = -1};
	static char asked_before;
	(void)version, (void)upload, (void)upload_bytes;
	if (*state != &asked_before)
		gate_answers(w->gate, connection, false);
	unsigned refusal = *state == &asked_with_nul ? MHD_HTTP_BAD_REQUEST : check_request(w, connection, method);
	if (refusal != 0)
		return refuse(connection, refusal, 0);
	if (*state == NULL) { /* whoever answers at the first call closes the connection */
		*state = &asked_before;
		return MHD_YES;
	}
	struct web_request r = {.path = behind_token(url, w->o.token), .internal = connection};
	if (r.path == NULL)
		return refuse(connection, MHD_HTTP_NOT_FOUND, 0);
	w->o.handler(w->o.context, &r, &a);
	switch (a.kind) {
	case WEB_FILE: {
		enum MHD_Result result = answer_file(connection, &a);
		if (a.given)
			close(a.fd);
		return result;
	}
	case WEB_TEXT:
		return answer_text(connection, &a);
	case WEB_STREAM:
		return answer_stream(w, connection);
	case WEB_NOTHING:
		break;
	}
	return refuse(connection, MHD_HTTP_NOT_FOUND, 0);
}

static const char *value_of(const struct web_request *r, enum MHD_ValueKind kind, const char *name)
{
	union {
		const void *constant;
		struct MHD_Connection *connection;
	} u = {r->internal}; /* the library's word for it has no const */
	return MHD_lookup_connection_value(u.connection, kind, name);
}

const char *web_query(const struct web_request *r, const char *name)
{
	return value_of(r, MHD_GET_ARGUMENT_KIND, name);
}

const char *web_header(const struct web_request *r, const char *name)
{
	return value_of(r, MHD_HEADER_KIND, name);
}

struct counted {
	const char *name;
	unsigned times;
};

static enum MHD_Result count_header(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct counted *c = context;
	(void)kind, (void)value;
	c->times += strcasecmp(name, c->name) == 0;
	return MHD_YES;
}

unsigned web_header_times(const struct web_request *r, const char *name)
{
	struct counted c = {.name = name};
	union {
		const void *constant;
		struct MHD_Connection *connection;
	} u = {r->internal};
	MHD_get_connection_values(u.connection, MHD_HEADER_KIND, count_header, &c);
	return c.times;
}

/* ---- the server ---- */

static void streams_ended(void *context)
{
	web_ping(context);
}

static int start_gate(struct web *w)
{
	struct gate_options o = {.token = w->o.token,
				 .patience_ms = w->o.patience_ms > 0 ? w->o.patience_ms : WEB_PATIENCE_MS,
				 .streams_ended = streams_ended,
				 .context = w};
	return gate_create(&o, w->listener, &w->gate);
}

/* It accepts nobody itself, and has room for more than the gate lets in: who has left is told before its place is free,
 * and each thread has a share of all places. */
static int start_daemon(struct web *w)
{
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET |
			 (w->o.streams ? MHD_ALLOW_SUSPEND_RESUME : 0);
	w->daemon = MHD_start_daemon(flags, 0, NULL, NULL, answer, w, MHD_OPTION_NOTIFY_CONNECTION, gate_connected,
				     w->gate, MHD_OPTION_NOTIFY_COMPLETED, gate_completed, w->gate,
				     MHD_OPTION_URI_LOG_CALLBACK, see_address, w, MHD_OPTION_CONNECTION_LIMIT,
				     2 * THREADS * PEERS_SERVED_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				     (size_t)WEB_HEADERS_MAX * 2, MHD_OPTION_THREAD_POOL_SIZE, THREADS, MHD_OPTION_END);
	return w->daemon != NULL ? gate_open(w->gate, w->daemon) : -EIO;
}

static void done(struct web *w)
{
	if (w->gate != NULL)
		gate_close(w->gate);
	streams_end(&w->streams);
	if (w->daemon != NULL)
		MHD_stop_daemon(w->daemon);
	gate_destroy(w->gate);
	if (w->listener >= 0)
		close(w->listener);
	streams_done(&w->streams);
	free(w);
}

int web_start(const struct web_options *o, struct web **ret_web, struct error *e)
{
	struct web *w = calloc(1, sizeof(*w));
	if (w == NULL || streams_begin(&w->streams) < 0) {
		free(w);
		return fail(e, -ENOMEM, "no memory for a server");
	}
	w->o = *o;
	signal(SIGPIPE, SIG_IGN);
	int code = w->listener = loopback_listen(o->port, &w->port);
	code = code >= 0 ? start_gate(w) : code;
	code = code == 0 ? start_daemon(w) : code;
	if (code == 0) {
		*ret_web = w;
		return 0;
	}
	done(w);
	return fail(e, code, "cannot listen on 127.0.0.1 port %u: %s; choose another with --port", o->port,
		    strerror(-code));
}

uint16_t web_port(const struct web *w)
{
	return w->port;
}

void web_announce(struct web *w, const char *event, const char *data)
{
	streams_announce(&w->streams, event, data);
}

void web_ping(struct web *w)
{
	streams_ping(&w->streams);
}

unsigned web_readers(struct web *w)
{
	return streams_readers(&w->streams);
}

void web_stop(struct web *w)
{
	done(w);
}
