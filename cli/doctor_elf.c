/* doctor_elf.c - see doctor_elf.h. The file may be anything: each offset is checked by at(), and nowhere else. */
#include "cli/doctor_elf.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifdef __aarch64__
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_X86_64
#endif

#define FILE_MAX (256ull << 20)
#define NAME_MAX_BYTES 128

struct elf {
	uint8_t *bytes;
	uint64_t n;
	Elf64_Ehdr head;
};

/* That many bytes of the file, copied; false where it has none. */
static bool at(const struct elf *e, uint64_t offset, void *to, uint64_t n)
{
	if (offset > e->n || n > e->n - offset)
		return false;
	memcpy(to, e->bytes + offset, n);
	return true;
}

static bool part(const struct elf *e, unsigned i, Elf64_Phdr *ret_p)
{
	return i < e->head.e_phnum && at(e, e->head.e_phoff + (uint64_t)i * sizeof(*ret_p), ret_p, sizeof(*ret_p));
}

static bool section(const struct elf *e, unsigned i, Elf64_Shdr *ret_s)
{
	return i < e->head.e_shnum && at(e, e->head.e_shoff + (uint64_t)i * sizeof(*ret_s), ret_s, sizeof(*ret_s));
}

static void done(struct elf *e)
{
	free(e->bytes);
}

/* NULL, or what is wrong with it as a file. */
static const char *load(const char *path, struct elf *ret_e)
{
	struct stat st;
	*ret_e = (struct elf){0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool is_file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	uint64_t n = is_file && (uint64_t)st.st_size < FILE_MAX ? (uint64_t)st.st_size : 0;
	ret_e->bytes = n > 0 ? malloc(n) : NULL;
	for (ssize_t got; ret_e->bytes != NULL && ret_e->n < n; ret_e->n += (uint64_t)got)
		if ((got = read(fd, ret_e->bytes + ret_e->n, n - ret_e->n)) <= 0)
			break;
	if (fd >= 0)
		close(fd);
	if (!is_file)
		return fd < 0 ? "cannot be opened" : "is not a regular file";
	at(ret_e, 0, &ret_e->head, sizeof(ret_e->head));
	return st.st_size == 0 ? "is empty" : ret_e->n < n || n == 0 ? "cannot be read" : NULL;
}

/* Every byte that its headers promise is there. */
static bool is_whole(const struct elf *e)
{
	Elf64_Phdr p;
	Elf64_Shdr s;
	for (unsigned i = 0; i < e->head.e_phnum; i++)
		if (!part(e, i, &p) || p.p_offset > e->n || p.p_filesz > e->n - p.p_offset)
			return false;
	return e->head.e_shnum == 0 || section(e, e->head.e_shnum - 1u, &s);
}

static const char *elf_defect(const struct elf *e)
{
	const Elf64_Ehdr *h = &e->head;
	if (e->n < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return "is not an ELF file";
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != OUR_MACHINE)
		return "is for another processor";
	if (h->e_type != ET_DYN && h->e_type != ET_EXEC)
		return "is neither a library nor a program";
	return is_whole(e) ? NULL : "is truncated: its headers describe more than the file holds";
}

static const char *mounted_noexec(const char *path)
{
	struct statvfs fs;
	return statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOEXEC) != 0 ? "is on a file system that is mounted noexec"
								       : NULL;
}

static const char *wrong(const char *path, bool may_be_script)
{
	struct elf e;
	const char *text = load(path, &e);
	bool is_script = may_be_script && e.n > 2 && memcmp(e.bytes, "#!", 2) == 0;
	if (text == NULL && !is_script)
		text = elf_defect(&e);
	if (text == NULL && !may_be_script && e.head.e_type != ET_DYN)
		text = "is not a shared library";
	done(&e);
	return text != NULL ? text : mounted_noexec(path);
}

const char *elf_wrong(const char *path)
{
	return wrong(path, false);
}

const char *program_wrong(const char *path)
{
	return wrong(path, true);
}

/* The dynamic symbol of that name, defined here. */
static bool find(const struct elf *e, const char *name, Elf64_Sym *ret_sym)
{
	char text[NAME_MAX_BYTES];
	size_t len = strlen(name) + 1;
	Elf64_Shdr s, strings;
	for (unsigned i = 0; section(e, i, &s); i++) {
		if (s.sh_type != SHT_DYNSYM || !section(e, s.sh_link, &strings))
			continue;
		for (uint64_t k = 0; k < s.sh_size / sizeof(*ret_sym); k++) {
			if (!at(e, s.sh_offset + k * sizeof(*ret_sym), ret_sym, sizeof(*ret_sym)))
				return false;
			if (ret_sym->st_shndx != SHN_UNDEF && len <= sizeof(text) &&
			    at(e, strings.sh_offset + ret_sym->st_name, text, len) && memcmp(text, name, len) == 0)
				return true;
		}
	}
	return false;
}

/* Where in the file an address is. */
static bool offset_of(const struct elf *e, uint64_t address, uint64_t *ret_offset)
{
	Elf64_Phdr p;
	for (unsigned i = 0; part(e, i, &p); i++)
		if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz) {
			*ret_offset = p.p_offset + (address - p.p_vaddr);
			return true;
		}
	return false;
}

bool elf_data(const char *path, const char *symbol, void *to, size_t bytes)
{
	struct elf e;
	Elf64_Sym sym;
	uint64_t offset = 0;
	memset(to, 0, bytes);
	bool found = load(path, &e) == NULL && elf_defect(&e) == NULL && find(&e, symbol, &sym) &&
		     offset_of(&e, sym.st_value, &offset) &&
		     at(&e, offset, to, sym.st_size < bytes ? sym.st_size : bytes);
	done(&e);
	return found;
}

bool elf_has(const char *path, const char *symbol)
{
	struct elf e;
	Elf64_Sym sym;
	bool found = load(path, &e) == NULL && elf_defect(&e) == NULL && find(&e, symbol, &sym);
	done(&e);
	return found;
}
