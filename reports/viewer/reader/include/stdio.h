/* stdio.h - for reader/: printing into memory (library.c), and one file, which is memory (file.c). */
#pragma once
#include <stdarg.h>
#include <stddef.h>

typedef struct memory_file FILE;
typedef long off_t;
#define SEEK_SET 0
int snprintf(char *to, size_t len_bytes, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *to, size_t len_bytes, const char *fmt, va_list words);
size_t fwrite(const void *data, size_t size, size_t n, FILE *to);
int fseeko(FILE *f, off_t offset, int from);
int fflush(FILE *f);

/* in no code that is kept */
extern FILE *stderr;
int fputs(const char *text, FILE *to);
int fileno(FILE *f);
int vasprintf(char **to, const char *fmt, va_list words);
