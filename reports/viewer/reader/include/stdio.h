/* stdio.h - for reader/, which prints nothing. */
#pragma once

typedef struct no_file FILE;
int vsnprintf(char *to, __SIZE_TYPE__ len_bytes, const char *fmt, __builtin_va_list words);
