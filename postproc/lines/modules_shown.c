/* modules_shown.c - see modules_shown.h. The file's name ends in the ABI's tag (PEP 3149, PEP 384); packages are
 * the folders below the one of all packages. */
#include "postproc/lines/modules_shown.h"

#include "base/path.h"

#include <stdlib.h>
#include <string.h>

static const char *below(const char *path, const char *root)
{
	const char *found = NULL;
	for (const char *at = path; (at = strstr(at, root)) != NULL; at++)
		found = at + strlen(root);
	return found;
}

char *module_short(const char *path)
{
	const char *file = path_name(path);
	const char *tag = strstr(file, ".cpython-"), *name = below(path, "/site-packages/");
	if (tag == NULL)
		tag = strstr(file, ".abi3.so");
	if (tag == NULL || tag == file)
		return NULL;
	if (name == NULL)
		name = below(path, "/dist-packages/");
	if (name == NULL)
		name = file;
	return strndup(name, (size_t)(tag - name));
}
