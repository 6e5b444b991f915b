/* topology.h - what a node is made of, which part of it a rank may use, and which switches lead to
 * it. Read by the node agent for the .mpic's node metadata. Sources: hwloc, else
 * /sys/devices/system; Slurm's SLURM_TOPOLOGY_ADDR and _PATTERN. Objects are cJSON, owned by the
 * caller (cJSON_Delete); NULL on failure. */
#pragma once

#include "base/error.h"

#include <cjson/cJSON.h>

/* This node: {"node": host name, "cpu": model, "memory_bytes", "sockets", "cores", "pus", "numa",
 * "source": "hwloc"|"sysfs", "pu": [{"os", "core", "socket", "numa"}...]}.
 * "os" is the kernel's number of the CPU; core, socket and numa count from 0 over the node. */
cJSON *topo_node(struct error *e);

/* What a CPU list as in /proc/PID/status ("0-3,8") covers of a node made by topo_node():
 * {"cpus": count, "list": the list, "cores": [...], "sockets": [...], "numa": [...]}, ascending.
 * CPUs that the node does not have count but map to nothing. A list that does not parse gives NULL.
 */
cJSON *topo_binding(const cJSON *node, const char *cpulist);

/* {"path": ["spine", "leaf1"], "node": "n1"} from "spine.leaf1.n1" and "switch.switch.node"; the
 * outermost switch comes first. Parts that do not agree give NULL. */
cJSON *topo_switches(const char *addr, const char *pattern);
