/* sanitizers.c - AddressSanitizer's library ends a program in which another library comes before it, lest its functions
 * be replaced: those of the front are none of them. Before it does so it asks for options (its interface is
 * the compiler's); what the environment says counts more. A program that defines this function itself
 * is asked instead of us. */
#include "pmpi/lookup.h"

#include <dlfcn.h>
#include <stddef.h>

const char *__asan_default_options(void);

/* Without libc's functions: the sanitizer has replaced them and is not ready for them. */
static size_t append(char *to, size_t len, size_t cap, const char *text)
{
	while (len + 1 < cap && *text != '\0')
		to[len++] = *text++;
	to[len] = '\0';
	return len;
}

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	static char options[4096];
	const char *(*theirs)(void) = (const char *(*)(void))lookup(RTLD_NEXT, "__asan_default_options");
	size_t len = append(options, 0, sizeof(options), "verify_asan_link_order=0:");
	append(options, len, sizeof(options), theirs != NULL ? theirs() : "");
	return options;
}
