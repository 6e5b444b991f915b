/* topology.h - what a node is made of, which part of it a rank may use, and which switches lead to
 * it. Read by the node agent for the .mpic's node metadata. Sources: hwloc, else
 * /sys/devices/system; Slurm's SLURM_TOPOLOGY_ADDR and _PATTERN. Objects are cJSON, owned by the
 * caller (cJSON_Delete); NULL on failure. */
#pragma once

#include "base/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* This node: {"node": host name, "cpu": model, "memory_bytes", "sockets", "cores", "pus", "numa",
 * "source": "hwloc"|"sysfs", "pu": [{"os", "core", "socket", "numa"}...],
 * "devices": [{"kind": "nic"|"gpu", "name", "names": [...], "pci", "model", "socket", "numa", "gbit_s", "up"}...],
 * "versions": {"mpitrace", "kernel", "hwloc"}}.
 * "os" is the kernel's number of the CPU; core, socket and numa count from 0 over the node. A device's socket and numa
 * are -1 where it hangs at no single one; its gbit_s and up are absent where they are not known. */
cJSON *topo_node(struct error *e);
/* The same of a capture of another machine (lstopo --of xml), without what only the machine itself tells. */
cJSON *topo_capture(const char *path, struct error *e);

/* What a CPU list as in /proc/PID/status ("0-3,8") covers of a node made by topo_node():
 * {"cpus": count, "list": the list, "cores": [...], "sockets": [...], "numa": [...]}, ascending.
 * CPUs that the node does not have count but map to nothing. A list that does not parse gives NULL.
 */
cJSON *topo_binding(const cJSON *node, const char *cpulist);

/* {"path": ["spine", "leaf1"], "kinds": ["switch", "switch"], "node": "n1"} from "spine.leaf1.n1" and
 * "switch.switch.node"; the outermost switch comes first. Parts that do not agree give NULL. */
cJSON *topo_switches(const char *addr, const char *pattern);

/* What is odd about where the ranks of a node may run. node: topo_node()'s members, "name", and "ranks": [{"rank",
 * "cpus"}...]. many_nodes: the job has others, so the network matters. Added to the array misbindings, where a kind has
 * one row for all nodes: {"kind", "avoidable", "nodes": [...], "nodes_total", "ranks": [...], "ranks_total", "what",
 * "next"}. */
void topo_misbound(const cJSON *node, bool many_nodes, cJSON *misbindings);
