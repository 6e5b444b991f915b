/* settings.h - MPITRACE_* as the step has set them. A program may take them out of its environment before it calls MPI
 * (clearenv, unsetenv): then those count that it was started with. */
#pragma once

/* NULL without, or where the program has rights that its user has not. The text stays. */
const char *setting(const char *name) __attribute__((visibility("hidden")));
