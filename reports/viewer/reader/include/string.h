/* string.h - for reader/: instructions of the processor, and memory.c. */
#pragma once
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t len_bytes);
void *memmove(void *to, const void *from, size_t len_bytes);
void *memset(void *to, int byte, size_t len_bytes);
int memcmp(const void *a, const void *b, size_t len_bytes);
size_t strlen(const char *text);
char *strerror(int code);
