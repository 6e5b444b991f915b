/* node.c - a node as JSON. In: one source of processing units and devices, /proc/cpuinfo.  Out: topo_node(). */
#include "base/json.h"
#include "base/path.h"
#include "topology/pus.h"
#include "topology/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef HAVE_HWLOC
#include <hwloc.h>
#endif

static int read_pus(struct topo_pus *ret_pus, struct error *e)
{
#ifdef HAVE_HWLOC
	if (topo_pus_hwloc(NULL, ret_pus, NULL) == 0)
		return 0;
#endif
	return topo_pus_sysfs("/sys", ret_pus, e);
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
		json_put_text(node, "cpu", colon + 1 + strspn(colon + 1, " "));
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

static void add_device(cJSON *list, const struct topo_device *d, bool live)
{
	cJSON *row = json_row(list);
	json_put_text(row, "kind", d->gpu ? "gpu" : "nic");
	json_put_text(row, "name", d->nnames > 0 ? d->names[0] : d->pci);
	cJSON *names = json_array(row, "names");
	for (unsigned i = 0; i < d->nnames; i++)
		json_push_text(names, d->names[i]);
	json_put_text(row, "pci", d->pci);
	json_put_text(row, "model", d->model);
	json_put(row, "socket", d->socket);
	json_put(row, "numa", d->numa);
	struct topo_link link = {.up = -1};
	if (live && !d->gpu)
		topo_link_read("/sys", d, &link);
	if (link.gbit_s > 0)
		json_put(row, "gbit_s", link.gbit_s);
	if (link.up >= 0)
		cJSON_AddBoolToObject(row, "up", link.up);
}

static cJSON *describe(const struct topo_pus *pus, bool live)
{
	cJSON *node = cJSON_CreateObject();
	add_counts(node, pus);
	add_pus(node, pus);
	cJSON *devices = json_array(node, "devices");
	for (size_t i = 0; i < pus->ndevices; i++)
		add_device(devices, &pus->device[i], live);
	return node;
}

static void add_versions(cJSON *node)
{
	struct utsname u;
	cJSON *versions = json_object(node, "versions");
	json_put_text(versions, "mpitrace", MPITRACE_VERSION);
	if (uname(&u) == 0)
		json_put_text(versions, "kernel", u.release);
#ifdef HAVE_HWLOC
	char text[32];
	unsigned v = hwloc_get_api_version();
	snprintf(text, sizeof(text), "%u.%u.%u", v >> 16, v >> 8 & 0xff, v & 0xff);
	json_put_text(versions, "hwloc", text);
#endif
}

cJSON *topo_node(struct error *e)
{
	char host[256] = "";
	struct topo_pus pus;
	if (read_pus(&pus, e) < 0)
		return NULL;
	cJSON *node = describe(&pus, true);
	topo_pus_done(&pus);
	if (node == NULL) {
		fail(e, -ENOMEM, "out of memory");
		return NULL;
	}
	gethostname(host, sizeof(host) - 1);
	json_put_text(node, "node", host);
	add_cpu_model(node);
	json_put(node, "memory_bytes", (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE));
	add_versions(node);
	return node;
}

cJSON *topo_capture(const char *path, struct error *e)
{
#ifdef HAVE_HWLOC
	struct topo_pus pus;
	if (topo_pus_hwloc(path, &pus, e) < 0)
		return NULL;
	cJSON *node = describe(&pus, false);
	topo_pus_done(&pus);
	json_put_text(node, "node", path_name(path));
	return node;
#else
	fail(e, -ENOTSUP, "%s: this mpitrace was built without hwloc, which reads captures", path);
	return NULL;
#endif
}
