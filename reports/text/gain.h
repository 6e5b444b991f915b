/* gain.h - what a run would gain without an issue, as the page and the terminal say it. */
#pragma once

#include "base/json.h"

#include <stdbool.h>

#define GAIN_TEXT 128

/* "239 ms, 50 % of the run (48 to 52 %)"; in UTF-8, or plain for a terminal. False: the analysis does not know. */
#define POLLS_SEEN 0.01 /* of the ranks' time: replay.polls_kept is told from here on */

/* Where in rows[0 .. n) that stands which this one follows from, from 1 on; 0: it stands for itself. */
size_t issue_cause_of(const cJSON *const *rows, size_t n, const cJSON *issue);
bool gain_text(const cJSON *issue, bool plain, char ret_text[GAIN_TEXT]);
