/* json_print.c - a cJSON tree as text, what cJSON_PrintUnformatted() makes of it, in a tenth of the time:
 * that prints every number as text and reads it back.
 *
 * A number has 15 digits if those tell it, else 17. A double times a power of ten is a whole number of up to 100 bits
 * times a power of two, so its digits are exact; for very large and small ones printf() is asked. */
#include "base/buf.h"
#include "base/decimal.h"
#include "base/json.h"
#include "base/json_quote.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_DIGITS 15
#define LONG_DIGITS 17
#define WHOLE_MAX 1e15	 /* below it, whole numbers have at most SHORT_DIGITS */
#define DECIMAL_MIN 1e-4 /* below it, %g takes an exponent */
#define NUMBER_BYTES 32u
#define POWER_MAX 20 /* five to it, times 53 bits, fits 128 */

/* As cJSON compares them. */
static bool rounds_to(double printed, double value)
{
	return fabs(printed - value) <= fmax(fabs(printed), fabs(value)) * DBL_EPSILON;
}

static void put_slowly(struct buf *out, double value)
{
	char text[NUMBER_BYTES];
	snprintf(text, sizeof(text), "%1.15g", value);
	if (!rounds_to(strtod(text, NULL), value))
		snprintf(text, sizeof(text), "%1.17g", value);
	buf_str(out, text);
}

static char *put_digits(char *end, uint64_t value)
{
	do
		*--end = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	return end;
}

static void put_whole(struct buf *out, int64_t value)
{
	char text[NUMBER_BYTES], *end = text + sizeof(text);
	char *at = put_digits(end, (uint64_t)(value < 0 ? -value : value));
	if (value < 0)
		*--at = '-';
	buf_bytes(out, at, (size_t)(end - at));
}

static uint64_t power_of_five(int n)
{
	uint64_t x = 1;
	while (n-- > 0)
		x *= 5;
	return x;
}

/* value (positive) as n digits, the first of which stands for exponent, exactly rounded; 0: it has another exponent. */
static uint64_t round_to(double value, int n, int exponent)
{
	int two, power = n - 1 - exponent;
	if (power < 0 || power > POWER_MAX)
		return 0;
	uint64_t whole = (uint64_t)ldexp(frexp(value, &two), DBL_MANT_DIG);
	unsigned __int128 scaled = (unsigned __int128)whole * power_of_five(power); /* times 2 ^ -shift */
	int shift = DBL_MANT_DIG - two - power;
	if (shift <= 0 || shift > 120)
		return 0;
	uint64_t digits = (uint64_t)(scaled >> shift);
	unsigned __int128 rest = scaled - ((unsigned __int128)digits << shift),
			  half = (unsigned __int128)1 << (shift - 1);
	digits += rest > half || (rest == half && (digits & 1) != 0);
	return digits >= powers_of_ten[n - 1] && digits < powers_of_ten[n] ? digits : 0;
}

/* Of n digits, without zeros at the end. */
static void put_decimal(struct buf *out, uint64_t digits, int n, int exponent, bool negative)
{
	char text[2 * NUMBER_BYTES], all[NUMBER_BYTES], *to = text;
	put_digits(all + n, digits);
	while (n > 1 && n - 1 > exponent && all[n - 1] == '0')
		n--;
	if (negative)
		*to++ = '-';
	int at = 0;
	for (; at <= exponent; at++)
		*to++ = all[at];
	if (exponent < 0)
		*to++ = '0';
	if (at < n)
		*to++ = '.';
	for (int i = -1; i > exponent; i--)
		*to++ = '0';
	for (; at < n; at++)
		*to++ = all[at];
	buf_bytes(out, text, (size_t)(to - text));
}

static int exponent_of(double value)
{
	int two;
	frexp(value, &two);
	int ten = (int)floor((two - 1) * 0.30102999566398120); /* this or one less than it should be */
	double next = ten + 1 >= 0 ? (double)powers_of_ten[ten + 1] : 1 / (double)powers_of_ten[-(ten + 1)];
	return value >= next ? ten + 1 : ten;
}

static void put_number(struct buf *out, double value)
{
	double size = fabs(value);
	if (!isfinite(value)) {
		buf_str(out, "null");
		return;
	}
	if (size < WHOLE_MAX && value == (double)(int64_t)value && !(value == 0 && signbit(value))) {
		put_whole(out, (int64_t)value);
		return;
	}
	int exponent = size < DECIMAL_MIN || size >= WHOLE_MAX ? SHORT_DIGITS : exponent_of(size), n = SHORT_DIGITS;
	uint64_t digits = round_to(size, n, exponent);
	if (digits != 0 && !rounds_to((double)digits / (double)powers_of_ten[n - 1 - exponent], size))
		digits = round_to(size, n = LONG_DIGITS, exponent);
	if (digits != 0)
		put_decimal(out, digits, n, exponent, value < 0);
	else
		put_slowly(out, value);
}

static void put_value(struct buf *out, const cJSON *v);

static void put_members(struct buf *out, const cJSON *v, bool named)
{
	buf_u8(out, named ? '{' : '[');
	for (const cJSON *x = v->child; x != NULL; x = x->next) {
		if (x != v->child)
			buf_u8(out, ',');
		if (named) {
			json_quote(out, x->string != NULL ? x->string : "");
			buf_u8(out, ':');
		}
		put_value(out, x);
	}
	buf_u8(out, named ? '}' : ']');
}

static void put_value(struct buf *out, const cJSON *v)
{
	if (cJSON_IsNumber(v))
		put_number(out, v->valuedouble);
	else if (cJSON_IsString(v))
		json_quote(out, v->valuestring != NULL ? v->valuestring : "");
	else if (cJSON_IsArray(v) || cJSON_IsObject(v))
		put_members(out, v, cJSON_IsObject(v));
	else
		buf_str(out, cJSON_IsTrue(v) ? "true" : cJSON_IsFalse(v) ? "false" : "null");
}

char *json_print(const cJSON *value)
{
	struct buf out = {0};
	put_value(&out, value);
	buf_u8(&out, 0);
	if (!buf_failed(&out))
		return (char *)out.data;
	buf_done(&out);
	return NULL;
}
