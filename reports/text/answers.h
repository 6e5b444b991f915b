/* answers.h - three questions that everybody has, each answered in a sentence or two: who delays whom, is it the
 * network, would more nodes help. For the page and the terminal. In: an analysis, not trusted. */
#pragma once

#include "base/json.h"
#include "base/units.h"

#define ANSWERS 3
#define ANSWER_TEXT 640

struct answer {
	const char *question, *label; /* as the page asks, as the terminal does */
	char text[ANSWER_TEXT];	      /* "": there is nothing to say, as of totals */
};

/* as: fmt_words or fmt_plain. */
void answers_of(const cJSON *analysis, struct fmt (*as)(struct fmt), struct answer ret_answers[ANSWERS]);
