/* transport.c - see transport.h. In: the loader's list.  Out: segfile->transports, "pml ob1, btl vader, UCX". */
#include "pmpi/transport.h"

#include "base/path.h"
#include "pmpi/segfile.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

/* Names of files begin with it; what stands between it and the next dot follows `as`. */
static const struct {
	const char *prefix, *as;
	bool with_rest;
} parts[] = {
	{"mca_pml_", "pml ", true},    {"mca_mtl_", "mtl ", true},	  {"mca_btl_", "btl ", true},
	{"libuct_", "UCX ", true},     {"libucp.so", "UCX", false},	  {"libfabric.so", "libfabric", false},
	{"libpsm2.so", "PSM2", false}, {"libibverbs.so", "verbs", false}, {"libcxi.so", "CXI", false},
};

static void add(const char *as, const char *rest, int rest_len)
{
	size_t used = strlen(segfile->transports), left = sizeof(segfile->transports) - used;
	int n = snprintf(segfile->transports + used, left, "%s%s%.*s", used > 0 ? ", " : "", as, rest_len, rest);
	if (n < 0 || (size_t)n >= left) /* whole names only */
		segfile->transports[used] = '\0';
}

static int visit_library(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *base = path_name(info->dlpi_name);
	(void)size;
	(void)context;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t len = strlen(parts[i].prefix);
		if (strncmp(base, parts[i].prefix, len) == 0)
			add(parts[i].as, base + len, parts[i].with_rest ? (int)strcspn(base + len, ".") : 0);
	}
	return 0;
}

void transport_note(const char *library)
{
	const char *device = strstr(library, "MPICH Device:");
	segfile->transports[0] = '\0';
	if (device != NULL) {
		device += strlen("MPICH Device:");
		device += strspn(device, " \t");
		add("", device, (int)strcspn(device, " \t\n"));
	}
	dl_iterate_phdr(visit_library, NULL);
}
