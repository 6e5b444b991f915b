/* shell_word.h - a name as a person can paste it into a shell. */
#pragma once

/* text as one word of a POSIX shell, in quotes only where it needs them; never taken for an option. The caller frees
 * it; NULL: no memory. */
char *shell_word(const char *text);
