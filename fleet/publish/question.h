/* question.h - what `mpitrace fleet query` asks where the configuration has a store of all jobs. */
#pragma once

#include "fleet/answer.h"
#include "fleet/publish/config.h"

/* The first destination of type postgresql is asked, one statement that only reads. 0 or -errno with text. */
int publish_question(const struct destinations *all, const char *sql, enum query_form form, FILE *out, struct error *e);
