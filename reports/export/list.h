/* list.h - the formats: one row each; its file defines `const struct export_format export_<name>`. */
#pragma once

#include "reports/export/format.h"

#ifdef HAVE_OTF2
#define EXPORT_OTF2(ROW) ROW(otf2)
#else
#define EXPORT_OTF2(ROW)
#endif
#ifdef HAVE_SQLITE
#define EXPORT_SQLITE(ROW) ROW(sqlite)
#else
#define EXPORT_SQLITE(ROW)
#endif

#define EXPORT_FORMATS(ROW) \
	ROW(csv) \
	ROW(json) \
	EXPORT_SQLITE(ROW) \
	EXPORT_OTF2(ROW) \
	ROW(perfetto) \
	ROW(chrome) \
	ROW(paraver) \
	ROW(folded) \
	/* one row a format */

#define DECLARE(name) extern const struct export_format export_##name;
EXPORT_FORMATS(DECLARE)
#undef DECLARE
