/* lines_none.c - built instead of lines_dwarf.c without libdw: call sites keep module and offset,
 * nothing else. */
#include "postproc/lines.h"

void lines_resolve(struct step *s)
{
	(void)s;
}
