/* gate.c - see gate.h. In: connections of whoever reaches the port.  Out: those whose request is there, for the
 * library; the end of those that hold up others. One thread, which waits for nobody. */
#include "reports/web/gate.h"
#include "base/clock.h"
#include "reports/web/peers.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_MAX (PEERS_MAX + 2)
#define ACCEPTED_AT_ONCE 64 /* then those that wait are looked at again, before they have to make room */

struct gate {
	struct gate_options o;
	int listener, events, wake;
	struct MHD_Daemon *daemon;
	pthread_t thread;
	bool runs;
	atomic_bool over;
	pthread_mutex_t lock;
	struct peers peers; /* places are given away by the thread only */
};

static int watch(const struct gate *g, int fd, uint32_t events, struct peer *p)
{
	return epoll_ctl(g->events, EPOLL_CTL_ADD, fd,
			 &(struct epoll_event){.events = events | EPOLLET, .data.ptr = p});
}

/* ---- the thread ---- */

/* false: there is nobody more, or no descriptor for them. */
static bool let_in(struct gate *g, int64_t now_ns)
{
	int fd = accept4(g->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return errno == ECONNABORTED || errno == EINTR || (errno == EMFILE && peers_make_way(&g->peers));
	struct peer *p = peers_place(&g->peers);
	*p = (struct peer){.state = PEER_WAITING, .fd = fd, .began_ns = now_ns, .since_ns = now_ns};
	if (watch(g, fd, EPOLLIN | EPOLLRDHUP, p) < 0)
		peer_drop(p);
	else
		peer_examine(p, g->o.token, false);
	return true;
}

/* The library may tell of its begin and of its end before it returns: the lock is not held. */
static bool hand_over(struct gate *g)
{
	struct sockaddr_in nobody = {.sin_family = AF_INET};
	pthread_mutex_lock(&g->lock);
	struct peer *p = peers_next(&g->peers);
	if (p != NULL) {
		epoll_ctl(g->events, EPOLL_CTL_DEL, p->fd, NULL);
		p->state = PEER_HANDED;
		p->since_ns = now_ns();
	}
	pthread_mutex_unlock(&g->lock);
	if (p == NULL || MHD_add_connection(g->daemon, p->fd, (struct sockaddr *)&nobody, sizeof(nobody)) == MHD_YES)
		return p != NULL;
	pthread_mutex_lock(&g->lock);
	p->state = PEER_NONE; /* the library has closed it */
	pthread_mutex_unlock(&g->lock);
	return true;
}

/* true: there may be more at once. */
static bool turn(struct gate *g, const struct epoll_event *events, int n)
{
	int64_t now = now_ns();
	uint64_t times;
	bool more = true;
	pthread_mutex_lock(&g->lock);
	for (int i = 0; i < n; i++) {
		struct peer *p = events[i].data.ptr;
		if (p != NULL && p->state == PEER_WAITING)
			peer_examine(p, g->o.token, (events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0);
	}
	for (int i = 0; more && i < ACCEPTED_AT_ONCE; i++)
		more = let_in(g, now);
	(void)!read(g->wake, &times, sizeof(times));
	unsigned streams = peers_keep_time(&g->peers, now);
	pthread_mutex_unlock(&g->lock);
	while (hand_over(g))
		;
	if (streams > 0)
		g->o.streams_ended(g->o.context);
	return more;
}

static int timeout_ms(struct gate *g)
{
	pthread_mutex_lock(&g->lock);
	int ms = peers_timeout_ms(&g->peers);
	pthread_mutex_unlock(&g->lock);
	return ms;
}

static void *run(void *context)
{
	struct gate *g = context;
	struct epoll_event events[EVENTS_MAX];
	bool more = false;
	while (!atomic_load(&g->over)) {
		int n = epoll_wait(g->events, events, EVENTS_MAX, more ? 0 : timeout_ms(g));
		more = turn(g, events, n);
	}
	return NULL;
}

static void wake(const struct gate *g)
{
	(void)!write(g->wake, &(uint64_t){1}, sizeof(uint64_t));
}

/* ---- what the library tells ---- */

static struct peer *peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return i != NULL ? i->socket_context : NULL;
}

void gate_connected(void *gate, struct MHD_Connection *connection, void **peer,
		    enum MHD_ConnectionNotificationCode what)
{
	struct gate *g = gate;
	struct peer *p = *peer;
	pthread_mutex_lock(&g->lock);
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		*peer = p = peers_by_fd(&g->peers, fd);
		if (p != NULL)
			p->is_known = true;
	} else if (p != NULL) {
		p->state = PEER_NONE;
		if (peers_wait(&g->peers))
			wake(g);
	}
	pthread_mutex_unlock(&g->lock);
}

void gate_answers(struct gate *g, struct MHD_Connection *connection, bool stream)
{
	struct peer *p = peer_of(connection);
	unsigned ended = 0;
	if (p == NULL)
		return;
	pthread_mutex_lock(&g->lock);
	p->state = PEER_ANSWERED;
	p->since_ns = now_ns();
	p->is_stream = stream;
	if (stream) {
		p->began_ns = p->since_ns;
		ended = peers_bound_streams(&g->peers);
	}
	pthread_mutex_unlock(&g->lock);
	if (ended > 0)
		g->o.streams_ended(g->o.context);
}

void gate_completed(void *gate, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode why)
{
	struct gate *g = gate;
	struct peer *p = peer_of(connection);
	(void)state, (void)why;
	if (p == NULL)
		return;
	pthread_mutex_lock(&g->lock);
	p->state = PEER_IDLE;
	p->since_ns = now_ns();
	p->is_stream = false;
	if (peers_wait(&g->peers))
		wake(g);
	pthread_mutex_unlock(&g->lock);
}

/* ---- its life ---- */

int gate_create(const struct gate_options *o, int listener, struct gate **ret_gate)
{
	struct gate *g = calloc(1, sizeof(*g));
	if (g == NULL)
		return -ENOMEM;
	*g = (struct gate){.o = *o, .listener = listener, .peers.patience_ns = o->patience_ms * 1000000ll};
	pthread_mutex_init(&g->lock, NULL);
	g->events = epoll_create1(EPOLL_CLOEXEC);
	g->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int code = g->events < 0 || g->wake < 0 || watch(g, listener, EPOLLIN, NULL) < 0 ||
				   watch(g, g->wake, EPOLLIN, NULL) < 0
			   ? -errno
			   : 0;
	if (code < 0)
		gate_destroy(g);
	else
		*ret_gate = g;
	return code;
}

int gate_open(struct gate *g, struct MHD_Daemon *daemon)
{
	g->daemon = daemon;
	int code = -pthread_create(&g->thread, NULL, run, g);
	g->runs = code == 0;
	return code;
}

void gate_close(struct gate *g)
{
	if (!g->runs)
		return;
	atomic_store(&g->over, true);
	wake(g);
	pthread_join(g->thread, NULL);
	g->runs = false;
}

void gate_destroy(struct gate *g)
{
	if (g == NULL)
		return;
	for (struct peer *p = g->peers.at; p < g->peers.at + PEERS_MAX; p++)
		if (p->state == PEER_WAITING || p->state == PEER_READY)
			peer_drop(p);
	if (g->events >= 0)
		close(g->events);
	if (g->wake >= 0)
		close(g->wake);
	pthread_mutex_destroy(&g->lock);
	free(g);
}
