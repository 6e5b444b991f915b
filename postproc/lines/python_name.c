/* python_name.c - see python_name.h. Python finds functions of a compiled module in arrays of PyMethodDef {name,
 * function, flags, text}, properties in such of PyGetSetDef {name, getter, setter, text}: both outlive stripping.
 * The loader fills the pointers in, so they stand among the relocations: one to the function, one to its name
 * eight bytes before. The text begins with the signature, "Comm.Send(self, ...", which has the class; of Cython 3 it
 * has not: then it is the one of the PyTypeObject that points to the array. Functions that stand in no array (Cython's
 * cdef) are searched for where they are called: direct calls, on x86-64 e8 and a distance, on aarch64 bl. The module
 * may be of another machine than the one that reads. */
#include "postproc/lines/python_name.h"
#include "postproc/lines/modules_shown.h"
#include "postproc/lines/unwind.h"

#include <ctype.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 4
#define NAMES_MAX 3	     /* more callers than that say nothing */
#define CALLERS_MAX 16	     /* of one function */
#define WORD_MAX 128	     /* a longer name is none: cut it might be another's */
#define CODE_MAX (64u << 20) /* bytes searched for calls */

#define NEAR 32		    /* relocations between a type's tp_name and its tp_methods at most */
#define METHOD_BYTES 32	    /* PyMethodDef */
#define BL 0x25		    /* the upper six bits of aarch64's; below a distance in words */
#define NAME_TO_METHODS 208 /* in PyTypeObject, since Python 3.0 */

struct names {
	Elf *elf;
	bool aarch64;
	Elf_Data *relocations, *code;
	uint64_t code_at;
	char name[NAMES_MAX][WORD_MAX];
	unsigned n;
	bool too_many;
};

static bool relative(const struct names *s, size_t i, GElf_Rela *ret)
{
	return gelf_getrela(s->relocations, (int)i, ret) != NULL &&
	       GELF_R_TYPE(ret->r_info) == (s->aarch64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE);
}

static size_t relocations_of(const struct names *s)
{
	size_t n = s->relocations->d_size / sizeof(Elf64_Rela);
	return n < INT32_MAX ? n : INT32_MAX;
}

/* What the pointer at this place will hold, 0 if none is there. Relocations near i first: they are sorted by place. */
static uint64_t pointer_near(const struct names *s, size_t i, uint64_t place)
{
	GElf_Rela r;
	size_t from = i > NEAR ? i - NEAR : 0, to = i + NEAR + 1;
	for (; from < to && from < relocations_of(s); from++)
		if (relative(s, from, &r) && r.r_offset == place)
			return (uint64_t)r.r_addend;
	return 0;
}

/* Bytes of the file at an address, up to a zero, at most size - 1. */
static void text_at(Elf *elf, uint64_t address, char *to, size_t size)
{
	GElf_Phdr p;
	size_t n = 0;
	to[0] = '\0';
	if (address == 0 || elf_getphdrnum(elf, &n) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (gelf_getphdr(elf, (int)i, &p) == NULL || p.p_type != PT_LOAD || address < p.p_vaddr ||
		    address - p.p_vaddr >= p.p_filesz)
			continue;
		uint64_t left = p.p_filesz - (address - p.p_vaddr);
		size_t len = left < size - 1 ? left : size - 1;
		Elf_Data *data =
			elf_getdata_rawchunk(elf, (int64_t)(p.p_offset + (address - p.p_vaddr)), len, ELF_T_BYTE);
		if (data == NULL || data->d_buf == NULL || data->d_size < len)
			return;
		memcpy(to, data->d_buf, len);
		to[len] = '\0';
		return;
	}
}

