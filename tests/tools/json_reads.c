/* json_reads.c - preloaded into a reader of the analysis object: which fields it looks for, and as what.
 * Lines "path type" go to the file that JSON_READS names: "coverage.nodes_missing.[] string"; the type is "-" where the
 * reader asked for the field only. A field that is not there is logged as well: that is the point. */
#include <cjson/cJSON.h>

#include <dlfcn.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))
#define PATH_BYTES_MAX 256

struct place {
	const cJSON *node;
	char path[PATH_BYTES_MAX];
};

static void *places; /* of the text parsed last */
static FILE *out;

#define REAL(name) \
	static __typeof__(name) *real; \
	if (real == NULL) \
		*(void **)&real = dlsym(RTLD_NEXT, #name);

static int by_node(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return (x->node > y->node) - (x->node < y->node);
}

static void add(const cJSON *node, const char *path)
{
	struct place *p = malloc(sizeof(*p));
	if (p == NULL)
		abort();
	p->node = node;
	snprintf(p->path, sizeof(p->path), "%s", path);
	struct place **known = tsearch(p, &places, by_node);
	if (known == NULL)
		abort();
	if (*known != p) { /* an address that another tree had before */
		memcpy((*known)->path, p->path, sizeof(p->path));
		free(p);
	}
	for (const cJSON *child = node->child; child != NULL; child = child->next) {
		char below[PATH_BYTES_MAX];
		if (snprintf(below, sizeof(below), "%s%s%s", path, *path != '\0' ? "." : "",
			     child->string != NULL ? child->string : "[]") >= (int)sizeof(below))
			abort();
		add(child, below);
	}
}

static const char *path_of(const cJSON *node)
{
	struct place wanted = {.node = node};
	struct place **found = node != NULL ? tfind(&wanted, &places, by_node) : NULL;
	return found != NULL ? (*found)->path : NULL;
}

static void log_read(const char *path, const char *key, const char *type)
{
	const char *name = getenv("JSON_READS");
	if (out == NULL && name != NULL)
		out = fopen(name, "ae");
	if (out != NULL && path != NULL)
		fprintf(out, "%s%s%s %s\n", path, *path != '\0' && *key != '\0' ? "." : "", key, type);
	if (out != NULL)
		fflush(out);
}

PUBLIC cJSON *cJSON_Parse(const char *text)
{
	REAL(cJSON_Parse)
	cJSON *root = real(text);
	if (root != NULL)
		add(root, "");
	return root;
}

PUBLIC cJSON *cJSON_GetObjectItemCaseSensitive(const cJSON *const object, const char *const key)
{
	REAL(cJSON_GetObjectItemCaseSensitive)
	log_read(path_of(object), key, "-");
	return real(object, key);
}

#define ASKED(name, type) \
	PUBLIC cJSON_bool name(const cJSON *const item) \
	{ \
		REAL(name) \
		log_read(path_of(item), "", type); \
		return real(item); \
	}

ASKED(cJSON_IsNumber, "number")
ASKED(cJSON_IsString, "string")
ASKED(cJSON_IsBool, "boolean")
ASKED(cJSON_IsTrue, "boolean")
ASKED(cJSON_IsArray, "array")
ASKED(cJSON_IsObject, "object")
