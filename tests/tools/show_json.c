/* show_json.c - `mpitrace show` of an analysis given as JSON: show_json ANALYSIS.json. */
#include "cli/show.h"
#include "tests/tools/json_file.h"

int main(int argc, char **argv)
{
	cJSON *analysis = json_file(argc, argv, NULL);
	const cJSON *ranks = cJSON_GetObjectItemCaseSensitive(analysis, "per_rank");
	struct mpix_info info = {.ranks = (uint32_t)cJSON_GetArraySize(ranks)};
	show_summary(analysis, &info, "job.mpix");
	cJSON_Delete(analysis);
	return 0;
}
