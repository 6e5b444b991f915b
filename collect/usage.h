/* usage.h - what the kernel counted of a thread, and the memory of its process: proc(5). */
#pragma once

#include "format/mpic_sample.h"

#include <stdint.h>

/* False when the kernel does not let us see it, or there is no such thread. ret_resident_bytes: of the process. */
bool usage_of_thread(uint32_t pid, uint32_t tid, struct mpic_system *ret_system, uint64_t *ret_resident_bytes);
/* Whether a process id of that namespace (inode of its file) means the same here. */
bool usage_same_namespace(uint64_t inode);
