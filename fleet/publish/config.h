/* config.h - where records go: the [destination NAME] sections of mpitrace.conf. In: the policy, and files with
 * secrets.  Out: destinations that can be used. Secrets are only ever in files, never in the configuration itself. */
#pragma once

#include "base/error.h"
#include "base/vec.h"
#include "spank/policy/policy.h"

#include <stdbool.h>
#include <stdint.h>

struct publish_kind;

#define DESTINATIONS_MAX 32u
#define SECRET_BYTES_MAX 4096u

struct destination {
	const char *name; /* as all texts but the secrets: the policy's */
	const struct publish_kind *kind;
	const char *url, *path, *database, *org, *bucket, *user, *ca, *certificate, *key, *proxy, *table, *index,
		*instance, *dead_letters, *host, *sslmode;
	char *token, *password, *secret; /* of the files; ours */
	uint64_t batch, timeout_s, queue, backoff_s, backoff_max_s, port;
	uint64_t retention; /* months; 0: for ever */
	bool gzip;
	int64_t id; /* in the state */
};

struct destinations {
	VEC(struct destination) all;
};

/* All destinations of a policy. 0, or -errno with file, line and what to do; then there are none. */
int destinations_read(const struct policy *p, struct destinations *ret_all, struct error *e);
/* Secrets are overwritten first. Harmless for a zeroed one. */
void destinations_done(struct destinations *d);
