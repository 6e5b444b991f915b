/* pus.h - the processing units (hardware threads) of a node, filled by one of the sources. Private
 * to topology/. */
#pragma once

#include "base/error.h"

#include <stddef.h>

struct topo_pu {
	unsigned os;	 /* the kernel's number */
	unsigned core;	 /* from 0 over the node */
	unsigned socket; /* from 0 over the node */
	unsigned numa;	 /* from 0 over the node */
};

struct topo_pus {
	struct topo_pu *pu;
	size_t count;
	const char *source;
};

/* Each fills *ret_pus (free ret_pus->pu) and returns 0, or -errno with text. */
int topo_pus_hwloc(struct topo_pus *ret_pus, struct error *e);
/* root is "/sys/devices/system", or a captured copy of it. */
int topo_pus_sysfs(const char *root, struct topo_pus *ret_pus, struct error *e);
