/* losses.c - see losses.h. In: "coverage" of the trace's analysis.  Out: a line. */
#include "cli/losses.h"

#include "base/json.h"
#include "base/units.h"
#include "format/mpix.h"

#include <stdio.h>

void losses_say(const char *command, const char *path)
{
	struct mpix_file *f;
	struct error e;
	if (mpix_open(path, &f, &e) < 0)
		return;
	cJSON *analysis = cJSON_Parse(mpix_analysis(f));
	const cJSON *coverage = json_item(analysis, "coverage");
	double lost = json_number_or(coverage, "events_lost", 0);
	double all = json_number_or(coverage, "events", 0) + lost;
	if (lost > 0)
		fprintf(stderr, "mpitrace %s: lost in this trace: %s of %s; mpitrace show says why\n", command,
			fmt_plain(fmt_count(lost)).s, fmt_plain(fmt_many(all, "single event")).s);
	cJSON_Delete(analysis);
	mpix_close(f);
}
