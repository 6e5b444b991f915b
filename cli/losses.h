/* losses.h - what an answer from a trace's single events lacks. */
#pragma once

/* Say once on stderr, for `mpitrace COMMAND`, how many events the trace at path lost; where none or nobody knows,
 * nothing. */
void losses_say(const char *command, const char *path);
