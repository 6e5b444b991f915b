/* places.h - traffic_places of an analysis, as the page and the terminal name them. */
#pragma once

#include "base/json.h"

#define TRAFFIC_PLACES 5

extern const struct traffic_place {
	const char *key, *name;
} traffic_places[TRAFFIC_PLACES]; /* from near to far */

/* Of one place: bytes of each kind, and messages. */
struct place_sums {
	double messages, p2p, collective, rma;
	bool any;
};

struct place_sums place_sums(const cJSON *kinds, size_t place);
/* Is there anything in any of them? */
bool places_any(const cJSON *kinds);

/* All messages that were sent, as the totals have them: those of which both ends were found are fewer, and of a run
 * without single calls none. NAN: not known. */
struct messages {
	double n, bytes;
};

struct messages messages_sent(const cJSON *summary);
