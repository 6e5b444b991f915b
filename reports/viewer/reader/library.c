/* library.c - what of string.h, stdio.h and stdlib.h the code in the browser needs: texts, printing into memory,
 * sorting. Compiled by -fno-builtin: else the compiler might make a call of strlen() of the loop in strlen(). */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

/* ---- texts ---- */

size_t strlen(const char *text)
{
	size_t n = 0;
	while (text[n] != '\0')
		n++;
	return n;
}

size_t strnlen(const char *text, size_t len_bytes)
{
	size_t n = 0;
	while (n < len_bytes && text[n] != '\0')
		n++;
	return n;
}

int memcmp(const void *a, const void *b, size_t len_bytes)
{
	const uint8_t *x = a, *y = b;
	for (size_t i = 0; i < len_bytes; i++)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}

int strcmp(const char *a, const char *b)
{
	size_t n = strlen(a);
	return memcmp(a, b, strnlen(b, n) + 1);
}

int strncmp(const char *a, const char *b, size_t len_bytes)
{
	size_t n = strnlen(a, len_bytes);
	return memcmp(a, b, strnlen(b, n) + (n < len_bytes));
}

void *memchr(const void *at, int byte, size_t len_bytes)
{
	const uint8_t *x = at;
	for (size_t i = 0; i < len_bytes; i++)
		if (x[i] == (uint8_t)byte)
			return (void *)(uintptr_t)(x + i);
	return NULL;
}

char *strchr(const char *text, int c)
{
	return memchr(text, c, strlen(text) + 1);
}

char *strndup(const char *text, size_t len_bytes)
{
	size_t n = strnlen(text, len_bytes);
	char *copy = malloc(n + 1);
	if (copy == NULL)
		return NULL;
	copy[n] = '\0';
	return __builtin_memcpy(copy, text, n);
}

char *strdup(const char *text)
{
	return strndup(text, strlen(text));
}

/* ---- printing ---- */

struct printed {
	char *to;
	size_t cap_bytes, len_bytes; /* len_bytes: as if there were room */
};

struct field {
	bool left, zeros;
	int width, precision; /* precision -1: none */
	unsigned longs;	      /* of the argument: 2 are 64 bits */
};

static void put(struct printed *p, char c)
{
	if (p->len_bytes + 1 < p->cap_bytes)
		p->to[p->len_bytes] = c;
	p->len_bytes++;
}

static void put_padded(struct printed *p, const struct field *f, const char *text, size_t len_bytes)
{
	size_t blanks = f->width > 0 && (size_t)f->width > len_bytes ? (size_t)f->width - len_bytes : 0;
	for (size_t i = 0; i < blanks && !f->left; i++)
		put(p, f->zeros ? '0' : ' ');
	for (size_t i = 0; i < len_bytes; i++)
		put(p, text[i]);
	for (size_t i = 0; i < blanks && f->left; i++)
		put(p, ' ');
}

static void put_number(struct printed *p, const struct field *f, uint64_t value, unsigned base, bool negative)
{
	char digits[24];
	size_t at = sizeof(digits);
	do
		digits[--at] = "0123456789abcdef"[value % base];
	while ((value /= base) > 0);
	if (negative)
		digits[--at] = '-';
	put_padded(p, f, digits + at, sizeof(digits) - at);
}

static void put_text(struct printed *p, const struct field *f, const char *text)
{
	size_t len_bytes = 0;
	while ((f->precision < 0 || len_bytes < (size_t)f->precision) && text[len_bytes] != '\0')
		len_bytes++;
	put_padded(p, f, text, len_bytes);
}

/* A number of the format, or the next argument where '*' stands. */
static const char *take_number(const char *fmt, va_list *words, int *ret_number)
{
	if (*fmt == '*') {
		*ret_number = va_arg(*words, int);
		return fmt + 1;
	}
	for (*ret_number = 0; *fmt >= '0' && *fmt <= '9'; fmt++)
		*ret_number = *ret_number * 10 + (*fmt - '0');
	return fmt;
}

static const char *take_field(const char *fmt, va_list *words, struct field *f)
{
	*f = (struct field){.precision = -1};
	for (; *fmt == '-' || *fmt == '0'; fmt++)
		*(*fmt == '-' ? &f->left : &f->zeros) = true;
	fmt = take_number(fmt, words, &f->width);
	if (*fmt == '.')
		fmt = take_number(fmt + 1, words, &f->precision);
	for (; *fmt == 'l' || *fmt == 'z'; fmt++)
		f->longs += *fmt == 'l';
	return fmt;
}

