/* hwloc.c - the node's processing units and devices as hwloc sees them, whatever this process may use of them. In: this
 * machine, or a capture of another one.  Out: struct topo_pus. */
#include "topology/pus.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned above(hwloc_topology_t t, hwloc_obj_t pu, hwloc_obj_type_t type)
{
	hwloc_obj_t obj = hwloc_get_ancestor_obj_by_type(t, type, pu);
	return obj != NULL ? obj->logical_index : 0;
}

/* The NUMA node whose CPUs hold this one; memory is not an ancestor in hwloc 2. */
static unsigned numa_of(hwloc_topology_t t, hwloc_obj_t pu)
{
	hwloc_obj_t node = NULL;
	while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node)) != NULL)
		if (node->cpuset != NULL && hwloc_bitmap_isset(node->cpuset, pu->os_index))
			return node->logical_index;
	return 0;
}

static int collect_pus(hwloc_topology_t t, struct topo_pus *pus)
{
	int count = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU);
	if (count <= 0)
		return -ENODATA;
	pus->pu = calloc((size_t)count, sizeof(*pus->pu));
	if (pus->pu == NULL)
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		hwloc_obj_t obj = hwloc_get_obj_by_type(t, HWLOC_OBJ_PU, (unsigned)i);
		pus->pu[i] = (struct topo_pu){.os = obj->os_index,
					      .core = above(t, obj, HWLOC_OBJ_CORE),
					      .socket = above(t, obj, HWLOC_OBJ_PACKAGE),
					      .numa = numa_of(t, obj)};
	}
	pus->count = (size_t)count;
	return 0;
}

/* The one socket, and the one NUMA node, of all CPUs that are near a device; -1 where there are several. */
static void locate(hwloc_topology_t t, hwloc_obj_t pci, const struct topo_pus *pus, struct topo_device *d)
{
	hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(t, pci);
	bool first = true;
	for (size_t i = 0; near != NULL && near->cpuset != NULL && i < pus->count; i++) {
		const struct topo_pu *pu = &pus->pu[i];
		if (!hwloc_bitmap_isset(near->cpuset, pu->os))
			continue;
		d->socket = first || d->socket == (int)pu->socket ? (int)pu->socket : -1;
		d->numa = first || d->numa == (int)pu->numa ? (int)pu->numa : -1;
		first = false;
	}
}

static void add_names(hwloc_obj_t pci, struct topo_device *d)
{
	for (hwloc_obj_t child = pci->io_first_child; child != NULL; child = child->next_sibling) {
		hwloc_obj_osdev_type_t type = child->type == HWLOC_OBJ_OS_DEVICE ? child->attr->osdev.type : -1u;
		bool wanted = d->gpu ? type == HWLOC_OBJ_OSDEV_GPU || type == HWLOC_OBJ_OSDEV_COPROC
				     : type == HWLOC_OBJ_OSDEV_NETWORK || type == HWLOC_OBJ_OSDEV_OPENFABRICS;
		if (wanted && child->name != NULL)
			topo_device_name(d, child->name, type == HWLOC_OBJ_OSDEV_OPENFABRICS);
	}
}

static void add_device(hwloc_topology_t t, hwloc_obj_t pci, bool gpu, struct topo_pus *pus)
{
	const struct hwloc_pcidev_attr_s *at = &pci->attr->pcidev;
	const char *model = hwloc_obj_get_info_by_name(pci, "PCIDevice");
	const char *vendor = hwloc_obj_get_info_by_name(pci, "PCIVendor");
	struct topo_device *d = topo_device_add(pus);
	if (d == NULL)
		return;
	d->gpu = gpu;
	add_names(pci, d);
	if (!gpu && d->nnames == 0) { /* an adapter without a driver is nobody's */
		pus->ndevices--;
		return;
	}
	snprintf(d->pci, sizeof(d->pci), "%04x:%02x:%02x.%01x", at->domain & 0xffff, at->bus, at->dev, at->func & 15);
	if (model != NULL)
		snprintf(d->model, sizeof(d->model), "%s%s%s", vendor != NULL ? vendor : "", vendor != NULL ? " " : "",
			 model);
	else
		snprintf(d->model, sizeof(d->model), "%04x:%04x", at->vendor_id, at->device_id);
	locate(t, pci, pus, d);
}

static void collect_devices(hwloc_topology_t t, struct topo_pus *pus)
{
	for (hwloc_obj_t pci = NULL; (pci = hwloc_get_next_pcidev(t, pci)) != NULL;) {
		const struct hwloc_pcidev_attr_s *at = &pci->attr->pcidev;
		enum topo_class class = topo_class_of(at->class_id, at->vendor_id, at->device_id);
		if (class != TOPO_OTHER)
			add_device(t, pci, class == TOPO_GPU, pus);
	}
}

/* Parts that ask a GPU's driver or an X server are slow, and a process of ours would show up on the GPU. PCI says
 * enough. */
static void leave_drivers_alone(hwloc_topology_t t)
{
	static const char *const parts[] = {"cuda", "nvml", "rsmi", "levelzero", "opencl", "gl"};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, parts[i]);
}

int topo_pus_hwloc(const char *xml, struct topo_pus *ret_pus, struct error *e)
{
	hwloc_topology_t t;
	struct topo_pus pus = {.source = "hwloc"};
	if (hwloc_topology_init(&t) != 0)
		return fail(e, -ENOMEM, "hwloc: cannot make a topology");
	leave_drivers_alone(t);
	hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	int rc = xml != NULL ? hwloc_topology_set_xml(t, xml) : 0;
	if (rc == 0)
		rc = hwloc_topology_load(t) == 0 ? collect_pus(t, &pus) : -ENODATA;
	if (rc == 0)
		collect_devices(t, &pus);
	hwloc_topology_destroy(t);
	if (rc < 0 && xml != NULL)
		return fail(e, -EBADMSG, "%s: not a capture of a machine that this hwloc reads (lstopo --of xml)", xml);
	if (rc < 0)
		return fail(e, rc, "hwloc: cannot read this node's topology");
	*ret_pus = pus;
	return 0;
}
