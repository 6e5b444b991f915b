/* peers.h - the connections of a server: which there are, who is next, who has to go. Private to gate.c and peers.c.
 *
 *	accepted -> WAITING -> READY -> HANDED -> ANSWERED <-> IDLE -> gone
 *	             head     room     library    request
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PEERS_WAITING_MAX 256 /* outside; then the oldest goes, who has no token before who has */
#define PEERS_SERVED_MAX 64   /* inside */
#define PEERS_RESERVE 16      /* of them, for who has the token */
#define PEERS_STREAMS_MAX 32  /* of them; then the oldest goes */
#define PEERS_MAX (PEERS_WAITING_MAX + PEERS_SERVED_MAX)
#define PEERS_HEAD_MAX 32768   /* bytes of a head that are waited for */
#define PEERS_ARGUMENTS_MAX 64 /* of an address; of some hundred the library has no room for any answer */
#define PEERS_STEP_BYTES 65536 /* of an answer; to take as much, or all there is, is progress */
#define PEERS_HURRY_NS 100000000ll

enum peer_state { PEER_NONE, PEER_WAITING, PEER_READY, PEER_HANDED, PEER_ANSWERED, PEER_IDLE };

/* Outside the descriptor is ours to close. Inside it is the library's, which hears of shutdown(2) as if the peer had
 * left, and closes it after it has told so. */
struct peer {
	enum peer_state state;
	int fd;
	bool has_token;
	bool is_known;	/* the library has told of it, and will tell of its end */
	bool is_stream; /* what is answered */
	bool is_closing;
	int64_t began_ns; /* the connection, or the stream */
	int64_t since_ns; /* of its state, or of the last progress of its answer */
	uint64_t taken_bytes;
};

struct peers {
	struct peer at[PEERS_MAX];
	int64_t patience_ns;
};

/* A place for one more outside, if need be another's. */
struct peer *peers_place(struct peers *s);
/* End who has been outside longest, first of those without the token. false: nobody is outside. */
bool peers_make_way(struct peers *s);
/* See whether the head is there; one that cannot be answered is refused. left: it says nothing more. */
void peer_examine(struct peer *p, const char *token, bool left);
void peer_drop(struct peer *p);
/* Whose head is whole and for whom there is room, or NULL. The newest is first: in a crowd all others would wait for
 * long, and whoever is not of it came last. */
struct peer *peers_next(struct peers *s);
/* Does anybody wait to be next? */
bool peers_wait(const struct peers *s);
/* That was handed over, and of which the library has not told yet; or NULL. */
struct peer *peers_by_fd(struct peers *s, int fd);
/* End what takes too long, and what has to make room. How many streams were ended. */
unsigned peers_keep_time(struct peers *s, int64_t now_ns);
/* The same for a stream more than there may be. */
unsigned peers_bound_streams(struct peers *s);
/* When to do so next: -1 for when something happens. */
int peers_timeout_ms(const struct peers *s);
