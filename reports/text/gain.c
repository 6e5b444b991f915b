/* gain.c - see gain.h. */
#include "reports/text/gain.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RANGE_MIN 0.01 /* a range that is narrower is left out */

static struct fmt as_wanted(struct fmt x, bool plain)
{
	return plain ? fmt_plain(x) : x;
}

bool gain_text(const cJSON *issue, bool plain, char ret_text[GAIN_TEXT])
{
	const cJSON *gain = json_item(issue, "gain");
	double s = json_number(gain, "s"), share = json_number(gain, "share");
	double low = json_number(gain, "low"), high = json_number(gain, "high");
	if (isnan(s) || isnan(share))
		return false;
	s = fmax(0, s);
	share = fmax(0, share);
	int n = snprintf(ret_text, GAIN_TEXT, "%s, %s of the run", as_wanted(fmt_time(s), plain).s,
			 as_wanted(fmt_share(share), plain).s);
	if (high - low >= RANGE_MIN && n > 0 && n < GAIN_TEXT)
		snprintf(ret_text + n, GAIN_TEXT - (size_t)n, " (%s to %s)",
			 as_wanted(fmt_share(fmax(0, low)), plain).s, as_wanted(fmt_share(high), plain).s);
	return true;
}

size_t issue_cause_of(const cJSON *const *rows, size_t n, const cJSON *issue)
{
	const char *cause = json_text(issue, "explained_by", NULL);
	for (size_t i = 0; cause != NULL && i < n && rows[i] != issue; i++)
		if (strcmp(json_text(rows[i], "issue", ""), cause) == 0)
			return i + 1;
	return 0;
}
