/* ctype.h - for reader/: of ASCII, as in the C locale. */
#pragma once
#define isdigit(c) ((unsigned)(c) - '0' < 10)
#define isgraph(c) ((unsigned)(c)-0x21 < 0x5e)
#define isspace(c) ((c) == ' ' || (unsigned)(c) - '\t' < 5)
