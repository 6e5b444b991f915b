/* program_mpi.c - see program_mpi.h. The loader itself (`ld.so --list`) says what a program needs: it alone knows
 * all of RUNPATH, LD_LIBRARY_PATH and its cache. */
#include "cli/program_mpi.h"
#include "base/libmpi.h"
#include "base/path.h"
#include "base/regular.h"
#include "cli/capture.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_MAX (256u << 10)
#define LINE_MAX_BYTES 512
#define HEADERS_MAX 64

enum file_kind { FILE_OTHER, FILE_ELF, FILE_STATIC, FILE_SCRIPT };

struct file_head {
	enum file_kind kind;
	char loader[PATH_MAX];	    /* FILE_ELF; of a library the usual one */
	char first[LINE_MAX_BYTES]; /* FILE_SCRIPT: behind "#!" */
};

static void read_loader(int fd, struct file_head *h)
{
	Elf64_Ehdr e;
	Elf64_Phdr p;
	bool dynamic = false;
#ifdef __aarch64__
	snprintf(h->loader, sizeof(h->loader), "/lib/ld-linux-aarch64.so.1");
#else
	snprintf(h->loader, sizeof(h->loader), "/lib64/ld-linux-x86-64.so.2");
#endif
	if (pread(fd, &e, sizeof(e), 0) != sizeof(e) || e.e_ident[EI_CLASS] != ELFCLASS64)
		return;
	for (unsigned i = 0; i < e.e_phnum && i < HEADERS_MAX; i++) {
		if (pread(fd, &p, sizeof(p), (off_t)(e.e_phoff + i * sizeof(p))) != sizeof(p))
			return;
		dynamic = dynamic || p.p_type == PT_DYNAMIC;
		if (p.p_type != PT_INTERP || p.p_filesz == 0 || p.p_filesz >= sizeof(h->loader))
			continue;
		if (pread(fd, h->loader, p.p_filesz, (off_t)p.p_offset) != (ssize_t)p.p_filesz)
			return;
		h->loader[p.p_filesz] = '\0';
	}
	h->kind = dynamic ? FILE_ELF : FILE_STATIC;
}

static struct file_head read_head(const char *path)
{
	struct file_head h = {.kind = FILE_OTHER};
	char start[LINE_MAX_BYTES] = "";
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return h;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && pread(fd, start, sizeof(start) - 1, 0) > 4) {
		if (memcmp(start, ELFMAG, SELFMAG) == 0)
			read_loader(fd, &h);
		else if (start[0] == '#' && start[1] == '!') {
			h.kind = FILE_SCRIPT;
			start[strcspn(start, "\n")] = '\0';
			memcpy(h.first, start + 2, sizeof(start) - 2);
		}
	}
	close(fd);
	return h;
}

/* Open MPI and MPICH both call a library libmpi.so; one symbol tells. */
static enum mpi_kind kind_of_library(const char *path)
{
	static const char mark[] = "ompi_mpi_comm_world";
	enum mpi_kind kind = MPI_MPICH;
	struct stat st;
	int fd = regular_open(path, NULL);
	if (fd < 0)
		return MPI_NOT_KNOWN;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			if (memmem(map, (size_t)st.st_size, mark, sizeof(mark)) != NULL)
				kind = MPI_OPEN;
			munmap(map, (size_t)st.st_size);
		}
	}
	close(fd);
	return kind;
}

/* A line of the loader's list: "	libmpi.so.40 => /usr/lib/libmpi.so.40 (0x7f...)". */
static bool read_line(char *line, struct program_mpi *m)
{
	static const char *const names[] = LIBMPI_NAMES;
	char *name = line + strspn(line, " \t"), *arrow = strstr(name, " => ");
	bool ours = false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ours = ours || strncmp(name, names[i], strlen(names[i])) == 0;
	if (!ours || arrow == NULL || arrow[4] != '/')
		return false;
	char *end = strrchr(arrow, '(');
	if (end != NULL && end > arrow + 5)
		end[-1] = '\0';
	snprintf(m->library, sizeof(m->library), "%s", arrow + 4);
	m->kind = kind_of_library(m->library);
	return true;
}

static struct program_mpi mpi_of_elf(const char *path, struct file_head *h)
{
	struct program_mpi m = {.kind = MPI_NOT_KNOWN};
	char *list = malloc(LIST_MAX), *save = NULL;
	char *const words[] = {h->loader, (char *)(uintptr_t) "--list", (char *)(uintptr_t)path, NULL};
	if (list != NULL && capture(words, list, LIST_MAX) == 0) {
		m.kind = MPI_NONE;
		for (char *line = strtok_r(list, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save))
			if (read_line(line, &m))
				break;
	}
	free(list);
	return m;
}

/* python, python3, python3.11: nothing else is started with a question. */
bool program_is_python(const char *path)
{
	const char *name = path_name(path);
	return strncmp(name, "python", 6) == 0 && name[6 + strspn(name + 6, "0123456789.")] == '\0';
}

/* mpi4py's module is looked for, not imported: that would start MPI. */
static struct program_mpi mpi_of_python(const char *python)
{
	static const char question[] =
		"import importlib.util; print('=' + importlib.util.find_spec('mpi4py.MPI').origin)";
	char answer[PATH_MAX + 256];
	char *const words[] = {(char *)(uintptr_t)python, (char *)(uintptr_t) "-c", (char *)(uintptr_t)question, NULL};
	if (capture(words, answer, sizeof(answer)) == 0) {
		char *path = strstr(answer, "=/");
		if (path != NULL) {
			path[strcspn(path, "\n")] = '\0';
			struct file_head h = read_head(path + 1);
			if (h.kind == FILE_ELF)
				return mpi_of_elf(path + 1, &h);
		}
	}
	return (struct program_mpi){.kind = MPI_NOT_KNOWN};
}

/* "/usr/bin/env python3 -u": the first word that is no env. */
static char *interpreter(char *line)
{
	char *save = NULL, *word = strtok_r(line, " \t", &save);
	size_t n = word == NULL ? 0 : strlen(word);
	if (n >= 4 && strcmp(word + n - 4, "/env") == 0)
		do
			word = strtok_r(NULL, " \t", &save);
		while (word != NULL && (word[0] == '-' || strchr(word, '=') != NULL));
	return word;
}

struct program_mpi program_mpi(const char *path)
{
	struct file_head h = read_head(path);
	if (program_is_python(path))
		return mpi_of_python(path);
	if (h.kind == FILE_SCRIPT) {
		char *word = interpreter(h.first);
		if (word != NULL && program_is_python(word))
			return mpi_of_python(word);
	}
	if (h.kind == FILE_ELF)
		return mpi_of_elf(path, &h);
	return (struct program_mpi){.kind = h.kind == FILE_STATIC ? MPI_STATIC : MPI_NOT_KNOWN};
}
