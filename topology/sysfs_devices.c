/* sysfs_devices.c - network adapters and GPUs from /sys/bus/pci, for builds without hwloc. */
#include "base/slurp.h"
#include "topology/cpulist.h"
#include "topology/pus.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_text(const char *dir, const char *name, char *ret_text, size_t cap_bytes)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	return n < (int)sizeof(path) && slurp(path, ret_text, cap_bytes) > 0;
}

static unsigned read_hex(const char *dir, const char *name)
{
	char text[64];
	return read_text(dir, name, text, sizeof(text)) ? (unsigned)strtoul(text, NULL, 16) : 0;
}

/* The drivers' names of it are directories below, in the order of their names. */
static void add_names(const char *dir, const char *kind, bool first, struct topo_device *d)
{
	char path[PATH_MAX];
	struct dirent **entries;
	int len = snprintf(path, sizeof(path), "%s/%s", dir, kind);
	int n = len < (int)sizeof(path) ? scandir(path, &entries, NULL, alphasort) : -1;
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.')
			topo_device_name(d, entries[i]->d_name, first);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

/* Adapters of virtual machines have theirs one directory deeper. */
static void add_virtual_names(const char *dir, struct topo_device *d)
{
	char path[PATH_MAX];
	struct dirent **entries;
	int n = scandir(dir, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		int len = snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
		if (strncmp(entries[i]->d_name, "virtio", 6) == 0 && len < (int)sizeof(path))
			add_names(path, "net", false, d);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

static void locate(const char *dir, const struct topo_pus *pus, struct topo_device *d)
{
	char text[4096];
	bool first = true;
	struct cpulist *list = malloc(sizeof(*list));
	if (list != NULL && read_text(dir, "local_cpulist", text, sizeof(text)) && cpulist_parse(text, list) == 0)
		for (size_t i = 0; i < pus->count; i++) {
			const struct topo_pu *pu = &pus->pu[i];
			if (!cpulist_has(list, pu->os))
				continue;
			d->socket = first || d->socket == (int)pu->socket ? (int)pu->socket : -1;
			d->numa = first || d->numa == (int)pu->numa ? (int)pu->numa : -1;
			first = false;
		}
	free(list);
}

static void add_device(const char *dir, const char *pci, struct topo_pus *pus)
{
	unsigned vendor = read_hex(dir, "vendor"), device = read_hex(dir, "device");
	enum topo_class class = topo_class_of(read_hex(dir, "class") >> 8, vendor, device);
	struct topo_device *d = class != TOPO_OTHER ? topo_device_add(pus) : NULL;
	if (d == NULL)
		return;
	d->gpu = class == TOPO_GPU;
	if (d->gpu) {
		add_names(dir, "drm", false, d);
	} else {
		add_names(dir, "net", false, d);
		add_virtual_names(dir, d);
		add_names(dir, "infiniband", true, d);
		add_names(dir, "cxi", true, d);
	}
	if (!d->gpu && d->nnames == 0) {
		pus->ndevices--;
		return;
	}
	snprintf(d->pci, sizeof(d->pci), "%.15s", pci);
	snprintf(d->model, sizeof(d->model), "%04x:%04x", vendor, device);
	locate(dir, pus, d);
}

void topo_devices_sysfs(const char *root, struct topo_pus *pus)
{
	char path[PATH_MAX];
	struct dirent **entries;
	snprintf(path, sizeof(path), "%s/bus/pci/devices", root);
	int n = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		int len = snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", root, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && len < (int)sizeof(path))
			add_device(path, entries[i]->d_name, pus);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}
