/* fabric_conf.c - topology.conf(5), and what `scontrol show topology` prints of it: lines of Key=Value, keys in any
 * case, a `#` begins a comment, a backslash at the end of a line goes on in the next one. */
#include "topology/fabric_build.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PAIRS_MAX 8

struct pair {
	char *key, *value;
};

struct line {
	struct pair pairs[PAIRS_MAX];
	unsigned n, number;
};

struct reader {
	struct fabric *f;
	char *at, *end; /* what is left of a copy that is cut into words */
	unsigned line;
	bool has_kind;
	struct error *e;
};

/* Copy the next line, with those that continue it, over itself without comment. False: there is none. */
static bool next_line(struct reader *r, char **ret_text, unsigned *ret_number)
{
	char *from = r->at, *to = r->at;
	*ret_text = to;
	*ret_number = r->line + 1;
	while (from < r->end) {
		char *newline = memchr(from, '\n', (size_t)(r->end - from));
		char *stop = newline != NULL ? newline : r->end;
		char *hash = memchr(from, '#', (size_t)(stop - from));
		char *last = hash != NULL ? hash : stop;
		r->line++;
		while (last > from && isspace((unsigned char)last[-1]))
			last--;
		bool goes_on = hash == NULL && last > from && last[-1] == '\\' && newline != NULL;
		size_t len = (size_t)(last - from) - goes_on;
		memmove(to, from, len);
		to += len;
		from = newline != NULL ? newline + 1 : r->end;
		if (goes_on) {
			*to++ = ' ';
			continue;
		}
		r->at = from;
		*to = '\0';
		return true;
	}
	r->at = from;
	*to = '\0';
	return to > *ret_text; /* the file ends with a backslash */
}

/* The word at *at, which moves behind it; quotes hold blanks together and fall away. */
static char *take_value(char **at)
{
	char *word = *at, *to = *at;
	bool quoted = false;
	for (; **at != '\0' && (quoted || !isspace((unsigned char)**at)); ++*at) {
		if (**at == '"')
			quoted = !quoted;
		else
			*to++ = **at;
	}
	*at += **at != '\0';
	*to = '\0';
	return quoted ? NULL : word;
}

static int split(struct reader *r, char *text, struct line *l)
{
	l->n = 0;
	for (text += strspn(text, " \t\r\f\v"); *text != '\0'; text += strspn(text, " \t\r\f\v")) {
		size_t key_len = strcspn(text, "= \t");
		char *equals = text + key_len + strspn(text + key_len, " \t");
		if (*equals != '=' || key_len == 0)
			return fail(r->e, -EBADMSG, "%s:%u: \"%.*s\" is not Key=Value", r->f->file, l->number,
				    (int)(key_len < 80 ? key_len : 80), text);
		if (l->n == PAIRS_MAX)
			return fail(r->e, -EBADMSG, "%s:%u: more than %u values", r->f->file, l->number, PAIRS_MAX);
		struct pair *p = &l->pairs[l->n++];
		p->key = text;
		text[key_len] = '\0';
		text = equals + 1 + strspn(equals + 1, " \t");
		p->value = take_value(&text);
		if (p->value == NULL)
			return fail(r->e, -EBADMSG, "%s:%u: a quotation mark is not closed", r->f->file, l->number);
	}
	return 0;
}

/* The value of a key, NULL if the line has none; what is left is not known. */
static const char *take_pair(struct line *l, const char *key)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->pairs[i].key != NULL && strcasecmp(l->pairs[i].key, key) == 0) {
			l->pairs[i].key = NULL;
			return l->pairs[i].value;
		}
	return NULL;
}

static int read_sizes(struct reader *r, const char *sizes, unsigned line)
{
	char one[32];
	for (;;) {
		size_t len = strcspn(sizes, ",");
		size_t kept = len < sizeof(one) - 1 ? len : sizeof(one) - 1;
		memcpy(one, sizes, kept);
		one[kept] = '\0';
		int code = fabric_add_size(r->f, one, line, r->e);
		if (code < 0 || sizes[len] == '\0')
			return code;
		sizes += len + 1;
	}
}

