/* live_keys.h - keys of `mpitrace live` in a terminal: read one by one, not echoed; the terminal is as it was at the
 * end, whatever ends it, and while the program is stopped. Sources: termios(3), tty_ioctl(4). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum key { KEY_NONE, KEY_QUIT, KEY_PAUSE, KEY_UP, KEY_DOWN, KEY_PAGE_UP, KEY_PAGE_DOWN, KEY_HOME, KEY_END, KEY_OTHER };

/* False where standard input and output are no terminal of this process, or one that knows no escape sequences. */
bool keys_begin(void);
void keys_end(void);
/* The next key, or KEY_NONE after so long, or when the terminal was resized or the program went on. ns < 0: however
 * long. */
enum key keys_wait(int64_t ns);
