/* errno.h - for reader/: the numbers that src/decode/reader.ts knows. */
#pragma once
#define EBADMSG 1
#define ENOMEM 2
#define ERANGE 3
#define EINVAL 4
#define E2BIG 5
