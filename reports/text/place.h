/* place.h - a place in a trace: some ranks, an interval, a call site; as the viewer's address has it. */
#pragma once

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

#define PLACE_RANKS 256
#define PLACE_TEXT 512

struct place {
	char ranks[PLACE_RANKS]; /* 0-3,7; "": none is chosen */
	double from_s, to_s;	 /* marked, when to_s is behind from_s */
	double end_s;		 /* of the run, behind which nothing is shown; 0: not known */
	double site;		 /* of the analysis; less than 0: any */
};

#define PLACE_ANYWHERE ((struct place){.site = -1})

/* Ranks first to last as well; left out when there is no more room, or when they are none. */
void place_add_ranks(struct place *p, double first, double last);
/* Those of an array of rank numbers. */
void place_add_list(struct place *p, const cJSON *ranks);
/* The lowest and the highest of its ranks, which may stand in any order; none: 0 and UINT32_MAX. */
void place_ranks(const struct place *p, uint32_t *ret_first, uint32_t *ret_last);
/* What is shown of a place with an interval, ns: more than what is marked. False: it has none. */
bool place_view(const struct place *p, double *ret_from_ns, double *ret_to_ns);
/* t=0~900&mark=300~600&ranks=0-3,7: what is shown, what is marked, which ranks are chosen. False, and "", when that
 * would be all of the trace. */
bool place_address(const struct place *p, char ret_text[PLACE_TEXT]);
