/* loaded.h - names of a job's environment modules, as `module` keeps them in LOADEDMODULES, for its record. It is the
 * user's text, so that names are all that is taken: nothing that is a path, no more than there is room for. */
#pragma once

#define LOADED_NAMES_MAX 32 /* names */
#define LOADED_NAME_MAX 64u /* bytes of one */
#define LOADED_TEXT_MAX (LOADED_NAMES_MAX * (LOADED_NAME_MAX + 1) + 16)

/* text: "gcc/12.2:openmpi/4.1.4", NULL as "". ret_text: "gcc/12.2,openmpi/4.1.4", with ",+3" behind it for three that
 * were left out. */
void loaded_names(const char *text, char ret_text[LOADED_TEXT_MAX]);
