/* link.c - how fast the links of this machine's network adapters are, and whether they are up. In: /sys/class. */
#include "base/slurp.h"
#include "topology/pus.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_word(const char *root, const char *kind, const char *name, const char *what, char ret_text[64])
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/class/%s/%s/%s", root, kind, name, what);
	return slurp(path, ret_text, 64) > 0;
}

/* "200 Gb/sec (4X HDR)" and "4: ACTIVE" of the first port; Mb/s and "up" of an Ethernet device. */
void topo_link_read(const char *root, const struct topo_device *d, struct topo_link *ret_link)
{
	char text[64];
	*ret_link = (struct topo_link){.gbit_s = 0, .up = -1};
	for (unsigned i = 0; i < d->nnames; i++) {
		const char *name = d->names[i];
		if (read_word(root, "infiniband", name, "ports/1/rate", text)) {
			ret_link->gbit_s = strtod(text, NULL);
			if (read_word(root, "infiniband", name, "ports/1/state", text))
				ret_link->up = strstr(text, "ACTIVE") != NULL;
			return;
		}
	}
	for (unsigned i = 0; i < d->nnames; i++) {
		const char *name = d->names[i];
		double mbit_s = read_word(root, "net", name, "speed", text) ? strtod(text, NULL) : 0;
		if (mbit_s > ret_link->gbit_s * 1000)
			ret_link->gbit_s = mbit_s / 1000;
		if (read_word(root, "net", name, "operstate", text) && strncmp(text, "unknown", 7) != 0)
			ret_link->up = ret_link->up > 0 || strncmp(text, "up", 2) == 0;
	}
}
