/* correctness.h - the words of "correctness". */
#pragma once

#include "postproc/analysis.h"

#define CORRECTNESS_TEXT_MAX 640

/* Name and severity of a kind, as the schema has them. */
const char *correctness_name(enum defect_kind kind);
const char *correctness_severity(enum defect_kind kind);
/* A sentence on a row. Returns text. */
const char *correctness_what(const struct step *s, const struct defect *f, char *text, size_t size);
/* The same on one of its cases. */
const char *correctness_case(const struct step *s, enum defect_kind kind, const struct defect_case *x, char *text,
			     size_t size);
