/* import.c - see import.h: which formats there are, and what their readers share. */
#include "postproc/protocol/import.h"

#include <stdarg.h>
#include <stdio.h>

const struct import_format import_formats[IMPORT_FORMATS] = {
	{"mprov", import_mprov},
	{"pyrite", import_pyrite},
};

int import_ranks(struct import *x, uint32_t n, struct error *e)
{
	x->ranks = calloc(n, sizeof(*x->ranks));
	x->nranks = n;
	for (uint32_t r = 0; x->ranks != NULL && r < n; r++)
		x->ranks[r].node = IMPORT_NONE;
	return x->ranks == NULL ? fail(e, -ENOMEM, "%s: out of memory", x->file) : 0;
}

int import_reason(struct import *x, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	char *copy = strdup(text);
	if (copy == NULL || vec_push(&x->reasons, copy) < 0) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

int64_t import_runtime_ns(const struct import *x)
{
	int64_t last = 0;
	for (uint32_t r = 0; r < x->nranks; r++)
		if (x->ranks[r].events.n > 0) {
			int64_t end = x->ranks[r].events.at[x->ranks[r].events.n - 1].end_ns;
			last = end > last ? end : last;
		}
	return last;
}

void import_done(struct import *x)
{
	for (uint32_t r = 0; x->ranks != NULL && r < x->nranks; r++)
		vec_done(&x->ranks[r].events);
	for (size_t i = 0; i < x->comms.n; i++)
		vec_done(&x->comms.at[i].ranks);
	for (size_t i = 0; i < x->nodes.n; i++)
		free(x->nodes.at[i]);
	for (size_t i = 0; i < x->reasons.n; i++)
		free(x->reasons.at[i]);
	free(x->ranks);
	free(x->file);
	free(x->program);
	vec_done(&x->ops);
	vec_done(&x->comms);
	vec_done(&x->nodes);
	vec_done(&x->reasons);
	vec_done(&x->links);
}
