/* old_libc.h - included by what is in the preloaded library and calls the loader. Built with a glibc that has these
 * functions under a new version (2.34, which put libdl into libc), the library would need that version, and end each
 * program of an older one (a container of another distribution): so they are asked for as they have always been. They
 * are weak, since in an older one who calls none of them may have no libdl, and other libcs lack dlvsym(). */
#pragma once

#include <dlfcn.h>

#ifdef __aarch64__
#define OLDEST_LIBC "GLIBC_2.17" /* that knows this processor */
#define OLDEST_DLINFO OLDEST_LIBC
#else
#define OLDEST_LIBC "GLIBC_2.2.5"
#define OLDEST_DLINFO "GLIBC_2.3.3"
#endif

#pragma weak dlopen
#pragma weak dladdr
#pragma weak dlerror
#pragma weak dlinfo
#pragma weak dlvsym
__asm__("\t.symver dlopen, dlopen@" OLDEST_LIBC);
__asm__("\t.symver dladdr, dladdr@" OLDEST_LIBC);
__asm__("\t.symver dlerror, dlerror@" OLDEST_LIBC);
__asm__("\t.symver dlinfo, dlinfo@" OLDEST_DLINFO);
__asm__("\t.symver dlvsym, dlvsym@" OLDEST_LIBC);
