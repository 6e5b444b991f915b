/* otf2.h - what the parts of the OTF2 exporter share: otf2.c writes events, otf2_definitions.c what they name. */
#pragma once

#include "export/format.h"
#include "export/kinds.h"

#include <otf2/otf2.h>

struct otf2 {
	OTF2_Archive *archive;
	OTF2_EvtWriter **writers; /* by lane; NULL: not open */
	uint64_t *events;	  /* by lane: how many records */
	struct op_kind *kinds;	  /* by operation */
	uint32_t group_end;	  /* lanes before it have been opened */
	uint32_t group_begin;	  /* lanes before it are closed */
	uint32_t world;		  /* communicator of all ranks */
	uint32_t strings;	  /* how many are defined */
	uint64_t matching;	  /* of one-sided calls and file operations */
	int64_t shift_ns;	  /* OTF2's times are not negative */
	OTF2_AttributeList *attributes;
};

enum otf2_attribute { OTF2_CALLSITE, OTF2_WAIT, OTF2_POLLS };

/* 0, or -EIO with text. */
int otf2_check(struct exporting *x, OTF2_ErrorCode code);
/* Everything that events name, and the locations. */
int otf2_define(struct exporting *x);
