/* hardware.c - see hardware.h. scontrol writes words of Key=Value with blanks between; some values (OS, Reason,
 * Comment) hold blanks themselves, so a key counts the first time that it stands after a node's name: all that matter
 * stand before what people write. */
#include "topology/hardware.h"

#include "base/buf.h"
#include "base/buf_file.h"
#include "format/limits.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define WHITE " \t\r\n"
#define PACKAGES_MAX 4096u
#define CORES_MAX 4096u

static bool is_node(const void *context, uint32_t at)
{
	const void *const *two = context;
	const struct hardware *hw = two[0];
	return strcmp(hw->nodes.at[at].name, two[1]) == 0;
}

static uint32_t find(const struct hardware *hw, const char *name)
{
	const void *two[] = {hw, name};
	return index_find(&hw->index, index_hash(INDEX_SEED, name, strlen(name)), is_node, two);
}

struct reader {
	const char *file;
	struct hardware *hw;
	unsigned line;
	struct error *e;
};

static int add_node(struct reader *r, const char *name, size_t len)
{
	struct hardware *hw = r->hw;
	if (len == 0 || hw->nodes.n == FABRIC_NODES_MAX)
		return fail(r->e, -EBADMSG, "%s:%u: %s", r->file, r->line,
			    len == 0 ? "a node without a name" : "too many nodes");
	char *copy = strndup(name, len);
	if (copy == NULL)
		return fail(r->e, -ENOMEM, "out of memory");
	if (find(hw, copy) != INDEX_NONE) {
		int code = fail(r->e, -EBADMSG, "%s:%u: node \"%.80s\" stands twice", r->file, r->line, copy);
		free(copy);
		return code;
	}
	if (vec_push(&hw->nodes, (struct hardware_node){.name = copy}) < 0) {
		free(copy);
		return fail(r->e, -ENOMEM, "out of memory");
	}
	if (index_add(&hw->index, index_hash(INDEX_SEED, copy, len), (uint32_t)hw->nodes.n - 1) < 0)
		return fail(r->e, -ENOMEM, "out of memory");
	return 0;
}

static int set_count(struct reader *r, uint32_t *at, const char *word, size_t len, uint32_t most)
{
	const char *value = memchr(word, '=', len) + 1;
	char *end;
	if (*at > 0)
		return 0;
	unsigned long n = strtoul(value, &end, 10);
	if (*value < '1' || *value > '9' || end != word + len || n > most)
		return fail(r->e, -EBADMSG, "%s:%u: \"%.*s\": not a number from 1 to %u", r->file, r->line,
			    (int)(len < 80 ? len : 80), word, most);
	*at = (uint32_t)n;
	return 0;
}

static bool begins(const char *word, size_t len, const char *key)
{
	return len >= strlen(key) && strncmp(word, key, strlen(key)) == 0;
}

static int read_word(struct reader *r, const char *word, size_t len)
{
	static const char name[] = "NodeName=";
	if (begins(word, len, name))
		return add_node(r, word + strlen(name), len - strlen(name));
	if (r->hw->nodes.n == 0)
		return 0;
	struct hardware_node *node = &r->hw->nodes.at[r->hw->nodes.n - 1];
	if (begins(word, len, "CoresPerSocket="))
		return set_count(r, &node->cores, word, len, CORES_MAX);
	if (begins(word, len, "Sockets="))
		return set_count(r, &node->packages, word, len, PACKAGES_MAX);
	return 0;
}

static int check(const struct reader *r)
{
	if (r->hw->nodes.n == 0)
		return fail(r->e, -EBADMSG, "%s: no node in it; it is to be what `scontrol show node` prints", r->file);
	for (size_t i = 0; i < r->hw->nodes.n; i++) {
		const struct hardware_node *node = &r->hw->nodes.at[i];
		if (node->packages == 0 || node->cores == 0)
			return fail(r->e, -EBADMSG, "%s: node \"%.80s\" has no Sockets= or no CoresPerSocket=", r->file,
				    node->name);
		if (node->packages * node->cores > CORES_MAX)
			return fail(r->e, -EBADMSG, "%s: node \"%.80s\" has more than %u cores", r->file, node->name,
				    CORES_MAX);
	}
	return 0;
}

int hardware_parse(const char *name, const char *text, size_t len_bytes, struct hardware **ret_hardware,
		   struct error *e)
{
	struct hardware *hw = calloc(1, sizeof(*hw));
	struct reader r = {.file = name, .hw = hw, .line = 1, .e = e};
	int code = 0;
	if (hw == NULL)
		return fail(e, -ENOMEM, "out of memory");
	if (memchr(text, '\0', len_bytes) != NULL)
		code = fail(e, -EBADMSG, "%s: not a text", name);
	while (code == 0 && *text != '\0') {
		size_t len = strcspn(text, WHITE);
		code = len > 0 ? read_word(&r, text, len) : 0;
		text += len;
		for (; *text != '\0' && strchr(WHITE, *text) != NULL; text++)
			r.line += *text == '\n';
	}
	code = code == 0 ? check(&r) : code;
	if (code == 0)
		*ret_hardware = hw;
	else
		hardware_free(hw);
	return code;
}

int hardware_read(const char *path, struct hardware **ret_hardware, struct error *e)
{
	_cleanup_buf_ struct buf text = {0};
	int code = buf_text(&text, path, FABRIC_BYTES_MAX, e);
	if (code < 0)
		return code;
	return hardware_parse(path, (const char *)text.data, text.len_bytes - 1, ret_hardware, e);
}

void hardware_free(struct hardware *hw)
{
	if (hw == NULL)
		return;
	for (size_t i = 0; i < hw->nodes.n; i++)
		free(hw->nodes.at[i].name);
	vec_done(&hw->nodes);
	index_done(&hw->index);
	free(hw);
}

const struct hardware_node *hardware_find(const struct hardware *hw, const char *name)
{
	uint32_t at = find(hw, name);
	return at != INDEX_NONE ? &hw->nodes.at[at] : NULL;
}
