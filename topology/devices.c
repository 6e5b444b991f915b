/* devices.c - network adapters and GPUs: what is common to the sources that find them. */
#include "topology/pus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR_AMD 0x1002
#define VENDOR_NVIDIA 0x10de

/* Consoles of older servers, of a vendor whose other VGA controllers compute. */
static bool is_console(unsigned vendor, unsigned device)
{
	return vendor == VENDOR_AMD && (device == 0x515e || device == 0x5969); /* ES1000 */
}

enum topo_class topo_class_of(unsigned class_id, unsigned vendor, unsigned device)
{
	if (class_id >> 8 == 0x02 || class_id == 0x0c06) /* the latter: InfiniBand adapters of a certain age */
		return TOPO_NIC;
	/* 3D controllers, other displays (AMD Instinct), accelerators; of VGA controllers those that compute: most
	 * servers have one that only draws a console. */
	if (class_id == 0x0302 || class_id == 0x0380 || class_id == 0x1200)
		return TOPO_GPU;
	bool computes = (vendor == VENDOR_AMD || vendor == VENDOR_NVIDIA) && !is_console(vendor, device);
	return class_id == 0x0300 && computes ? TOPO_GPU : TOPO_OTHER;
}

void topo_device_name(struct topo_device *d, const char *name, bool first)
{
	if (d->nnames == TOPO_NAMES_MAX)
		return;
	char *to = d->names[d->nnames++];
	if (first) {
		memmove(d->names[1], d->names[0], (d->nnames - 1) * sizeof(d->names[0]));
		to = d->names[0];
	}
	snprintf(to, sizeof(d->names[0]), "%s", name);
}

struct topo_device *topo_device_add(struct topo_pus *pus)
{
	if (pus->device == NULL)
		pus->device = calloc(TOPO_DEVICES_MAX, sizeof(*pus->device));
	if (pus->device == NULL || pus->ndevices == TOPO_DEVICES_MAX)
		return NULL;
	struct topo_device *d = &pus->device[pus->ndevices++];
	memset(d, 0, sizeof(*d));
	d->socket = d->numa = -1;
	return d;
}

void topo_pus_done(struct topo_pus *pus)
{
	free(pus->pu);
	free(pus->device);
	memset(pus, 0, sizeof(*pus));
}
