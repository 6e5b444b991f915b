/* fleet_number.h - a number out of a fleet's database; a question that fails, fails the test. */
#pragma once

#include "fleet/db.h"

#include <criterion/criterion.h>

static inline double number_of(struct fleet *f, const char *sql, double fallback)
{
	struct error e = {""};
	double value = fallback;
	cr_assert_eq(fleet_number(f, sql, fallback, &value, &e), 0, "%s", e.text);
	return value;
}
