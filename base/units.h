/* units.h - numbers as a person reads them, on the page and in the terminal: three digits and the unit that fits.
 * NAN is shown as a dash. All return a small struct by value, so that `put(p, "%s", fmt_time(t).s)` needs no
 * buffer. They are markup in UTF-8; fmt_plain() makes text for a terminal of them, ASCII whatever its locale. */
#pragma once

struct fmt {
	char s[40];
};

struct fmt fmt_time(double seconds);		     /* 312 ns, 4.10 µs, 1.84 s, 2 min 05 s, 3 h 20 min, 163,840 h */
struct fmt fmt_bytes(double bytes);		     /* 96 B, 1.50 KiB, 3.20 GiB */
struct fmt fmt_count(double count);		     /* 16,384 */
struct fmt fmt_many(double count, const char *what); /* 1 rank, 16,384 ranks, 2 processes */
struct fmt fmt_share(double fraction);		     /* 0.372 -> 37 %, 0.004 -> 0.4 % */
struct fmt fmt_ratio(double ratio);		     /* 0.87 */
struct fmt fmt_plain(struct fmt markup);	     /* 4.10 us, < 0.1 % */
struct fmt fmt_words(struct fmt markup); /* 4.10 µs, < 0.1 %: for a sentence in UTF-8, which is no markup yet */
