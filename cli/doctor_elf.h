/* doctor_elf.h - what a shared library is, read and not loaded: a plugin needs the functions of the program that loads
 * it, and the doctor may be root. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What keeps the loader from this library: "is empty", "is cut: ...". NULL: nothing. Static storage. */
const char *elf_wrong(const char *path);
/* The same for a program, which may also be a script. */
const char *program_wrong(const char *path);
/* Copy the first bytes of the library's data of that name; what is shorter is filled up with zeros. False: it has
 * none. */
bool elf_data(const char *path, const char *symbol, void *to, size_t bytes);
bool elf_has(const char *path, const char *symbol);
