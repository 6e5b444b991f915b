/* reader.h - the memory of the reader in the browser (memory.c): what is allocated after memory_keep() goes at
 * memory_reset(), all at once. */
#pragma once

void memory_keep(void);
void memory_reset(void);
