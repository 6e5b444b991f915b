/* csv.h - texts as cells of a table that somebody may open in a spreadsheet, or print in a terminal. */
#pragma once

/* As RFC 4180 quotes it; what a spreadsheet would calculate (OWASP, CSV injection) gets an apostrophe before it, also
 * behind a sign at which one of another language would divide the text; control characters and bytes that are not UTF-8
 * become '?'. To be freed; NULL without memory. */
char *csv_cell(const char *text);
