/* sysfs.c - the node's processing units from /sys/devices/system, for builds without hwloc (devices: sysfs_devices.c).
 * Cores and packages are numbered in the order in which the CPUs name them, as hwloc does. */
#include "base/slurp.h"
#include "topology/cpulist.h"
#include "topology/pus.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMA_MAX 1024

/* What the kernel calls a core: only unique inside its package. */
struct kernel_core {
	int package, core;
};

static int read_cpu_number(const char *root, unsigned cpu, const char *what)
{
	char path[PATH_MAX], text[32];
	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu%u/topology/%s", root, cpu, what);
	return slurp(path, text, sizeof(text)) > 0 ? atoi(text) : 0;
}

/* Number the core and the socket of the PU at `at`: as an earlier one of the same, or the next free
 * number. */
static void number_pu(const struct kernel_core *seen, size_t at, struct topo_pu *pu)
{
	unsigned cores = 0, sockets = 0;
	int core = -1, socket = -1;
	for (size_t i = 0; i < at; i++) {
		if (seen[i].package == seen[at].package)
			socket = (int)pu[i].socket;
		if (seen[i].package == seen[at].package && seen[i].core == seen[at].core)
			core = (int)pu[i].core;
		cores = pu[i].core >= cores ? pu[i].core + 1 : cores;
		sockets = pu[i].socket >= sockets ? pu[i].socket + 1 : sockets;
	}
	pu[at].core = core >= 0 ? (unsigned)core : cores;
	pu[at].socket = socket >= 0 ? (unsigned)socket : sockets;
}

static void fill_numa(const char *root, struct topo_pus *pus, struct cpulist *list)
{
	char path[PATH_MAX], text[4096];
	unsigned index = 0;
	for (unsigned node = 0; node < NUMA_MAX; node++) {
		snprintf(path, sizeof(path), "%s/devices/system/node/node%u/cpulist", root, node);
		if (slurp(path, text, sizeof(text)) == 0 || cpulist_parse(text, list) < 0)
			continue;
		for (size_t i = 0; i < pus->count; i++)
			if (cpulist_has(list, pus->pu[i].os))
				pus->pu[i].numa = index;
		index++;
	}
}

static int fill_pus(const char *root, const struct cpulist *online, struct topo_pus *pus)
{
	struct kernel_core *seen = calloc(online->count, sizeof(*seen));
	pus->pu = calloc(online->count, sizeof(*pus->pu));
	if (seen == NULL || pus->pu == NULL) {
		free(seen);
		free(pus->pu);
		return -ENOMEM;
	}
	for (unsigned cpu = 0; cpu <= CPULIST_CPU_MAX; cpu++) {
		if (!cpulist_has(online, cpu))
			continue;
		size_t at = pus->count++;
		seen[at].package = read_cpu_number(root, cpu, "physical_package_id");
		seen[at].core = read_cpu_number(root, cpu, "core_id");
		pus->pu[at].os = cpu;
		number_pu(seen, at, pus->pu);
	}
	free(seen);
	return 0;
}

int topo_pus_sysfs(const char *root, struct topo_pus *ret_pus, struct error *e)
{
	char path[PATH_MAX], text[4096];
	snprintf(path, sizeof(path), "%s/devices/system/cpu/online", root);
	errno = ENODATA;
	if (slurp(path, text, sizeof(text)) == 0)
		return fail(e, -errno, "%s: cannot read it", path);
	struct cpulist *list = malloc(sizeof(*list));
	if (list == NULL)
		return fail(e, -ENOMEM, "out of memory");
	struct topo_pus pus = {.source = "sysfs"};
	int rc = cpulist_parse(text, list);
	if (rc == 0 && list->count > 0)
		rc = fill_pus(root, list, &pus);
	else
		rc = -EBADMSG;
	if (rc == 0) {
		fill_numa(root, &pus, list);
		topo_devices_sysfs(root, &pus);
		*ret_pus = pus;
	}
	free(list);
	return rc < 0 ? fail(e, rc, "%s: not a list of CPUs", path) : 0;
}
