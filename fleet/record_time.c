/* record_time.c - times in records: "2026-03-02T10:00:00Z". See record.h. */
#include "fleet/record.h"

#include "base/json.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define FORM "%Y-%m-%dT%H:%M:%SZ"

double record_time(const char *text)
{
	struct tm tm = {0};
	char again[32] = "";
	const char *end = strptime(text, FORM, &tm);
	if (end == NULL || *end != '\0')
		return NAN;
	time_t t = timegm(&tm);
	if (gmtime_r(&t, &tm) == NULL || strftime(again, sizeof(again), FORM, &tm) == 0 || strcmp(again, text) != 0)
		return NAN;
	return (double)t;
}

void record_put_time(cJSON *to, const char *name, double seconds)
{
	char text[32];
	struct tm tm;
	time_t t = seconds > 0 && seconds < 1e12 ? (time_t)seconds : 0;
	bool known = t > 0 && gmtime_r(&t, &tm) != NULL && strftime(text, sizeof(text), FORM, &tm) > 0;
	json_put_text(to, name, known ? text : NULL);
}
