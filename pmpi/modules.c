/* modules.c - loaded objects with their address range, build id and path, recorded once each as definitions.
 * Addresses differ from rank to rank (randomisation): module and offset are what a call site is. */
#include "pmpi/modules.h"

#include "pmpi/redact.h"

#include "format/mpic.h"
#include "format/mpic_defs.h"
#include "pmpi/record.h"
#include "pmpi/segfile.h"
#include "pmpi/tools.h"

#include <link.h>
#include <string.h>
#include <unistd.h>

#define MODULES_MAX 8192
#define PATH_BYTES 4096
#define BUILD_ID_MAX 64

static struct module {
	uint64_t begin, end;
} known[MODULES_MAX];
static uint32_t nknown;
static struct module mpi, ours;
uintptr_t mpi_code_begin[2], mpi_code_len[2];
uintptr_t mpi_hull_begin, mpi_hull_len;

static bool has(const struct module *m, uint64_t address)
{
	return address - m->begin < m->end - m->begin;
}

bool modules_have(uint64_t address)
{
	for (uint32_t i = 0; i < nknown; i++)
		if (has(&known[i], address))
			return true;
	return false;
}

bool modules_is_mpi(uint64_t address)
{
	return has(&mpi, address);
}

bool modules_is_ours(uint64_t address)
{
	return has(&ours, address);
}

static uint32_t build_id(const struct dl_phdr_info *info, const uint8_t **ret_id)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_NOTE)
			continue;
		const uint8_t *p = (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
		const uint8_t *end = p + info->dlpi_phdr[i].p_memsz;
		while ((size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
			ElfW(Nhdr) note;
			memcpy(&note, p, sizeof(note));
			uint64_t name = (note.n_namesz + 3ull) / 4 * 4, desc = (note.n_descsz + 3ull) / 4 * 4;
			p += sizeof(note);
			if (name + desc > (size_t)(end - p))
				break;
			if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= BUILD_ID_MAX) {
				*ret_id = p + name;
				return note.n_descsz;
			}
			p += name + desc;
		}
	}
	return 0;
}

/* Calls from there are looked at more closely. */
static void add_to_hull(const struct module *m)
{
	uintptr_t end = mpi_hull_begin + mpi_hull_len;
	if (mpi_hull_len == 0 || m->begin < mpi_hull_begin)
		mpi_hull_begin = m->begin;
	mpi_hull_len = (m->end > end ? m->end : end) - mpi_hull_begin;
}

static bool note_fortran_layer(const char *path, const struct module *m)
{
	static const char *const names[] = {"libmpi_mpifh.so", "libmpi_usempif08.so", "libmpichfort.so",
					    "libmpifort.so"};
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0) {
			unsigned at = mpi_code_len[0] != 0;
			mpi_code_begin[at] = m->begin;
			mpi_code_len[at] = m->end - m->begin;
			return true;
		}
	return false;
}

static bool put_module(struct stream *s, const struct dl_phdr_info *info, const struct module *m, const char *path)
{
	struct mpic_module_head head = {m->begin, m->end, info->dlpi_addr, 0, (uint32_t)strlen(path)};
	static uint8_t tail[BUILD_ID_MAX + PATH_BYTES];
	const uint8_t *id = NULL;
	head.build_id_len = build_id(info, &id);
	if (id != NULL)
		memcpy(tail, id, head.build_id_len);
	memcpy(tail + head.build_id_len, path, head.path_len);
	return stream_put_def(s, MPIC_DEF_MODULE, &head, sizeof(head), tail, head.build_id_len + head.path_len);
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	struct stream *s = context;
	struct module m = {UINT64_MAX, 0};
	static char path[PATH_BYTES], hidden[PATH_BYTES]; /* under the lock: the stack may be a small one */
	(void)size;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		m.begin = begin < m.begin ? begin : m.begin;
		m.end = begin + p->p_memsz > m.end ? begin + p->p_memsz : m.end;
	}
	if (m.end == 0 || modules_have(m.begin))
		return 0;
	if (nknown == MODULES_MAX) {
		segfile->modules_missing++;
		return 0;
	}
	strncpy(path, info->dlpi_name, sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	bool is_program = path[0] == '\0';
	if (is_program) {
		ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
		path[n > 0 ? n : 0] = '\0';
	}
	if (has(&m, (uintptr_t)pmpi.MPI_Init))
		mpi = m;
	else if (has(&m, (uintptr_t)modules_have))
		ours = m;
	else if (note_fortran_layer(path, &m) || tools_note(m.begin, m.end, path, is_program))
		add_to_hull(&m);
	if (put_module(s, info, &m, redact_path(path, hidden, sizeof(hidden))))
		known[nknown++] = m;
	else
		segfile->modules_missing++;
	return 0;
}

void modules_note(uint64_t address)
{
	struct stream *s = stream_mine;
	if (s == NULL || modules_have(address))
		return;
	tables_lock();
	segfile->modules_missing = 0; /* as of this look */
	dl_iterate_phdr(look, s);
	tables_unlock();
}
