/* math.h - for reader/. */
#pragma once
#define isfinite(x) __builtin_isfinite(x)
