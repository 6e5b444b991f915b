/* waiting.h - calls that can wait for other ranks and of which no wait state is looked for. */
#pragma once

#include "postproc/read/step.h"

/* docs/RECORDED.md has the same as a column. */
bool waiting_is_unknown(const struct step *s, const struct sig *sig);
