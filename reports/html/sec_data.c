/* sec_data.c - the analysis inside the page, for whoever has only the page: text that no browser runs or shows.
 * In: the analysis.  Out: one block of JSON; members that are too large for a page are left out by name. */
#include "base/utf8.h"
#include "reports/html/section.h"

#include <stdlib.h>
#include <string.h>

#define DATA_BYTES_MAX (128u << 10)
#define MEMBER_BYTES_MAX (64u << 10)

static void put_escape(struct page *p, uint32_t code)
{
	if (code > 0xffff)
		put(p, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff));
	else
		put(p, "\\u%04x", code);
}

static bool is_inert(char c)
{
	return c > 0 && c <= '~' && c != '<' && c != '>' && c != '&' && c != '/';
}

/* In JSON, <, & and / stand only inside of texts, where they may be written as escapes; so is all that is not plain
 * ASCII, and what is no text at all. */
static void put_inert(struct page *p, const char *json)
{
	for (const char *c = json; *c != '\0';) {
		uint32_t code;
		size_t len = 0;
		while (is_inert(c[len]))
			len++;
		fwrite(c, 1, len, p->out);
		c += len;
		if (*c == '\0')
			return;
		len = utf8_next_of(c, &code);
		put_escape(p, len == 0 ? 0xfffd : code);
		c += len == 0 ? 1 : len;
	}
}

struct data {
	size_t room;
	cJSON *left_out;
};

static void write_member(struct page *p, struct data *d, const cJSON *item)
{
	char *text = item->string != NULL ? json_print(item) : NULL;
	cJSON *name = text != NULL ? cJSON_CreateString(item->string) : NULL;
	char *key = name != NULL ? json_print(name) : NULL;
	if (key != NULL && strlen(text) <= MEMBER_BYTES_MAX && strlen(text) <= d->room) {
		put_inert(p, key);
		put(p, ":");
		put_inert(p, text);
		put(p, ",\n");
		d->room -= strlen(text);
	} else if (name != NULL) {
		cJSON_AddItemToArray(d->left_out, name);
		name = NULL;
	}
	cJSON_Delete(name);
	free(key);
	free(text);
}

static void write_data(struct page *p)
{
	struct data d = {DATA_BYTES_MAX, cJSON_CreateArray()};
	put(p, HTML_DATA "{\n");
	for (const cJSON *item = p->model->root->child; item != NULL && d.left_out != NULL; item = item->next)
		write_member(p, &d, item);
	char *left_out = d.left_out != NULL ? json_print(d.left_out) : NULL;
	put(p, "\"left_out_of_page\":");
	put_inert(p, left_out != NULL ? left_out : "[]");
	put(p, "}</script>\n");
	free(left_out);
	cJSON_Delete(d.left_out);
}

const struct section section_data = {.id = "data", .write = write_data};
