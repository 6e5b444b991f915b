/* otf2_definitions.c - what records of an OTF2 archive name: machine and nodes, ranks and threads, functions, source
 * locations, communicators, windows, files. References are the analysis's ids where it has some. */
#include "reports/export/otf2.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct defining {
	struct exporting *x;
	struct otf2 *o;
	OTF2_GlobalDefWriter *w;
	OTF2_ErrorCode rc; /* the first failure */
	OTF2_StringRef empty;
	uint32_t groups;
};

static void note(struct defining *d, OTF2_ErrorCode rc)
{
	if (d->rc == OTF2_SUCCESS)
		d->rc = rc;
}

static OTF2_StringRef text(struct defining *d, const char *value)
{
	OTF2_StringRef ref = d->o->strings++;
	note(d, OTF2_GlobalDefWriter_WriteString(d->w, ref, value));
	return ref;
}

static OTF2_StringRef numbered(struct defining *d, const char *what, uint32_t number)
{
	char name[64];
	snprintf(name, sizeof(name), "%s %u", what, number);
	return text(d, name);
}

/* When the record begins, in nanoseconds since 1970; the analysis knows it by the second. */
static uint64_t realtime(const struct exporting *x)
{
	const char *start = json_text(json_item(x->defs.analysis, "job"), "start", NULL);
	struct tm tm = {0};
	if (start == NULL || strptime(start, "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return OTF2_UNDEFINED_TIMESTAMP;
	return (uint64_t)timegm(&tm) * 1000000000u;
}

static void define_clock(struct defining *d)
{
	uint64_t length = (uint64_t)(d->x->info->runtime_ns + d->o->shift_ns);
	note(d, OTF2_GlobalDefWriter_WriteClockProperties(d->w, 1000000000u, 0, length + 1, realtime(d->x)));
}

/* The machine is 0, places follow. */
static void define_tree(struct defining *d)
{
	OTF2_StringRef node = text(d, "node");
	const char *cluster = json_text(json_item(d->x->defs.analysis, "job"), "cluster", "machine");
	note(d, OTF2_GlobalDefWriter_WriteSystemTreeNode(d->w, 0, text(d, cluster), text(d, "machine"),
							 OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	note(d, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(d->w, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
	for (uint32_t i = 0; i < d->x->defs.nplaces; i++) {
		note(d, OTF2_GlobalDefWriter_WriteSystemTreeNode(d->w, i + 1, text(d, definitions_node(&d->x->defs, i)),
								 node, 0));
		note(d, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(d->w, i + 1,
								       OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
	}
}

static void define_locations(struct defining *d)
{
	const struct exporting *x = d->x;
	OTF2_StringRef master = text(d, "main thread");
	for (uint32_t r = 0; r < x->info->ranks; r++) {
		uint32_t first = mpix_first_lane(x->f, r), end = mpix_first_lane(x->f, r + 1);
		note(d, OTF2_GlobalDefWriter_WriteLocationGroup(
				d->w, r, numbered(d, "MPI Rank", r), OTF2_LOCATION_GROUP_TYPE_PROCESS,
				definitions_place(x->info, r) + 1, OTF2_UNDEFINED_LOCATION_GROUP));
		for (uint32_t lane = first; lane < end; lane++)
			note(d, OTF2_GlobalDefWriter_WriteLocation(
					d->w, lane, lane == first ? master : numbered(d, "thread", lane - first),
					OTF2_LOCATION_TYPE_CPU_THREAD, d->o->events[lane], r));
	}
}

static OTF2_RegionRole role_of(const struct op_kind *kind, const char *name)
{
	if (kind->does == OP_BARRIER)
		return OTF2_REGION_ROLE_BARRIER;
	if (kind->collective && kind->does <= OP_EXSCAN)
		return kind->flow == FLOW_FROM_ROOT ? OTF2_REGION_ROLE_COLL_ONE2ALL
		       : kind->flow == FLOW_TO_ROOT ? OTF2_REGION_ROLE_COLL_ALL2ONE
		       : kind->flow == FLOW_ALL	    ? OTF2_REGION_ROLE_COLL_ALL2ALL
						    : OTF2_REGION_ROLE_COLL_OTHER;
	if (kind->does >= OP_WIN_CREATE && kind->does <= OP_WIN_SYNC)
		return OTF2_REGION_ROLE_RMA;
	if (kind->does == OP_FILE_READ || kind->does == OP_FILE_WRITE)
		return OTF2_REGION_ROLE_FILE_IO;
	if (strncmp(name, "MPI_File_", 9) == 0)
		return OTF2_REGION_ROLE_FILE_IO_METADATA;
	if (strstr(name, "end") != NULL || strstr(name, "ecv") != NULL || strncmp(name, "MPI_Wait", 8) == 0 ||
	    strncmp(name, "MPI_Test", 8) == 0 || strncmp(name, "MPI_Start", 9) == 0)
		return OTF2_REGION_ROLE_POINT2POINT;
	return OTF2_REGION_ROLE_FUNCTION;
}

static void define_regions(struct defining *d)
{
	for (uint32_t i = 0; i < d->x->info->nops; i++) {
		const char *name = d->x->info->ops[i];
		OTF2_StringRef ref = text(d, name);
		note(d, OTF2_GlobalDefWriter_WriteRegion(d->w, i, ref, ref, d->empty, role_of(&d->o->kinds[i], name),
							 OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, d->empty, 0, 0));
	}
}

static void define_callsites(struct defining *d)
{
	for (uint32_t i = 0; i < d->x->defs.callsites.n; i++) {
		const cJSON *site = d->x->defs.callsites.at[i];
		const char *file = json_text(site, "file", definitions_label(&d->x->defs, i));
		note(d, OTF2_GlobalDefWriter_WriteSourceCodeLocation(d->w, i, text(d, file),
								     (uint32_t)json_number_or(site, "line", 0)));
	}
	note(d, OTF2_GlobalDefWriter_WriteAttribute(d->w, OTF2_CALLSITE, text(d, "call site"),
						    text(d, "where the call stands in the program"),
						    OTF2_TYPE_SOURCE_CODE_LOCATION));
	note(d,
	     OTF2_GlobalDefWriter_WriteAttribute(d->w, OTF2_WAIT, text(d, "wait"),
						 text(d, "nanoseconds of the call in wait states"), OTF2_TYPE_UINT64));
	note(d, OTF2_GlobalDefWriter_WriteAttribute(d->w, OTF2_POLLS, text(d, "calls"),
						    text(d, "unsuccessful tests that the region stands for"),
						    OTF2_TYPE_UINT64));
	note(d, OTF2_GlobalDefWriter_WriteAttribute(d->w, OTF2_OPEN_CALL, text(d, "open"),
						    text(d, "1: the rank never left it; its leave is the rank's end"),
						    OTF2_TYPE_UINT64));
}

static uint32_t define_group(struct defining *d, OTF2_StringRef name, OTF2_GroupType type, uint32_t n,
			     const uint64_t *members)
{
	note(d, OTF2_GlobalDefWriter_WriteGroup(d->w, d->groups, name, type, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, n,
						members));
	return d->groups++;
}

static void define_comm(struct defining *d, uint32_t id, const char *name, const struct comm_members *m,
			uint64_t *members)
{
	uint32_t n = 0, parent = OTF2_UNDEFINED_COMM;
	for (uint32_t i = 0; i < m->n; i++)
		if (m->ranks[i] != DEFINITION_NONE) /* processes of other worlds have no location */
			members[n++] = m->ranks[i];
	double of = json_number_or(definition(&d->x->defs.comms, id), "parent", -1);
	if (of >= 0 && of < id)
		parent = (uint32_t)of;
	OTF2_StringRef text_ref = name != NULL ? text(d, name) : numbered(d, "communicator", id);
	uint32_t group = define_group(d, d->empty, OTF2_GROUP_TYPE_COMM_GROUP, n, members);
	note(d, OTF2_GlobalDefWriter_WriteComm(d->w, id, text_ref, group, parent, OTF2_COMM_FLAG_NONE));
}

/* Members of all communicators count ranks of the first group: the main threads. */
static int define_comms(struct defining *d)
{
	const struct exporting *x = d->x;
	uint32_t most = x->info->ranks;
	for (uint32_t i = 0; i < x->defs.comms.n; i++)
		most = x->defs.members[i].n > most ? x->defs.members[i].n : most;
	uint64_t *members = calloc(most + 1u, sizeof(*members));
	if (members == NULL)
		return fail(x->e, -ENOMEM, "out of memory");
	for (uint32_t r = 0; r < x->info->ranks; r++)
		members[r] = mpix_first_lane(x->f, r);
	define_group(d, text(d, "ranks"), OTF2_GROUP_TYPE_COMM_LOCATIONS, x->info->ranks, members);
	for (uint32_t i = 0; i < x->defs.comms.n; i++)
		define_comm(d, i, json_text(x->defs.comms.at[i], "name", NULL), &x->defs.members[i], members);
	if (d->o->world == x->defs.comms.n) {
		for (uint32_t r = 0; r < x->info->ranks; r++)
			members[r] = r;
		uint32_t group = define_group(d, d->empty, OTF2_GROUP_TYPE_COMM_GROUP, x->info->ranks, members);
		note(d, OTF2_GlobalDefWriter_WriteComm(d->w, d->o->world, text(d, "MPI_COMM_WORLD"), group,
						       OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
	}
	free(members);
	return 0;
}

uint32_t otf2_first_group(const struct exporting *x)
{
	const struct otf2 *o = x->state; /* locations, then a group for each communicator */
	return 1 + x->defs.comms.n + (o->world == x->defs.comms.n);
}

static int define_groups(struct defining *d)
{
	const struct otf2 *o = d->o;
	uint64_t *members = calloc(d->x->info->ranks + 1u, sizeof(*members));
	if (members == NULL)
		return fail(d->x->e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < o->groups.n; i++) {
		const struct otf2_group *g = &o->groups.at[i];
		for (uint32_t k = 0; k < g->n; k++)
			members[k] = o->members.at[g->first + k];
		define_group(d, d->empty, OTF2_GROUP_TYPE_COMM_GROUP, g->n, members);
	}
	free(members);
	return 0;
}

static uint32_t comm_of(const struct defining *d, const cJSON *of)
{
	double id = json_number_or(of, "communicator", -1);
	return id >= 0 && id < d->x->defs.comms.n ? (uint32_t)id : d->o->world;
}

static void define_windows(struct defining *d)
{
	for (uint32_t i = 0; i < d->x->defs.windows.n; i++) {
		const cJSON *window = d->x->defs.windows.at[i];
		const char *name = json_text(window, "name", NULL);
		note(d,
		     OTF2_GlobalDefWriter_WriteRmaWin(d->w, i, name != NULL ? text(d, name) : numbered(d, "window", i),
						      comm_of(d, window), OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS));
	}
}

static void define_files(struct defining *d)
{
	if (d->x->defs.files.n == 0)
		return;
	note(d, OTF2_GlobalDefWriter_WriteIoParadigm(d->w, 0, text(d, "MPI-IO"), text(d, "MPI-IO"),
						     OTF2_IO_PARADIGM_CLASS_PARALLEL, OTF2_IO_PARADIGM_FLAG_NONE, 0,
						     NULL, NULL, NULL));
	for (uint32_t i = 0; i < d->x->defs.files.n; i++) {
		const cJSON *file = d->x->defs.files.at[i];
		OTF2_StringRef name = text(d, json_text(file, "name", "?"));
		note(d, OTF2_GlobalDefWriter_WriteIoRegularFile(d->w, i, name, 0));
		note(d, OTF2_GlobalDefWriter_WriteIoHandle(d->w, i, name, i, 0, OTF2_IO_HANDLE_FLAG_NONE,
							   comm_of(d, file), OTF2_UNDEFINED_IO_HANDLE));
	}
}

int otf2_define(struct exporting *x)
{
	struct otf2 *o = x->state;
	struct defining d = {.x = x, .o = o, .w = OTF2_Archive_GetGlobalDefWriter(o->archive)};
	if (d.w == NULL)
		return otf2_check(x, OTF2_ERROR_MEM_FAULT);
	d.empty = text(&d, "");
	define_clock(&d);
	define_tree(&d);
	define_locations(&d);
	define_regions(&d);
	define_callsites(&d);
	int rc = define_comms(&d);
	if (rc == 0)
		rc = define_groups(&d);
	if (rc < 0)
		return rc;
	define_windows(&d);
	define_files(&d);
	rc = otf2_check(x, d.rc);
	return rc == 0 ? otf2_check(x, OTF2_Archive_CloseGlobalDefWriter(o->archive, d.w)) : rc;
}
