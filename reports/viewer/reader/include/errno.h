/* errno.h - for reader/: the numbers that src/decode/native.ts knows, and others. */
#pragma once
#define EBADMSG 1
#define ENOMEM 2
#define ERANGE 3
#define EINVAL 4
#define E2BIG 5
#define EFBIG 6
#define EIO 7
#define ENOTSUP 8
extern int errno;
