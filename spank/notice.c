/* notice.c - see notice.h. */
#include "spank/notice.h"

#include "base/fnv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
static const struct {
	const char *what, *next;
} rows[NOTICE_NONE] = {
	[NOTICE_POLICY_BROKEN] = {"runs untraced",                 "no job there is traced until it is corrected: tell the cluster's administrators"},
	[NOTICE_POLICY]        = {"runs untraced",                 "this site does not trace it, --mpitrace changes nothing: ask the cluster's administrators"},
	[NOTICE_REFUSED]       = {"runs untraced",                 "then run it again"},
	[NOTICE_ROOT]          = {"runs untraced",                 "run it as another user"},
	[NOTICE_SETUP]         = {"runs untraced",                 "tell the cluster's administrators: mpitrace doctor, run there, finds the cause"},
	[NOTICE_TRACER]        = {"runs untraced",                 "all users must be able to read it: mpitrace doctor, run there, finds the cause"},
	[NOTICE_STATIC]        = {"runs untraced",                 "link it with MPI's shared libraries"},
	[NOTICE_RIGHTS]        = {"runs untraced",                 "run a copy of it: cp makes one without such rights"},
	[NOTICE_PLACE]         = {"no directory for the results",  "name another one with out=DIR"},
	[NOTICE_SITE_PLACE]    = {"the results do not go to out=", "this site says where they go"},
	[NOTICE_FLAVOUR]       = {"programs of one MPI library run untraced", "all users must be able to read it: mpitrace doctor, run there, finds the cause"},
	[NOTICE_TOTALS]        = {"records no single calls",       "this site allows totals only: ask the cluster's administrators"},
	[NOTICE_UNTRACED]      = {"nothing is recorded",           "log.txt in its directory says it of each node"},
	[NOTICE_NO_PROGRAM]    = {"no report",                     "ask the cluster's administrators to install mpitrace there, too"},
	[NOTICE_FAILED]        = {"no report",                     "its log.txt says more"},
	[NOTICE_ELSEWHERE]     = {"the results are left",          "name one that all hosts share with out=DIR"},
	[NOTICE_TOTALS_ONLY]   = {"the report is from totals only", "its log.txt says more"},
	[NOTICE_LATER]         = {"the whole report is not made yet", "it can be made now by that command"},
	[NOTICE_QUEUED]        = {"the whole report is not made yet", "squeue --me shows the job"},
	[NOTICE_PARTIAL]       = {"the trace is partial",          "the report says what is missing"},
};
/* clang-format on */

void notice_begin(struct notice *n, const struct request *r, bool asked)
{
	n->wanted = asked && r->on && !r->quiet;
	n->cause = NOTICE_NONE;
}

void notice_set(struct notice *n, enum notice_cause cause, const char *fmt, ...)
{
	va_list ap;
	if (cause >= n->cause)
		return;
	n->cause = cause;
	va_start(ap, fmt);
	vsnprintf(n->why, sizeof(n->why), fmt, ap);
	va_end(ap);
}

/* One write, so that no other's line comes between. */
void notice_say(struct notice *n, const char *node)
{
	char line[sizeof(n->why) + 512];
	if (n->wanted && n->cause != NOTICE_NONE) {
		int len = snprintf(line, sizeof(line), "mpitrace: %s%s%s: %s; %s\n", rows[n->cause].what,
				   *node != '\0' ? " on " : "", node, n->why, rows[n->cause].next);
		for (int i = 0; i < len - 1; i++)
			if ((unsigned char)line[i] < ' ' || line[i] == 127)
				line[i] = '?';
		if (write(STDERR_FILENO, line, (size_t)len) < 0)
			sl_verbose("%s", n->why);
	}
	n->cause = NOTICE_NONE;
}

void notice_say_in_task(spank_t sp, struct notice *n, const char *node, uint32_t job_id, bool is_batch, bool speaks)
{
	char mark[64];
	snprintf(mark, sizeof(mark), "%u.%d.%" PRIx64, job_id, n->cause,
		 n->cause != NOTICE_NONE ? fnv_text(FNV_SEED, n->why) : 0);
	const char *told = sl_env(sp, NOTICE_TOLD);
	bool again = told != NULL && strcmp(told, mark) == 0;
	sl_unsetenv(sp, NOTICE_TOLD);
	if (is_batch && speaks && n->wanted && n->cause != NOTICE_NONE)
		sl_setenv(sp, NOTICE_TOLD, mark);
	if (speaks && !again)
		notice_say(n, node);
}
