/* fewer.h - how many cases a test of very many tries. Where each takes very long, as with sanitizers under an emulator,
 * FEWER of the environment says what part of them is enough, but for the least that shows anything. */
#pragma once

#include <stdlib.h>

static inline unsigned fewer(unsigned usual, unsigned least)
{
	const char *text = getenv("FEWER");
	unsigned part = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 1;
	unsigned n = part > 1 ? usual / part : usual;
	return n > least ? n : least;
}
