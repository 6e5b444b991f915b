/* target_fabric.c - Slurm's topology.conf and topology.yaml, the first byte says which: refused with file and line, or
 * asked for the paths to nodes. */
#include "tests/fuzz/fuzz.h"

#include "topology/fabric.h"

#include <string.h>

static const char *const nodes[] = {"n1", "n2", "node17", "", "a"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct fabric *f;
	struct error e = {""};
	if (len_bytes == 0)
		return 0;
	if (fabric_parse("fuzz", (const char *)data + 1, len_bytes - 1, (data[0] & 1) != 0, &f, &e) < 0) {
		fuzz_check(strncmp(e.text, "fuzz", 4) == 0);
		return 0;
	}
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		cJSON *path = fabric_path(f, nodes[i]);
		fuzz_check(path == NULL || cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(path, "path")));
		cJSON_Delete(path);
	}
	fabric_free(f);
	return 0;
}
