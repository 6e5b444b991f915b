/* html_probe.h - render an analysis and look at the page as a browser would: tags balanced, nothing
 * that runs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The page for this JSON, to be freed; NULL when html_report failed. */
char *page_of(const char *json, size_t *ret_len_bytes);
/* Every tag is one of ours, closed in order, attributes quoted; no script, no handler, no outside
 * address. Says on stderr what is wrong. */
bool page_is_sound(const char *page);
/* A file of tests/corpus/analysis, to be freed; fails the test when it cannot be read. */
char *corpus(const char *name);
