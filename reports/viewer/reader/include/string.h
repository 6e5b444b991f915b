/* string.h - for reader/: instructions of the processor, and library.c. */
#pragma once
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t len_bytes);
void *memmove(void *to, const void *from, size_t len_bytes);
void *memset(void *to, int byte, size_t len_bytes);
int memcmp(const void *a, const void *b, size_t len_bytes);
size_t strlen(const char *text);
size_t strnlen(const char *text, size_t len_bytes);
char *strdup(const char *text);
char *strndup(const char *text, size_t len_bytes);
int strncmp(const char *a, const char *b, size_t len_bytes);
void *memchr(const void *at, int byte, size_t len_bytes);
char *strchr(const char *text, int c);
char *strstr(const char *text, const char *part); /* in no code that is kept */
int strcmp(const char *a, const char *b);
char *strerror(int code);
