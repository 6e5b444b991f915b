/* unwind.h - where functions begin, from the index of a program's unwind tables. */
#pragma once

#include <libelf.h>
#include <stdint.h>

/* Start of the function that holds this address of the file, 0 if not known. elf may be NULL. */
uint64_t unwind_start(Elf *elf, uint64_t address);
