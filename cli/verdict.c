/* verdict.c - what a check of the doctor says. */
#include "cli/doctor.h"

#include <stdarg.h>
#include <stdio.h>

void verdict_say(struct verdict *v, enum verdict_level level, const char *next, const char *fmt, ...)
{
	va_list ap;
	v->level = level;
	snprintf(v->next, sizeof(v->next), "%s", next != NULL ? next : "");
	va_start(ap, fmt);
	vsnprintf(v->what, sizeof(v->what), fmt, ap);
	va_end(ap);
}
