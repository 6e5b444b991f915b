/* path.h - the name of a file without its directories. What they return lies within the path. */
#pragma once

#include <string.h>

/* What stands behind the last slash; "" for a path that ends with it. */
static inline const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* The same for a person: all of a path that ends with a slash. */
static inline const char *basename_of(const char *path)
{
	const char *name = path_name(path);
	return *name != '\0' ? name : path;
}
