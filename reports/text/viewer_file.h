/* viewer_file.h - where viewer.html is: beside the program in a build, else where it was installed. */
#pragma once

#include <stddef.h>

/* 0 and its path, or -ENOENT and the path where it should be. */
int viewer_file(char *ret_path, size_t size);