static void put_signed(struct printed *p, const struct field *f, int64_t value)
{
	put_number(p, f, value < 0 ? -(uint64_t)value : (uint64_t)value, 10, value < 0);
}

/* Where numbers.c is not, nobody prints one. */
__attribute__((weak)) void print_double(double value, int digits, bool is_fixed, char *to)
{
	(void)value, (void)digits, (void)is_fixed;
	to[0] = '\0';
}

#define NUMBER_BYTES 400u /* of the largest, without an exponent */

static void put_word(struct printed *p, const struct field *f, char kind, va_list *words)
{
	char c, number[NUMBER_BYTES];
	switch (kind) {
	case 'd':
		put_signed(p, f, f->longs > 1 ? va_arg(*words, int64_t) : va_arg(*words, int));
		break;
	case 'u':
	case 'x':
		put_number(p, f, f->longs > 1 ? va_arg(*words, uint64_t) : va_arg(*words, unsigned),
			   kind == 'x' ? 16 : 10, false);
		break;
	case 's':
		put_text(p, f, va_arg(*words, const char *));
		break;
	case 'f':
	case 'g':
		print_double(va_arg(*words, double), f->precision < 0 ? 6 : f->precision, kind == 'f', number);
		put_padded(p, f, number, strlen(number));
		break;
	default: /* c and %; what is not known here is seen */
		c = kind == 'c' ? (char)va_arg(*words, int) : kind;
		put_padded(p, f, &c, 1);
	}
}

int vsnprintf(char *to, size_t len_bytes, const char *fmt, va_list words)
{
	struct printed p = {to, len_bytes, 0};
	struct field f;
	va_list mine;
	va_copy(mine, words);
	for (; *fmt != '\0'; fmt++) {
		if (*fmt != '%') {
			put(&p, *fmt);
			continue;
		}
		fmt = take_field(fmt + 1, &mine, &f);
		if (*fmt == '\0')
			break;
		put_word(&p, &f, *fmt, &mine);
	}
	va_end(mine);
	if (len_bytes > 0)
		to[p.len_bytes < len_bytes ? p.len_bytes : len_bytes - 1] = '\0';
	return (int)p.len_bytes;
}

int snprintf(char *to, size_t len_bytes, const char *fmt, ...)
{
	va_list words;
	va_start(words, fmt);
	int n = vsnprintf(to, len_bytes, fmt, words);
	va_end(words);
	return n;
}

/* ---- sorting ---- */

struct sorting {
	char *at, *other;
	size_t size;
	int (*compare)(const void *a, const void *b);
};

/* Two sorted halves of n elements become one; what is equal keeps its order. */
static void merge(const struct sorting *s, size_t first, size_t middle, size_t end)
{
	size_t i = first, k = middle, size = s->size;
	for (size_t to = first; to < end; to++) {
		bool left = k == end || (i < middle && s->compare(s->at + i * size, s->at + k * size) <= 0);
		__builtin_memcpy(s->other + to * size, s->at + (left ? i++ : k++) * size, size);
	}
	__builtin_memcpy(s->at + first * size, s->other + first * size, (end - first) * size);
}

/* By merging, from below. Without memory it is left as it is: who cannot bear that has its own. */
void qsort(void *at, size_t n, size_t size, int (*compare)(const void *a, const void *b))
{
	struct sorting s = {at, malloc(n * size), size, compare};
	for (size_t run = 1; run < n && s.other != NULL; run *= 2)
		for (size_t first = 0; first + run < n; first += 2 * run)
			merge(&s, first, first + run, first + 2 * run < n ? first + 2 * run : n);
	free(s.other);
}

void *bsearch(const void *key, const void *at, size_t n, size_t size, int (*compare)(const void *a, const void *b))
{
	const char *first = at;
	while (n > 0) {
		const char *middle = first + n / 2 * size;
		int order = compare(key, middle);
		if (order == 0)
			return (void *)(uintptr_t)middle;
		if (order > 0)
			first = middle + size;
		n = order > 0 ? n - n / 2 - 1 : n / 2;
	}
	return NULL;
}
