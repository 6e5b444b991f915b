/* places.c - see places.h. */
#include "reports/text/places.h"

#include <math.h>

const struct traffic_place traffic_places[TRAFFIC_PLACES] = {
	{"inside_node", "inside a node"},
	{"inside_switch", "between nodes below one switch"},
	{"between_switches", "between switches"},
	{"between_nodes", "between nodes, switches not known"},
	{"no_record", "to or from ranks without a record"},
};

static double number(const cJSON *kinds, const char *kind, size_t place, const char *key)
{
	return fmax(json_number(json_item(json_item(kinds, kind), traffic_places[place].key), key), 0);
}

struct place_sums place_sums(const cJSON *kinds, size_t place)
{
	struct place_sums s = {.messages = number(kinds, "p2p", place, "count"),
			       .p2p = number(kinds, "p2p", place, "bytes"),
			       .collective = number(kinds, "collective", place, "bytes"),
			       .rma = number(kinds, "rma", place, "bytes")};
	s.any = s.messages + s.p2p + s.collective + s.rma > 0;
	return s;
}

bool places_any(const cJSON *kinds)
{
	for (size_t i = 0; i < TRAFFIC_PLACES; i++)
		if (place_sums(kinds, i).any)
			return true;
	return false;
}

struct messages messages_sent(const cJSON *summary)
{
	return (struct messages){
		.n = fmax(json_number(summary, "messages_sent"), json_number(summary, "transfers")),
		.bytes = fmax(json_number(summary, "bytes_sent"), json_number(summary, "bytes")),
	};
}
