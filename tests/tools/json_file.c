/* json_file.c - see json_file.h. */
#include "tests/tools/json_file.h"

#include <stdio.h>
#include <stdlib.h>

cJSON *json_file(int argc, char **argv, struct buf *ret_text)
{
	struct buf text = {0};
	int code = argc == 2 ? buf_file(&text, argv[1], SIZE_MAX) : -1;
	buf_u8(&text, 0);
	cJSON *object = code < 0 || buf_failed(&text) ? NULL : cJSON_Parse((const char *)text.data);
	if (object == NULL) {
		fprintf(stderr, "usage: %s FILE.json\n", argv[0]);
		exit(2);
	}
	if (ret_text != NULL)
		*ret_text = text;
	else
		buf_done(&text);
	return object;
}
