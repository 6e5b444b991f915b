/* json_file.h - the first argument of a program, a file of JSON. */
#pragma once

#include "base/buf_file.h"

#include <cJSON.h>

/* The object; its text in *ret_text, if that is not NULL. Ends the program with 2 if there is none. */
cJSON *json_file(int argc, char **argv, struct buf *ret_text);
