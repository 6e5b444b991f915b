/* loaded.c - see loaded.h. */
#include "spank/loaded.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What the names of modules are made of; they have one or two slashes, as in gcc/12.2, and never begin with one. */
static bool is_name(const char *at, size_t len)
{
	if (len == 0 || len > LOADED_NAME_MAX || !isalnum((unsigned char)at[0]))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool step = at[i] == '/' && (i + 1 == len || at[i + 1] == '/' || at[i + 1] == '.');
		if (step || !(isalnum((unsigned char)at[i]) || strchr("._+-/", at[i]) != NULL))
			return false;
	}
	return true;
}

void loaded_names(const char *text, char ret_text[LOADED_TEXT_MAX])
{
	size_t used = 0;
	unsigned names = 0, left_out = 0;
	ret_text[0] = '\0';
	for (const char *at = text != NULL ? text : ""; *at != '\0'; at += *at == ':') {
		size_t len = strcspn(at, ":");
		bool taken = names < LOADED_NAMES_MAX && is_name(at, len);
		if (taken)
			used += (size_t)snprintf(ret_text + used, LOADED_TEXT_MAX - used, "%s%.*s",
						 names++ > 0 ? "," : "", (int)len, at);
		left_out += !taken && len > 0 && left_out < 100000;
		at += len;
	}
	if (left_out > 0)
		snprintf(ret_text + used, LOADED_TEXT_MAX - used, "%s+%u", names > 0 ? "," : "", left_out);
}
