/* sec_answers.c - what everybody asks of a run, a question and its answer each: who delays whom, the network, more
 * nodes, what changed. */
#include "reports/html/section.h"
#include "reports/text/answers.h"

static bool has_answers(const struct model *m)
{
	return !m->totals && m->nranks > 0;
}

static void write_answers(struct page *p)
{
	struct answer answers[ANSWERS];
	answers_of(p->model->root, fmt_words, answers);
	put(p, "<dl class=\"answers\">\n");
	for (size_t i = 0; i < ANSWERS; i++) {
		if (answers[i].text[0] == '\0')
			continue;
		put(p, "<div><dt>%s</dt><dd>", answers[i].question);
		put_text(p, answers[i].text, SENTENCE_CHARS);
		put(p, "</dd></div>\n");
	}
	put(p, "<div><dt>What changed?</dt><dd>");
	if (cJSON_IsObject(p->model->diff)) {
		put(p, "<a href=\"#diff\">Compared with an earlier run</a>.");
	} else {
		put(p, "With the trace of an earlier run: <code>");
		put_command(p, "diff EARLIER.mpix ", "");
		put(p, "</code>");
	}
	put(p, "</dd></div>\n</dl>\n");
}

const struct section section_answers = {.id = "answers", .has = has_answers, .write = write_answers};
