/* stdlib.h - for reader/: the C library that it has is memory.c and library.c. */
#pragma once
#include <stddef.h>
void *malloc(size_t len_bytes);
void *calloc(size_t n, size_t size);
void *realloc(void *block, size_t len_bytes);
void free(void *block);
void qsort(void *at, size_t n, size_t size, int (*compare)(const void *a, const void *b));
void *bsearch(const void *key, const void *at, size_t n, size_t size, int (*compare)(const void *a, const void *b));
double strtod(const char *text, char **ret_end);
long long strtoll(const char *text, char **ret_end, int base); /* in no code that is kept */
