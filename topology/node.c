/* node.c - this node as JSON. In: one source of processing units, /proc/cpuinfo.  Out: topo_node().
 */
#include "topology/pus.h"
#include "topology/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_pus(struct topo_pus *ret_pus, struct error *e)
{
#ifdef HAVE_HWLOC
	if (topo_pus_hwloc(ret_pus, NULL) == 0)
		return 0;
#endif
	return topo_pus_sysfs("/sys/devices/system", ret_pus, e);
}

static void add_cpu_model(cJSON *node)
{
	char line[512];
	FILE *f = fopen("/proc/cpuinfo", "re");
	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		char *colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) != 0 || colon == NULL)
			continue;
		line[strcspn(line, "\n")] = '\0';
		cJSON_AddStringToObject(node, "cpu", colon + 1 + strspn(colon + 1, " "));
		break;
	}
	fclose(f);
}

static void add_counts(cJSON *node, const struct topo_pus *pus)
{
	unsigned cores = 0, sockets = 0, numa = 0;
	for (size_t i = 0; i < pus->count; i++) {
		const struct topo_pu *pu = &pus->pu[i];
		cores = pu->core >= cores ? pu->core + 1 : cores;
		sockets = pu->socket >= sockets ? pu->socket + 1 : sockets;
		numa = pu->numa >= numa ? pu->numa + 1 : numa;
	}
	cJSON_AddNumberToObject(node, "sockets", sockets);
	cJSON_AddNumberToObject(node, "cores", cores);
	cJSON_AddNumberToObject(node, "pus", (double)pus->count);
	cJSON_AddNumberToObject(node, "numa", numa);
	cJSON_AddStringToObject(node, "source", pus->source);
}

static void add_pus(cJSON *node, const struct topo_pus *pus)
{
	cJSON *list = cJSON_AddArrayToObject(node, "pu");
	for (size_t i = 0; i < pus->count; i++) {
		cJSON *pu = cJSON_CreateObject();
		cJSON_AddNumberToObject(pu, "os", pus->pu[i].os);
		cJSON_AddNumberToObject(pu, "core", pus->pu[i].core);
		cJSON_AddNumberToObject(pu, "socket", pus->pu[i].socket);
		cJSON_AddNumberToObject(pu, "numa", pus->pu[i].numa);
		if (!cJSON_AddItemToArray(list, pu))
			cJSON_Delete(pu);
	}
}

cJSON *topo_node(struct error *e)
{
	char host[256] = "";
	struct topo_pus pus;
	if (read_pus(&pus, e) < 0)
		return NULL;
	cJSON *node = cJSON_CreateObject();
	if (node == NULL) {
		free(pus.pu);
		fail(e, -ENOMEM, "out of memory");
		return NULL;
	}
	gethostname(host, sizeof(host) - 1);
	cJSON_AddStringToObject(node, "node", host);
	add_cpu_model(node);
	cJSON_AddNumberToObject(node, "memory_bytes", (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
	add_counts(node, &pus);
	add_pus(node, &pus);
	free(pus.pu);
	return node;
}
