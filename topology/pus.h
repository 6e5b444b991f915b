/* pus.h - the hardware of a node as topology/ reads it: processing units (hardware threads), network adapters, GPUs.
 * Filled by one of the sources. Private to topology/. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define TOPO_DEVICES_MAX 256
#define TOPO_NAMES_MAX 4

struct topo_pu {
	unsigned os;	 /* the kernel's number */
	unsigned core;	 /* from 0 over the node */
	unsigned socket; /* from 0 over the node */
	unsigned numa;	 /* from 0 over the node */
};

struct topo_device {
	bool gpu;			/* else a network adapter */
	char names[TOPO_NAMES_MAX][32]; /* "mlx5_0", "ib0"; the first is the one that people use */
	unsigned nnames;
	char pci[16]; /* "0000:3b:00.0" */
	char model[96];
	int socket, numa; /* where it hangs; -1: at no single one, or not known */
};

struct topo_pus {
	struct topo_pu *pu;
	size_t count;
	struct topo_device *device;
	size_t ndevices;
	const char *source;
};

void topo_pus_done(struct topo_pus *pus);
/* Each fills *ret_pus (topo_pus_done() frees) and returns 0, or -errno with text. */
/* xml: a capture of another machine (lstopo --of xml), or NULL for this one. */
int topo_pus_hwloc(const char *xml, struct topo_pus *ret_pus, struct error *e);
/* root is "/sys", or a captured copy of it. */
int topo_pus_sysfs(const char *root, struct topo_pus *ret_pus, struct error *e);
/* Add the PCI devices of root to what topo_pus_sysfs() has read. */
void topo_devices_sysfs(const char *root, struct topo_pus *pus);

struct topo_link {
	double gbit_s; /* 0: not known */
	int up;	       /* -1: not known */
};

void topo_link_read(const char *root, const struct topo_device *d, struct topo_link *ret_link);

/* What is common to the sources. A PCI device's class (PCI Code and ID Assignment Specification): is it a network
 * adapter, a GPU, or none of our business? */
enum topo_class { TOPO_OTHER, TOPO_NIC, TOPO_GPU };
enum topo_class topo_class_of(unsigned class_id, unsigned vendor, unsigned device);
/* first: before those that are there, as what MPI libraries call an adapter ("mlx5_0") goes before "ib0". */
void topo_device_name(struct topo_device *d, const char *name, bool first);
/* Room for one more, zeroed; NULL: full, or no memory. */
struct topo_device *topo_device_add(struct topo_pus *pus);
