/* dwarf.c - see lines.h; by elfutils' libdwfl, module by module, after the run.
 * A return address points behind the call, so the instruction before it is looked up. Of inlined
 * frames the first one outside of system headers is named: that is the line the user wrote. Debug information that was
 * split off (-gsplit-dwarf) is read where the program or its compiler has put it. */
#include "base/path.h"
#include "postproc/lines/lines.h"
#include "base/json.h"
#include "base/utf8.h"
#include "postproc/lines/apart.h"
#include "postproc/read/names.h"
#include "postproc/read/sites.h"
#include "postproc/lines/python_name.h"
#include "postproc/lines/unwind.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

#define SCOPES_MAX 64
#define SCOPES_DEPTH_MAX 256

/* What holds an address, innermost first: functions, those that are inlined in them, blocks. */
struct scopes {
	Dwarf_Die at[SCOPES_MAX];
	int n;
};

/* An open module. */
struct image {
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr base;	 /* where libdwfl put address 0 of the file */
	Dwarf_Die *unit; /* that of the address before */
	Dwarf_Addr bias;
};

static bool is_system_file(const char *file)
{
	return strncmp(file, "/usr/include/", 13) == 0 || strncmp(file, "/usr/lib/", 9) == 0;
}

/* Is the file still the one that ran? Without a recorded build id nobody knows: then it is taken.
 */
static bool same_build(const struct image *im, const struct module *m)
{
	const unsigned char *bits;
	GElf_Addr where;
	char hex[sizeof(m->build_id)] = "";
	int n = dwfl_module_build_id(im->module, &bits, &where);
	for (int i = 0; i < n && 2 * (size_t)i + 2 < sizeof(hex); i++)
		snprintf(hex + 2 * i, 3, "%02x", bits[i]);
	return m->build_id[0] == '\0' || strcmp(hex, m->build_id) == 0;
}

/* Only regular files, never a FIFO or device that a hostile record names. */
static int open_regular(const char *path)
{
	struct stat st;
	int fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* What is none costs no process. */
static bool is_regular(const char *path)
{
	int fd = open_regular(path);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool image_open(const struct module *m, struct image *ret)
{
	struct image im = {0};
	int fd = open_regular(m->path);
	if (fd < 0)
		return false;
	im.dwfl = dwfl_begin(&callbacks);
	if (im.dwfl != NULL)
		im.module = dwfl_report_offline(im.dwfl, m->path, m->path, fd);
	if (im.module == NULL) {
		close(fd);
		dwfl_end(im.dwfl);
		return false;
	}
	dwfl_report_end(im.dwfl, NULL, NULL);
	if (dwfl_module_getelf(im.module, &im.base) == NULL || !same_build(&im, m)) {
		dwfl_end(im.dwfl);
		return false;
	}
	*ret = im;
	return true;
}

static void set_text(char **to, const char *text)
{
	if (text == NULL)
		return;
	free(*to);
	*to = utf8_clean(text, strlen(text));
}

static void set_function(struct site *site, const char *symbol)
{
	char *name = symbol == NULL ? NULL : name_readable(symbol);
	set_text(&site->function, name);
	free(name);
}

static void set_place(struct site *site, const char *file, int line)
{
	set_text(&site->file, file);
	site->line = line;
}

/* Where an inlined function was called from. */
static const char *call_file(Dwarf_Die *scope, Dwarf_Die *cu, int *ret_line)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t n;
	if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &line) != 0 ||
	    dwarf_getsrcfiles(cu, &files, &n) != 0 || file >= n)
		return NULL;
	*ret_line = (int)line;
	return dwarf_filesrc(files, file, NULL, NULL);
}

/* C++ tells namespaces, classes and parameters in the linkage name only; in other languages that one is for the linker.
 * Constructors have none, since they have several: then the symbol that stands at this place is asked. */
static const char *function_name(Dwarf_Die *scope, const char *symbol)
{
	Dwarf_Attribute attribute;
	const char *linkage = dwarf_formstring(dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute));
	if (linkage == NULL && dwarf_tag(scope) == DW_TAG_subprogram)
		linkage = symbol;
	return linkage != NULL && name_is_cxx(linkage) ? linkage : dwarf_diename(scope);
}

