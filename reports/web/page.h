/* page.h - the viewer as it is served, and how a person gets to it. */
#pragma once

#include "base/error.h"
#include "reports/web/web.h"

#include <stdbool.h>
#include <stdint.h>

/* A regular file that is served whole. */
struct page {
	int fd;
	uint64_t len_bytes;
};

/* 0 or -ENOENT. */
int page_file(const char *path, struct page *ret_page);
/* The viewer of this program: in the build tree, in a tree that was moved as a whole, where it was installed. 0 or
 * -ENOENT with text. */
int page_find(struct page *ret_page, struct error *e);
void page_answer(const struct page *p, struct web_answer *ret_answer);
/* 0 to 65535. */
bool page_port(const char *text, uint16_t *ret_port);
/* Print the address and how it is reached from elsewhere; open a browser, if wanted. */
void page_open(const char *url, uint16_t port, bool no_browser);
/* Wait so long, -1: for ever; true, and at once, when a terminal has gone that was ours at page_open(). */
bool page_wait(int milliseconds);