static bool is_word(const char *text, size_t len)
{
	if (len == 0 || isdigit((unsigned char)text[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return true;
}

/* "Comm.Send(self" with the name "Send": "Comm.Send"; a text without a class leaves the name alone. */
static void with_class(const char *name, const char *text, char *to)
{
	const char *dot = strchr(text, '.');
	size_t n = strlen(name);
	size_t whole = dot == NULL ? 0 : (size_t)(dot - text) + 1 + n;
	snprintf(to, WORD_MAX, "%s", name);
	if (whole >= WORD_MAX)
		return;
	if (dot == NULL || !is_word(text, (size_t)(dot - text)) || strncmp(dot + 1, name, n) != 0 || dot[1 + n] != '(')
		return;
	snprintf(to, WORD_MAX, "%.*s", (int)whole, text);
}

/* Where the array begins at the earliest that this entry is in, the one of relocation *i: arrays end with zeroes. */
static uint64_t start_of_methods(const struct names *s, size_t i, uint64_t entry)
{
	GElf_Rela r;
	while (pointer_near(s, i, entry - METHOD_BYTES) != 0 && pointer_near(s, i, entry - METHOD_BYTES + 8) != 0) {
		entry -= METHOD_BYTES;
		while (i > 0 && relative(s, i, &r) && r.r_offset > entry)
			i--;
	}
	return entry;
}

/* The class whose methods these are, in front of the name: "Comm.Send". False: no type of the file has them. */
static bool with_class_of_type(struct names *s, size_t i, uint64_t entry, const char *name, char *to)
{
	char type[2 * WORD_MAX];
	uint64_t methods = start_of_methods(s, i, entry);
	GElf_Rela r;
	for (i = 0; i < relocations_of(s); i++) {
		if (!relative(s, i, &r) || (uint64_t)r.r_addend < methods || (uint64_t)r.r_addend > entry ||
		    (entry - (uint64_t)r.r_addend) % METHOD_BYTES != 0)
			continue;
		text_at(s->elf, pointer_near(s, i, r.r_offset - NAME_TO_METHODS), type, sizeof(type));
		const char *dot = strrchr(type, '.'), *class = dot != NULL ? dot + 1 : type;
		size_t len = strlen(class);
		if (is_word(class, len) && len + 1 + strlen(name) < WORD_MAX)
			return snprintf(to, WORD_MAX, "%s.%s", class, name) > 0;
	}
	return false;
}

static void add(struct names *s, const char *name)
{
	for (unsigned i = 0; i < s->n; i++)
		if (strcmp(s->name[i], name) == 0)
			return;
	if (s->n == NAMES_MAX)
		s->too_many = true;
	else
		snprintf(s->name[s->n++], WORD_MAX, "%s", name);
}

/* Is the function one that Python calls? It may stand in several arrays: one of them is its class's. */
static bool add_listed(struct names *s, uint64_t start)
{
	char name[WORD_MAX], text[2 * WORD_MAX], whole[WORD_MAX] = "";
	GElf_Rela r;
	for (size_t i = 0; i < relocations_of(s); i++) {
		if (!relative(s, i, &r) || (uint64_t)r.r_addend != start)
			continue;
		text_at(s->elf, pointer_near(s, i, r.r_offset - 8), name, sizeof(name));
		if (strlen(name) + 1 == sizeof(name) || !is_word(name, strlen(name)))
			continue;
		text_at(s->elf, pointer_near(s, i, r.r_offset + 16), text, sizeof(text));
		with_class(name, text, whole);
		if (strchr(whole, '.') != NULL || with_class_of_type(s, i, r.r_offset - 8, name, whole))
			break;
	}
	if (whole[0] != '\0')
		add(s, whole);
	return whole[0] != '\0';
}

/* Is what begins at byte i a call of the function? */
static bool calls(const struct names *s, const uint8_t *code, size_t i, uint64_t start)
{
	int32_t distance;
	uint32_t word;
	if (s->aarch64) {
		memcpy(&word, code + i, sizeof(word));
		return (i & 3) == 0 && word >> 26 == BL &&
		       s->code_at + i + (uint64_t)((int64_t)(int32_t)(word << 6) >> 4) == start;
	}
	memcpy(&distance, code + i + 1, sizeof(distance));
	return code[i] == 0xe8 && s->code_at + i + 5 + (uint64_t)(int64_t)distance == start;
}

static void add_callers(struct names *s, uint64_t start, unsigned depth)
{
	uint64_t callers[CALLERS_MAX];
	unsigned n = 0;
	if (add_listed(s, start) || s->too_many)
		return;
	const uint8_t *code = s->code == NULL ? NULL : s->code->d_buf;
	size_t len = code == NULL ? 0 : s->code->d_size < CODE_MAX ? s->code->d_size : CODE_MAX;
	for (size_t i = 0; i + (s->aarch64 ? 4 : 5) <= len; i++) {
		if (!calls(s, code, i, start))
			continue;
		uint64_t caller = unwind_start(s->elf, s->code_at + i);
		if (n > 0 && callers[n - 1] == caller)
			continue;
		if (depth == 0 || n == CALLERS_MAX) { /* who calls is not known wholly: no half answers */
			s->too_many = true;
			return;
		}
		callers[n++] = caller;
	}
	if (n == 0) /* called some other way */
		s->too_many = true;
	for (unsigned i = 0; i < n && !s->too_many; i++)
		add_callers(s, callers[i], depth - 1);
}

static bool open_sections(struct names *s)
{
	Elf_Scn *section = NULL;
	GElf_Ehdr head;
	GElf_Shdr h;
	if (gelf_getehdr(s->elf, &head) == NULL)
		return false;
	s->aarch64 = head.e_machine == EM_AARCH64;
	while ((section = elf_nextscn(s->elf, section)) != NULL) {
		if (gelf_getshdr(section, &h) == NULL)
			continue;
		if (h.sh_type == SHT_RELA && s->relocations == NULL)
			s->relocations = elf_getdata(section, NULL);
		else if (h.sh_type == SHT_PROGBITS && (h.sh_flags & SHF_EXECINSTR) != 0 &&
			 (s->code == NULL || h.sh_size > s->code->d_size)) {
			s->code = elf_rawdata(section, NULL);
			s->code_at = h.sh_addr;
		}
	}
	return s->relocations != NULL;
}

bool python_function(Elf *elf, const char *path, uint64_t start, char *to, size_t size)
{
	struct names s = {.elf = elf};
	char *module = elf == NULL ? NULL : module_short(path);
	if (module == NULL)
		return false;
	for (char *p = module; *p != '\0'; p++)
		*p = *p == '/' ? '.' : *p;
	if (open_sections(&s))
		add_callers(&s, start, DEPTH_MAX);
	int n = snprintf(to, size, "%.80s", module);
	if (s.n == 0 || s.too_many)
		snprintf(to + n, size - (size_t)n, "+0x%llx", (unsigned long long)start);
	for (unsigned i = 0; i < s.n && !s.too_many && (size_t)n < size; i++)
		n += snprintf(to + n, size - (size_t)n, "%s%s", i == 0 ? "." : " or ", s.name[i]);
	free(module);
	return true;
}