/* The unit that a skeleton stands for. Where it is gone there are lines, and functions by their symbols. */
static void split_off(Dwarf_Die *cu, Dwarf_Die *ret_unit)
{
	Dwarf_Die split;
	uint8_t type;
	if (dwarf_cu_info(cu->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0 && type == DW_UT_skeleton &&
	    split.addr != NULL)
		*ret_unit = split;
}

/* dwarf_getscopes() does not do: around a function that is inlined it tells where that is defined, and finds nothing
 * where that is another unit (-flto). */
static bool find_scopes(Dwarf_Die *die, Dwarf_Addr address, unsigned depth, struct scopes *s)
{
	Dwarf_Die child;
	if (depth > SCOPES_DEPTH_MAX || dwarf_child(die, &child) != 0)
		return false;
	do {
		int tag = dwarf_tag(&child);
		bool is_code =
			tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block;
		bool here = is_code && dwarf_haspc(&child, address) > 0;
		if (!here && tag != DW_TAG_subprogram && tag != DW_TAG_namespace && tag != DW_TAG_module &&
		    tag != DW_TAG_class_type && tag != DW_TAG_structure_type && tag != DW_TAG_lexical_block)
			continue;
		bool found = find_scopes(&child, address, depth + 1, s);
		if (here && s->n < SCOPES_MAX)
			s->at[s->n++] = child;
		if (here || found)
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* Walk from the innermost scope outwards until the place is the user's. */
static void leave_headers(struct site *site, struct scopes *s, Dwarf_Die *cu, const char *symbol)
{
	bool done = site->file == NULL || !is_system_file(site->file);
	for (int i = 0; i < s->n; i++) {
		int tag = dwarf_tag(&s->at[i]), line = 0;
		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		if (done || tag == DW_TAG_subprogram) {
			set_function(site, function_name(&s->at[i], symbol));
			return;
		}
		const char *file = call_file(&s->at[i], cu, &line);
		if (file == NULL)
			return;
		set_place(site, file, line);
		done = !is_system_file(file);
	}
}

/* A stripped program has no names, but the index of its unwind tables tells where functions begin:
 * "hpcc+0x2d800". */
static void name_by_start(const struct image *im, const struct module *m, struct site *site)
{
	char name[PYTHON_NAME_MAX];
	GElf_Addr unused;
	Elf *elf = dwfl_module_getelf(im->module, &unused);
	uint64_t start = unwind_start(elf, site->offset - 1);
	if (start == 0)
		return;
	if (!python_function(elf, m->path, start, name, sizeof(name)))
		snprintf(name, sizeof(name), "%.80s+0x%llx", path_name(m->path), (unsigned long long)start);
	set_text(&site->function, name);
}

/* clang writes no table of addresses (.debug_aranges), which libdwfl goes by: then each unit says which it has. */
static bool find_unit(struct image *im, Dwarf_Addr address)
{
	if (im->unit != NULL && dwarf_haspc(im->unit, address - im->bias) > 0)
		return true;
	im->unit = dwfl_module_addrdie(im->module, address, &im->bias);
	if (im->unit != NULL)
		return true;
	while ((im->unit = dwfl_module_nextcu(im->module, im->unit, &im->bias)) != NULL)
		if (dwarf_haspc(im->unit, address - im->bias) > 0)
			return true;
	return false;
}

static void resolve_site(struct image *im, const struct module *m, struct site *site)
{
	Dwarf_Addr address = site->offset - 1 + im->base;
	struct scopes scopes = {.n = 0};
	GElf_Off offset;
	GElf_Sym unused;
	int line;
	const char *symbol = dwfl_module_addrinfo(im->module, address, &offset, &unused, NULL, NULL, NULL);
	set_function(site, symbol);
	if (site->function == NULL)
		name_by_start(im, m, site);
	if (!find_unit(im, address))
		return;
	Dwarf_Line *at = dwarf_getsrc_die(im->unit, address - im->bias);
	const char *file = at == NULL || dwarf_lineno(at, &line) != 0 ? NULL : dwarf_linesrc(at, NULL, NULL);
	if (file == NULL)
		return;
	set_place(site, file, line);
	Dwarf_Die unit = *im->unit;
	split_off(im->unit, &unit);
	find_scopes(&unit, address - im->bias, 0, &scopes);
	leave_headers(site, &scopes, &unit, symbol);
}

static void resolve_module(struct step *s, uint32_t module)
{
	struct image im;
	if (!image_open(&s->modules.at[module], &im))
		return;
	for (size_t i = 0; i < sites_places(s); i++)
		if (sites_place(s, i)->module == module)
			resolve_site(&im, &s->modules.at[module], sites_place(s, i));
	dwfl_end(im.dwfl);
}

static bool is_used(struct step *s, uint32_t module)
{
	for (size_t i = 0; i < sites_places(s); i++)
		if (sites_place(s, i)->module == module)
			return true;
	return false;
}

void lines_resolve(struct step *s)
{
	unsetenv("DEBUGINFOD_URLS"); /* an analysis does not go to the network: libdwfl would */
	for (uint32_t m = 0; m < s->modules.n; m++)
		if (is_used(s, m) && is_regular(s->modules.at[m].path))
			apart_resolve(s, m, resolve_module);
}
