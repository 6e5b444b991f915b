/* error.h - how libraries report a failure: a negative errno and one line of text.
 * The text says what, where (file, offset) and what to do; only programs print it. */
#pragma once

#define ERROR_TEXT_MAX 1024

struct error {
	char text[ERROR_TEXT_MAX];
};

/* For programs: one line to standard error, with '?' for what a terminal would obey in it. */
void print_plain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same of what goes wrong again and again: when it is something else than before. */
void error_say_new(const char *who, const struct error *e, struct error *said);

/* Format the text, made as plain, into e (may be NULL) and return code, so that `return fail(e, -EBADMSG, ...)` reads
 * well. */
int fail(struct error *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
