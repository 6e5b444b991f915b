/* hwloc.c - the node's processing units as hwloc sees them, whatever this process may use of them.
 */
#include "topology/pus.h"

#include <errno.h>
#include <hwloc.h>
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

static int collect(hwloc_topology_t t, struct topo_pus *ret_pus)
{
	int count = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU);
	if (count <= 0)
		return -ENODATA;
	struct topo_pu *pu = calloc((size_t)count, sizeof(*pu));
	if (pu == NULL)
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		hwloc_obj_t obj = hwloc_get_obj_by_type(t, HWLOC_OBJ_PU, (unsigned)i);
		pu[i] = (struct topo_pu){.os = obj->os_index,
					 .core = above(t, obj, HWLOC_OBJ_CORE),
					 .socket = above(t, obj, HWLOC_OBJ_PACKAGE),
					 .numa = numa_of(t, obj)};
	}
	*ret_pus = (struct topo_pus){.pu = pu, .count = (size_t)count, .source = "hwloc"};
	return 0;
}

int topo_pus_hwloc(struct topo_pus *ret_pus, struct error *e)
{
	hwloc_topology_t t;
	if (hwloc_topology_init(&t) != 0)
		return fail(e, -ENOMEM, "hwloc: cannot make a topology");
	hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	int rc = hwloc_topology_load(t) == 0 ? collect(t, ret_pus) : -ENODATA;
	hwloc_topology_destroy(t);
	return rc < 0 ? fail(e, rc, "hwloc: cannot read this node's topology") : 0;
}
