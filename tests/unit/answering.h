/* answering.h - a server on this machine that says what a test tells it to, and keeps what it was asked. One in a
 * process. */
#pragma once

#include <stddef.h>

#define ANSWERS_MOST 64

/* What it says of the n-th request: status, and behind it lines of the head. *ret_body: may be set. */
typedef const char *(*answering_say)(int n, const char *head, const char *body, const char **ret_body);

extern struct answering {
	int fd, n;
	answering_say say;
	char *heads[ANSWERS_MOST], *bodies[ANSWERS_MOST];
	size_t sizes[ANSWERS_MOST]; /* of bodies */
} server;

void answering_begin(char ret_url[64]);
/* Nobody is there from now on. */
void answering_end(void);
