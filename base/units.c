/* units.c - numbers as text, in units that a person reads at a glance.
 * In: seconds, bytes, counts, fractions.  Out: markup in UTF-8, with no-break spaces between number
 * and unit; or ASCII. */
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NBSP "\xc2\xa0"

static struct fmt dash(void)
{
	return (struct fmt){.s = "\xe2\x80\x93"};
}

/* Three significant digits without an exponent. */
static struct fmt with_unit(double value, const char *unit)
{
	struct fmt f;
	double size = fabs(value);
	int digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
	snprintf(f.s, sizeof(f.s), "%.*f" NBSP "%s", digits, value, unit);
	return f;
}

static struct fmt long_time(double seconds)
{
	struct fmt f;
	long long s = llround(seconds);
	if (s >= 100 * 3600ll) { /* of many ranks together */
		snprintf(f.s, sizeof(f.s), "%.20s" NBSP "h", fmt_count((double)(s / 3600)).s);
		return f;
	}
	if (s < 3600)
		snprintf(f.s, sizeof(f.s), "%lld" NBSP "min" NBSP "%02lld" NBSP "s", s / 60, s % 60);
	else
		snprintf(f.s, sizeof(f.s), "%lld" NBSP "h" NBSP "%02lld" NBSP "min", s / 3600, s % 3600 / 60);
	return f;
}

struct fmt fmt_time(double seconds)
{
	double size = fabs(seconds);
	if (isnan(seconds))
		return dash();
	if (size == 0)
		return (struct fmt){.s = "0" NBSP "s"};
	if (size < 0.9995e-6)
		return with_unit(seconds * 1e9, "ns");
	if (size < 0.9995e-3)
		return with_unit(seconds * 1e6, "\xc2\xb5s");
	if (size < 0.9995)
		return with_unit(seconds * 1e3, "ms");
	if (seconds >= 120)
		return long_time(seconds);
	return with_unit(seconds, "s");
}

struct fmt fmt_bytes(double bytes)
{
	static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	struct fmt f;
	if (isnan(bytes))
		return dash();
	if (fabs(bytes) < 1024) {
		snprintf(f.s, sizeof(f.s), "%.0f" NBSP "B", bytes);
		return f;
	}
	unsigned i = 0;
	for (bytes /= 1024; fabs(bytes) >= 999.5 && i < 5; i++)
		bytes /= 1024;
	return with_unit(bytes, unit[i]);
}

struct fmt fmt_count(double count)
{
	char digits[32];
	struct fmt f = {.s = ""};
	if (isnan(count))
		return dash();
	int n = snprintf(digits, sizeof(digits), "%.0f", fabs(count));
	size_t at = 0;
	if (count <= -0.5)
		f.s[at++] = '-';
	for (int i = 0; i < n && at + 2 < sizeof(f.s); i++) {
		if (i > 0 && (n - i) % 3 == 0)
			f.s[at++] = ',';
		f.s[at++] = digits[i];
	}
	f.s[at] = '\0';
	return f;
}

struct fmt fmt_many(double count, const char *what)
{
	struct fmt f, n = fmt_count(count);
	size_t len = strlen(what);
	int hisses = len > 1 && (what[len - 1] == 's' || strcmp(what + len - 2, "ch") == 0);
	const char *ending = count == 1 ? "" : hisses ? "es" : "s";
	int room = (int)(sizeof(f.s) - 1 - strlen(n.s) - strlen(" ") -
			 strlen(ending)); /* the word is cut, not the number */
	snprintf(f.s, sizeof(f.s), "%.26s %.*s%s", n.s, room, what, ending);
	return f;
}

struct fmt fmt_share(double fraction)
{
	struct fmt f;
	double percent = fraction * 100;
	if (isnan(fraction))
		return dash();
	if (percent > 0 && percent < 0.05)
		return (struct fmt){.s = "&lt;" NBSP "0.1" NBSP "%"};
	if (percent >= 99.95 && percent < 100)
		return (struct fmt){.s = "&gt;" NBSP "99.9" NBSP "%"};
	int digits = (percent > 0 && percent < 9.95) || (percent > 99 && percent < 100) ? 1 : 0;
	snprintf(f.s, sizeof(f.s), "%.*f" NBSP "%%", digits, percent);
	return f;
}

struct fmt fmt_ratio(double ratio)
{
	struct fmt f;
	if (isnan(ratio))
		return dash();
	snprintf(f.s, sizeof(f.s), ratio > 0 && ratio < 0.01 ? "%.1g" : "%.2f", ratio);
	return f;
}

struct fmt fmt_words(struct fmt markup)
{
	struct fmt f = fmt_plain(markup);
	char *unit = strstr(f.s, " us");
	if (unit != NULL)
		memcpy(unit, " \xc2\xb5s", sizeof(" \xc2\xb5s"));
	return f;
}

struct fmt fmt_plain(struct fmt markup)
{
	static const struct {
		const char *markup;
		char plain;
	} signs[] = {{NBSP, ' '}, {"\xc2\xb5", 'u'}, {"\xe2\x80\x93", '-'}, {"&lt;", '<'}, {"&gt;", '>'}};
	struct fmt f = {.s = ""};
	for (size_t from = 0, to = 0; markup.s[from] != '\0'; to++) {
		size_t step = 1;
		f.s[to] = markup.s[from];
		for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
			if (strncmp(markup.s + from, signs[i].markup, strlen(signs[i].markup)) == 0) {
				f.s[to] = signs[i].plain;
				step = strlen(signs[i].markup);
			}
		from += step;
	}
	return f;
}