static int set_kind(struct reader *r, enum fabric_kind kind, unsigned line)
{
	if (r->has_kind && r->f->kind != kind)
		return fail(r->e, -EBADMSG, "%s:%u: a %s, where lines before are of a %s", r->f->file, line,
			    fabric_kind_name(kind), fabric_kind_name(r->f->kind));
	r->has_kind = true;
	r->f->kind = kind;
	return 0;
}

/* scontrol tells the size of each block, and of blocks put together, not the list of sizes. */
static int note_size(struct reader *r, const char *size, unsigned line)
{
	for (unsigned i = 0; i < r->f->nsizes; i++)
		if (strtoul(size, NULL, 10) == r->f->sizes[i])
			return 0;
	return fabric_add_size(r->f, size, line, r->e);
}

/* What only scontrol prints. Of a switch above others it lists all nodes below as its own: these are left to those
 * that they hang on. True: the line says nothing else. */
static int take_printed(struct reader *r, struct line *l, bool *ret_done)
{
	const char *level = take_pair(l, "Level"), *size = take_pair(l, "BlockSize");
	const char *together = take_pair(l, "AggregatedBlock");
	take_pair(l, "BlockIndex");
	if (level != NULL && strcmp(level, "0") != 0)
		take_pair(l, "Nodes");
	if (together != NULL)
		take_pair(l, "Nodes");
	*ret_done = together != NULL;
	int code = size != NULL || together != NULL ? set_kind(r, FABRIC_BLOCK, l->number) : 0;
	return code == 0 && size != NULL ? note_size(r, size, l->number) : code;
}

static int read_line(struct reader *r, struct line *l)
{
	static const struct {
		const char *key;
		enum fabric_kind kind;
	} names[] = {{"SwitchName", FABRIC_TREE}, {"BlockName", FABRIC_BLOCK}, {"RingName", FABRIC_RING}};
	const char *sizes = take_pair(l, "BlockSizes");
	bool done = false;
	int code = take_printed(r, l, &done);
	if (code == 0 && sizes != NULL) {
		code = set_kind(r, FABRIC_BLOCK, l->number);
		code = code < 0 ? code : read_sizes(r, sizes, l->number);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && code == 0 && !done; i++) {
		const char *name = take_pair(l, names[i].key);
		if (name == NULL)
			continue;
		const char *children = names[i].kind == FABRIC_TREE ? take_pair(l, "Switches") : NULL;
		if (names[i].kind == FABRIC_TREE)
			take_pair(l, "LinkSpeed"); /* in no unit, and Slurm does not use it */
		const char *nodes = take_pair(l, "Nodes");
		code = set_kind(r, names[i].kind, l->number);
		if (code == 0 && nodes == NULL && names[i].kind != FABRIC_TREE)
			code = fail(r->e, -EBADMSG, "%s:%u: \"%.80s\" has no Nodes=", r->f->file, l->number, name);
		if (code == 0)
			code = fabric_add(r->f, name, l->number, nodes, children, r->e);
	}
	for (unsigned i = 0; i < l->n && code == 0; i++)
		if (l->pairs[i].key != NULL)
			code = fail(r->e, -EBADMSG, "%s:%u: \"%.80s=\" is not expected here", r->f->file, l->number,
				    l->pairs[i].key);
	return code;
}

int fabric_from_conf(struct fabric *f, const char *text, size_t len_bytes, struct error *e)
{
	char *copy = malloc(len_bytes + 2), *line;
	struct reader r = {.f = f, .at = copy, .e = e};
	struct line l;
	int code = 0;
	if (copy == NULL)
		return fail(e, -ENOMEM, "out of memory");
	memcpy(copy, text, len_bytes);
	r.end = copy + len_bytes;
	f->kind = FABRIC_TREE;
	while (code == 0 && next_line(&r, &line, &l.number)) {
		code = split(&r, line, &l);
		code = code < 0 ? code : read_line(&r, &l);
	}
	free(copy);
	return code;
}
