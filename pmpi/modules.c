/* modules.c - loaded objects with their address range, build id and path, recorded once each as definitions.
 * Addresses differ from rank to rank (randomisation): module and offset are what a call site is.
 *
 * A program that closes a library and opens another gets the same addresses again. Whose calls those of there were
 * nobody can tell afterwards: where it happens to a library that called, it is counted. So one that is about to be
 * closed, or asked for a function, is looked at, in case it lies where another one was. */
#include "pmpi/modules.h"

#include "base/fnv.h"
#include "base/path.h"
#include "pmpi/past.h"
#include "pmpi/redact.h"

#include "format/mpic.h"
#include "format/mpic_defs.h"
#include "pmpi/record.h"
#include "pmpi/segfile.h"
#include "pmpi/tools.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#define MODULES_MAX 8192
#define PATH_BYTES 4096
#define BUILD_ID_MAX 64
#define REPLACED_DEFINED_MAX 256 /* a program may go on with that for ever */

static struct module {
	uint64_t begin, end; /* 0: it is gone */
	uint64_t name;	     /* a hash */
	bool calls;	     /* MPI, or may have */
	bool part;	     /* of the MPI library, by its name */
} known[MODULES_MAX];
static uint32_t nknown;
static unsigned long long changes, seen; /* of the loader's list, as of the last look; as of this one */
static struct module mpi, ours;
uintptr_t mpi_code_begin[2], mpi_code_len[2];
uintptr_t mpi_hull_begin, mpi_hull_len;

static bool contains(const struct module *m, uint64_t address)
{
	return address - m->begin < m->end - m->begin;
}

static struct module *module_of(uint64_t address)
{
	for (uint32_t i = 0; i < nknown; i++)
		if (contains(&known[i], address))
			return &known[i];
	return NULL;
}

bool modules_have(uint64_t address)
{
	return module_of(address) != NULL;
}

bool modules_is_mpi(uint64_t address)
{
	return contains(&mpi, address);
}

bool modules_is_part(uint64_t address)
{
	const struct module *m = module_of(address);
	return m != NULL && m->part;
}

bool modules_is_ours(uint64_t address)
{
	return contains(&ours, address);
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
	const char *base = path_name(path);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0) {
			unsigned at = mpi_code_len[0] != 0;
			mpi_code_begin[at] = m->begin;
			mpi_code_len[at] = m->end - m->begin;
			return true;
		}
	return false;
}

static bool is_part(const char *path)
{
	static const char *const names[] = {"mca_", "libmca_", "libmpi", "libpmpi", "libompi", "libopen-", "libopen_"};
	const char *base = path_name(path);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
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

static bool range_of(const struct dl_phdr_info *info, struct module *ret_module)
{
	struct module m = {.begin = UINT64_MAX, .name = fnv_text(FNV_SEED, info->dlpi_name)};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		m.begin = begin < m.begin ? begin : m.begin;
		m.end = begin + p->p_memsz > m.end ? begin + p->p_memsz : m.end;
	}
	*ret_module = m;
	return m.end != 0;
}

/* The program's, or what it was opened by: made absolute, as long as the program is where it was then. */
static const char *path_of(const struct dl_phdr_info *info, bool is_program)
{
	static char path[PATH_BYTES]; /* under the lock: the stack may be a small one */
	size_t used = 0;
	path[0] = '\0';
	if (is_program) {
		path_self(path, sizeof(path));
		return path;
	}
	if (info->dlpi_name[0] != '/' && strchr(info->dlpi_name, '/') != NULL &&
	    getcwd(path, sizeof(path) / 2) != NULL) {
		used = strlen(path);
		path[used++] = '/';
	}
	strncpy(path + used, info->dlpi_name, sizeof(path) - 1 - used);
	path[sizeof(path) - 1] = '\0';
	return path;
}

static void add(struct stream *s, const struct dl_phdr_info *info, const struct module *m)
{
	static char hidden[PATH_BYTES];
	bool is_program = info->dlpi_name[0] == '\0';
	const char *path = path_of(info, is_program);
	struct module *to = known;
	while (to < known + nknown && to->end != 0)
		to++;
	if (contains(m, (uintptr_t)pmpi.MPI_Init))
		mpi = *m;
	else if (contains(m, (uintptr_t)modules_have))
		ours = *m;
	else if (note_fortran_layer(path, m) || tools_note(m->begin, m->end, path, is_program))
		add_to_hull(m);
	bool many = segfile->modules_replaced > REPLACED_DEFINED_MAX;
	if (to == known + MODULES_MAX ||
	    (!many && !put_module(s, info, m, redact_path(path, hidden, sizeof(hidden))))) {
		segfile->modules_missing++;
		return;
	}
	*to = *m;
	to->part = !is_program && is_part(path);
	nknown += to == known + nknown;
}

/* What lay there before is gone. Returns whether calls came from it. */
static bool replace(const struct module *m)
{
	bool called = false;
	for (uint32_t i = 0; i < nknown; i++) {
		struct module *k = &known[i];
		if (m->begin >= k->end || k->begin >= m->end)
			continue;
		called |= k->calls;
		*k = (struct module){0};
	}
	segfile->modules_replaced += called;
	return called;
}

static bool is_known(const struct module *m)
{
	const struct module *k = module_of(m->begin);
	return k != NULL && k->begin == m->begin && k->end == m->end && k->name == m->name;
}

static int visit_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct module m;
	(void)size;
	changes = info->dlpi_adds + info->dlpi_subs;
	if (range_of(info, &m) && !is_known(&m)) {
		m.calls = replace(&m);
		add(context, info, &m);
	}
	return 0;
}

void modules_note(uint64_t address)
{
	struct stream *s = stream_mine;
	struct module *m = module_of(address);
	if (s != NULL && m == NULL) {
		tables_lock();
		segfile->modules_missing = 0; /* as of this look */
		dl_iterate_phdr(visit_module, s);
		tables_unlock();
		m = module_of(address);
	}
	if (m != NULL && !__atomic_load_n(&m->calls, __ATOMIC_RELAXED)) /* nothing is read that it stands for */
		__atomic_store_n(&m->calls, true, __ATOMIC_RELAXED);
}

/* Of those that nobody called from, only such as lie where one was that did. */
static int visit_after_close(struct dl_phdr_info *info, size_t size, void *context)
{
	struct module m;
	(void)size;
	seen = info->dlpi_adds + info->dlpi_subs;
	if (changes == seen)
		return 1;
	if (!range_of(info, &m) || is_known(&m))
		return 0;
	m.calls = replace(&m);
	if (m.calls)
		add(context, info, &m);
	return 0;
}

void mpitrace_closing(void *handle)
{
	struct stream *s = stream_mine;
	const struct link_map *closing = NULL;
	if (s == NULL)
		return;
	if (handle != NULL && dlinfo(handle, RTLD_DI_LINKMAP, &closing) != 0)
		closing = NULL;
	tables_lock();
	if (dl_iterate_phdr(visit_after_close, s) == 0)
		changes = seen;
	if (closing != NULL)
		past_note(closing);
	tables_unlock();
}
