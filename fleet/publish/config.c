/* config.c - see config.h. */
#include "fleet/publish/config.h"
#include "fleet/publish/kind.h"

#include "base/buf_file.h"
#include "base/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum form { TEXT, PLACE, SECRET, NUMBER, YES_NO, KIND };

/* Every key of a destination once. docs/FLEET.md has this table. */
static const struct key_row {
	const char *name;
	enum form form;
	size_t at;
	uint64_t least, most;
} keys[] = {
	{"type", KIND, 0, 0, 0},
	{"url", TEXT, offsetof(struct destination, url), 0, 0},
	{"host", TEXT, offsetof(struct destination, host), 0, 0},
	{"port", NUMBER, offsetof(struct destination, port), 1, 65535},
	{"sslmode", TEXT, offsetof(struct destination, sslmode), 0, 0},
	{"retention", NUMBER, offsetof(struct destination, retention), 1, 1200},
	{"path", PLACE, offsetof(struct destination, path), 0, 0},
	{"database", TEXT, offsetof(struct destination, database), 0, 0},
	{"org", TEXT, offsetof(struct destination, org), 0, 0},
	{"bucket", TEXT, offsetof(struct destination, bucket), 0, 0},
	{"table", TEXT, offsetof(struct destination, table), 0, 0},
	{"index", TEXT, offsetof(struct destination, index), 0, 0},
	{"instance", TEXT, offsetof(struct destination, instance), 0, 0},
	{"user", TEXT, offsetof(struct destination, user), 0, 0},
	{"password_file", SECRET, offsetof(struct destination, password), 0, 0},
	{"token_file", SECRET, offsetof(struct destination, token), 0, 0},
	{"secret_file", SECRET, offsetof(struct destination, secret), 0, 0},
	{"ca", PLACE, offsetof(struct destination, ca), 0, 0},
	{"certificate", PLACE, offsetof(struct destination, certificate), 0, 0},
	{"key", PLACE, offsetof(struct destination, key), 0, 0},
	{"proxy", TEXT, offsetof(struct destination, proxy), 0, 0},
	{"dead_letters", PLACE, offsetof(struct destination, dead_letters), 0, 0},
	{"batch", NUMBER, offsetof(struct destination, batch), 1, 10000},
	{"timeout", NUMBER, offsetof(struct destination, timeout_s), 1, 3600},
	{"queue", NUMBER, offsetof(struct destination, queue), 1, 100000000},
	{"backoff", NUMBER, offsetof(struct destination, backoff_s), 0, 86400},
	{"backoff_max", NUMBER, offsetof(struct destination, backoff_max_s), 0, 86400},
	{"gzip", YES_NO, offsetof(struct destination, gzip), 0, 0},
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* ---- secrets ---- */

static int read_secret(const char *path, char **ret_text, struct error *e)
{
	struct buf b = {0};
	int fd = trusted_open(path, TRUSTED_SECRET, e);
	if (fd < 0)
		return fd;
	int rc = buf_read(&b, fd, SECRET_BYTES_MAX);
	if (rc < 0)
		fail(e, rc, "%s: %s", path, rc == -E2BIG ? "is longer than 4,096 bytes" : strerror(-rc));
	close(fd);
	while (rc == 0 && b.len_bytes > 0 && (b.data[b.len_bytes - 1] == '\n' || b.data[b.len_bytes - 1] == '\r'))
		b.len_bytes--;
	for (size_t i = 0; rc == 0 && i < b.len_bytes; i++)
		if (b.data[i] < 0x20 || b.data[i] == 0x7f)
			rc = fail(e, -EINVAL, "%s: holds a control character; a secret is one line of text", path);
	if (rc == 0 && b.len_bytes == 0)
		rc = fail(e, -EINVAL, "%s: is empty", path);
	if (rc == 0 && (*ret_text = strndup((const char *)b.data, b.len_bytes)) == NULL)
		rc = fail(e, -ENOMEM, "out of memory");
	if (b.data != NULL)
		explicit_bzero(b.data, b.cap_bytes);
	buf_done(&b);
	return rc;
}

/* ---- one key ---- */

static int take_number(const struct key_row *row, const char *text, uint64_t *ret_value, struct error *e)
{
	char *end;
	errno = 0;
	unsigned long long n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || n < row->least || n > row->most)
		return fail(e, -EINVAL, "%s takes a number from %llu to %llu", row->name,
			    (unsigned long long)row->least, (unsigned long long)row->most);
	*ret_value = n;
	return 0;
}

