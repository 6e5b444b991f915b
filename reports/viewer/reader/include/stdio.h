/* stdio.h - for reader/, which prints into memory only (library.c). */
#pragma once
#include <stdarg.h>
#include <stddef.h>

typedef struct no_file FILE;
int snprintf(char *to, size_t len_bytes, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *to, size_t len_bytes, const char *fmt, va_list words);

/* in no code that is kept */
extern FILE *stderr;
int fputs(const char *text, FILE *to);
int vasprintf(char **to, const char *fmt, va_list words);
