/* record_library.c - see record_library.h. */
#include "fleet/record_library.h"

#include "base/json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_MOST 64u /* bytes of a name */

static bool is_version_at(const char *at)
{
	return (*at == 'v' && isdigit((unsigned char)at[1])) || isdigit((unsigned char)*at) ||
	       strncmp(at, "Version", 7) == 0 || strncmp(at, "version", 7) == 0;
}

/* Libraries say "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2", "Intel(R) MPI Library 2021.5 for ...". */
static void put_mpi(cJSON *to, const char *text)
{
	char name[NAME_MOST] = "", version[NAME_MOST] = "";
	size_t len = 0;
	while (text[len] != '\0' && !(len > 0 && text[len - 1] == ' ' && is_version_at(text + len)))
		len++;
	const char *rest = text + len;
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	while (*rest != '\0' && !isdigit((unsigned char)*rest))
		rest++;
	snprintf(name, sizeof(name), "%.*s", (int)(len < NAME_MOST ? len : NAME_MOST - 1), text);
	snprintf(version, sizeof(version), "%.*s",
		 (int)strspn(rest, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-"), rest);
	cJSON *mpi = json_object(to, "mpi");
	json_put_text(mpi, "implementation", *version != '\0' && *name != '\0' ? name : NULL);
	json_put_text(mpi, "version", *version != '\0' ? version : NULL);
}

/* A list of texts: those of `field` of objects, or the items themselves. Returns how many have no place. */
static size_t put_list(cJSON *to, const char *name, const cJSON *all, const char *field, size_t most)
{
	size_t n = 0;
	if (!cJSON_IsArray(all)) {
		json_put_text(to, name, NULL);
		return 0;
	}
	cJSON *list = json_array(to, name);
	for (const cJSON *from = all->child; from != NULL; from = from->next) {
		const char *text = field != NULL ? json_text(from, field, NULL) : cJSON_GetStringValue(from);
		if (n < most && text != NULL && strlen(text) <= NAME_MOST)
			json_push_text(list, text);
		n++;
	}
	return n - (size_t)cJSON_GetArraySize(list);
}

void record_put_library(cJSON *to, const cJSON *analysis, size_t most)
{
	const cJSON *job = json_item(analysis, "job"), *modules = json_item(job, "modules");
	put_mpi(to, json_text(job, "mpi", ""));
	const cJSON *transports = json_item(json_item(analysis, "topology"), "transports");
	put_list(to, "transports", cJSON_GetArraySize(transports) > 0 ? transports : NULL, "transport", most);
	size_t left_out = put_list(to, "modules", modules, NULL, most);
	double before = json_number(job, "modules_left_out");
	json_put_null_or(to, "modules_left_out", modules != NULL ? (before > 0 ? before : 0) + (double)left_out : NAN);
}