static int take_value(const struct key_row *row, const char *value, struct destination *d, struct error *e)
{
	void *at = (char *)d + row->at;
	if (row->form == KIND) {
		d->kind = publish_kind_find(value);
		return d->kind != NULL ? 0 : fail(e, -EINVAL, "unknown type; known: %s", PUBLISH_KIND_NAMES);
	}
	if (row->form == NUMBER)
		return take_number(row, value, at, e);
	if (row->form == YES_NO) {
		d->gzip = strcmp(value, "yes") == 0;
		return d->gzip || strcmp(value, "no") == 0 ? 0 : fail(e, -EINVAL, "%s is yes or no", row->name);
	}
	if (row->form != TEXT && *value != '/')
		return fail(e, -EINVAL, "%s must be an absolute path", row->name);
	if (row->form == SECRET)
		return *(char **)at == NULL ? read_secret(value, at, e) : 0;
	*(const char **)at = value;
	return 0;
}

static int fail_at(const struct policy *p, const struct policy_destination_key *k, const char *what, struct error *e)
{
	return fail(e, -EINVAL, "%s:%u: %s", policy_file(p, k->file), k->line, what);
}

static int take_key(const struct policy *p, const struct policy_destination_key *k, unsigned *seen,
		    struct destination *d, struct error *e)
{
	struct error why;
	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].name, k->key) != 0)
			continue;
		if ((*seen & 1u << i) != 0)
			return fail_at(p, k, "this key stands twice in its section", e);
		*seen |= 1u << i;
		return take_value(&keys[i], k->value, d, &why) == 0 ? 0 : fail_at(p, k, why.text, e);
	}
	return fail_at(p, k, "unknown key of a destination; mpitrace-publish(1) lists all", e);
}

/* ---- one destination ---- */

static const char *missing(const struct destination *d)
{
	if (d->kind == NULL)
		return "needs type = " PUBLISH_KIND_NAMES;
	if (d->kind->append != NULL)
		return d->path != NULL ? NULL : "needs path = FILE";
	if ((d->certificate == NULL) != (d->key == NULL))
		return "needs certificate and key, or none of them";
	if (d->kind->store != NULL)
		return d->kind->missing(d);
	if (d->url == NULL || (strncmp(d->url, "http://", 7) != 0 && strncmp(d->url, "https://", 8) != 0))
		return "needs url = http://HOST:PORT or https://HOST";
	if (strchr(d->url, '@') != NULL)
		return "has a name or password in its url: they belong into user and password_file";
	return d->kind->missing(d);
}

static int add(struct destinations *all, const char *name, struct error *e)
{
	struct destination d = {.name = name,
				.port = 5432,
				.batch = 500,
				.timeout_s = 30,
				.queue = 1000000,
				.backoff_s = 5,
				.backoff_max_s = 3600,
				.gzip = true};
	if (all->all.n == DESTINATIONS_MAX)
		return fail(e, -E2BIG, "more than %u destinations", DESTINATIONS_MAX);
	return vec_push(&all->all, d) == 0 ? 0 : fail(e, -ENOMEM, "out of memory");
}

/* Each would take what the other has appended for the rest of a write of its own, and cut it off. */
static bool same_file(const struct destination *a, const struct destination *b)
{
	struct stat x, y;
	if (a->path == NULL || b->path == NULL)
		return false;
	return strcmp(a->path, b->path) == 0 || (stat(a->path, &x) == 0 && stat(b->path, &y) == 0 &&
						 x.st_dev == y.st_dev && x.st_ino == y.st_ino && S_ISREG(x.st_mode));
}

static int check_all(const struct destinations *all, struct error *e)
{
	for (size_t i = 0; i < all->all.n; i++) {
		const struct destination *d = &all->all.at[i];
		const char *what = missing(d);
		if (what != NULL)
			return fail(e, -EINVAL, "[destination %s] %s", d->name, what);
		for (size_t k = 0; k < i; k++)
			if (same_file(&all->all.at[k], d))
				return fail(e, -EINVAL, "[destination %s] has the path of [destination %s]", d->name,
					    all->all.at[k].name);
	}
	return 0;
}

int destinations_read(const struct policy *p, struct destinations *ret_all, struct error *e)
{
	struct destinations all = {0};
	const struct policy_destination_key *k;
	unsigned seen = 0;
	int rc = 0;
	for (size_t i = 0; rc == 0 && (k = policy_destination_key(p, i)) != NULL; i++) {
		if (all.all.n == 0 || strcmp(all.all.at[all.all.n - 1].name, k->section) != 0) {
			rc = add(&all, k->section, e);
			seen = 0;
		}
		if (rc == 0)
			rc = take_key(p, k, &seen, &all.all.at[all.all.n - 1], e);
	}
	if (rc == 0)
		rc = check_all(&all, e);
	if (rc < 0)
		destinations_done(&all);
	else
		*ret_all = all;
	return rc;
}

static void forget(char *secret)
{
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

void destinations_done(struct destinations *d)
{
	for (size_t i = 0; i < d->all.n; i++) {
		forget(d->all.at[i].token);
		forget(d->all.at[i].password);
		forget(d->all.at[i].secret);
	}
	vec_done(&d->all);
}
