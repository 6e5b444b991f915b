/* otf2.c - what OTF2's own reader finds in an exported trace: a collective, which is the first of its functions, the
 * members of communicators, and how files were opened. */
#include "mpix_trace.h"
#include "reports/export/export.h"
#include "reports/export/format.h"

#include <criterion/criterion.h>
#include <otf2/otf2.h>

#define ANALYSIS \
	"{\"communicators\":[{\"id\":0,\"name\":\"MPI_COMM_WORLD\",\"ranks\":[0,1]},{\"id\":1,\"ranks\":[1,0]}]," \
	"\"files\":[{\"id\":0,\"name\":\"in\",\"communicator\":0,\"mode\":[\"read\"]}," \
	"{\"id\":1,\"name\":\"out\",\"communicator\":0,\"mode\":[\"write\",\"create\"]}," \
	"{\"id\":2,\"name\":\"both\",\"communicator\":0,\"mode\":[\"read\",\"write\"]}]}"

#define COMMS 2
#define FILES 3

/* What was read. */
static struct {
	uint64_t members[8][2]; /* of groups */
	uint32_t nmembers[8], group_of_comm[COMMS];
	unsigned barriers, files;
	OTF2_IoAccessMode access[FILES];
} seen;

static OTF2_CallbackCode group(void *context, OTF2_GroupRef id, OTF2_StringRef name, OTF2_GroupType type,
			       OTF2_Paradigm paradigm, OTF2_GroupFlag flags, uint32_t n, const uint64_t *members)
{
	(void)context, (void)name, (void)type, (void)paradigm, (void)flags;
	cr_assert(id < 8 && n <= 2);
	seen.nmembers[id] = n;
	for (uint32_t i = 0; i < n; i++)
		seen.members[id][i] = members[i];
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode comm(void *context, OTF2_CommRef id, OTF2_StringRef name, OTF2_GroupRef of,
			      OTF2_CommRef parent, OTF2_CommFlag flags)
{
	(void)context, (void)name, (void)parent, (void)flags;
	cr_assert_lt(id, COMMS);
	seen.group_of_comm[id] = of;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode collective(OTF2_LocationRef location, OTF2_TimeStamp time, void *context,
				    OTF2_AttributeList *attributes, OTF2_CollectiveOp op, OTF2_CommRef of,
				    uint32_t root, uint64_t sent_bytes, uint64_t received_bytes)
{
	(void)location, (void)time, (void)context, (void)attributes, (void)of, (void)root, (void)sent_bytes;
	(void)received_bytes;
	seen.barriers += op == OTF2_COLLECTIVE_OP_BARRIER;
	return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode file(OTF2_LocationRef location, OTF2_TimeStamp time, void *context,
			      OTF2_AttributeList *attributes, OTF2_IoHandleRef handle, OTF2_IoAccessMode mode,
			      OTF2_IoCreationFlag creation, OTF2_IoStatusFlag status)
{
	(void)location, (void)time, (void)context, (void)attributes, (void)creation, (void)status;
	cr_assert_lt(handle, FILES);
	seen.access[handle] = mode;
	seen.files++;
	return OTF2_CALLBACK_SUCCESS;
}

static void read_definitions(OTF2_Reader *r)
{
	uint64_t n;
	OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(r);
	OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();
	OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, group);
	OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, comm);
	OTF2_Reader_RegisterGlobalDefCallbacks(r, definitions, c, NULL);
	cr_assert_eq(OTF2_Reader_ReadAllGlobalDefinitions(r, definitions, &n), OTF2_SUCCESS);
	OTF2_GlobalDefReaderCallbacks_Delete(c);
}

static void read_events(OTF2_Reader *r)
{
	uint64_t n;
	for (OTF2_LocationRef lane = 0; lane < 2; lane++)
		cr_assert_eq(OTF2_Reader_SelectLocation(r, lane), OTF2_SUCCESS);
	cr_assert_eq(OTF2_Reader_OpenEvtFiles(r), OTF2_SUCCESS);
	for (OTF2_LocationRef lane = 0; lane < 2; lane++)
		cr_assert_not_null(OTF2_Reader_GetEvtReader(r, lane));
	OTF2_GlobalEvtReader *events = OTF2_Reader_GetGlobalEvtReader(r);
	OTF2_GlobalEvtReaderCallbacks *c = OTF2_GlobalEvtReaderCallbacks_New();
	OTF2_GlobalEvtReaderCallbacks_SetMpiCollectiveEndCallback(c, collective);
	OTF2_GlobalEvtReaderCallbacks_SetIoCreateHandleCallback(c, file);
	OTF2_Reader_RegisterGlobalEvtCallbacks(r, events, c, NULL);
	cr_assert_eq(OTF2_Reader_ReadAllGlobalEvents(r, events, &n), OTF2_SUCCESS);
	OTF2_GlobalEvtReaderCallbacks_Delete(c);
	OTF2_Reader_CloseGlobalEvtReader(r, events);
	OTF2_Reader_CloseEvtFiles(r);
}

/* Both ranks meet at a barrier; rank 0 then opens three files. */
static void write_trace(void)
{
	static const char *const ops[] = {"MPI_Barrier", "MPI_File_open"};
	static const struct mpix_signature sigs[] = {
		{.peer = -1, .op = 0, .callsite = MPIX_NO_CALLSITE, .class = MPIX_SYNC, .flags = MPIX_COLLECTIVE},
		{.peer = -1, .op = 1, .callsite = MPIX_NO_CALLSITE, .object = 1, .class = MPIX_IO},
		{.peer = -1, .op = 1, .callsite = MPIX_NO_CALLSITE, .object = 2, .class = MPIX_IO},
		{.peer = -1, .op = 1, .callsite = MPIX_NO_CALLSITE, .object = 3, .class = MPIX_IO},
	};
	static struct plain_event of_0[] = {{1000, 2000, 0, 0, PLAIN_SIG_BYTES},
					    {3000, 4000, 1, 0, PLAIN_SIG_BYTES},
					    {5000, 6000, 2, 0, PLAIN_SIG_BYTES},
					    {7000, 8000, 3, 0, PLAIN_SIG_BYTES}},
				  of_1[] = {{1500, 2000, 0, 0, PLAIN_SIG_BYTES}};
	static const struct plain_lane lanes[] = {{of_0, 4}, {of_1, 1}};
	static const struct mpix_signature *const sigs_of[] = {sigs, sigs};
	static const uint32_t nsigs[] = {4, 4}, rank_of_lane[] = {0, 1}, threads[] = {1, 1}, clock_of_lane[] = {0, 0};
	static const struct mpix_clock_knot knot = {0, 0, 1};
	static const struct mpix_clock clock = {0, &knot, 1};
	struct plain_trace t = {.info = {.ranks = 2,
					 .runtime_ns = 9000,
					 .ops = ops,
					 .nops = 2,
					 .threads = threads,
					 .clocks = &clock,
					 .nclocks = 1,
					 .clock_of_lane = clock_of_lane},
				.lanes = lanes,
				.sigs = sigs_of,
				.nsigs = nsigs,
				.windows = 1,
				.threads = 1,
				.rank_of_lane = rank_of_lane};
	struct error e = {{0}};
	cr_assert_eq(plain_write(path_of("t.mpix"), &t, ANALYSIS, &e), 0, "%s", e.text);
}

static void begin(void)
{
	char path[256], source[256];
	struct export_counts counts;
	struct error e = {{0}};
	make_directory();
	write_trace();
	snprintf(source, sizeof(source), "%s/t.mpix", test_directory());
	snprintf(path, sizeof(path), "%s/otf2", test_directory());
	struct export_choice all = {.path = path, .from_ns = INT64_MIN, .to_ns = INT64_MAX};
	cr_assert_eq(export_file(source, export_format_find("otf2"), &all, &counts, &e), 0, "%s", e.text);
	OTF2_Reader *r = OTF2_Reader_Open(path_of("otf2/traces.otf2"));
	cr_assert_not_null(r);
	OTF2_Reader_SetSerialCollectiveCallbacks(r);
	read_definitions(r);
	read_events(r);
	OTF2_Reader_Close(r);
}

TestSuite(otf2, .init = begin, .fini = remove_directory);

Test(otf2, the_first_function_of_a_trace_is_what_its_name_says)
{
	cr_expect_eq(seen.barriers, 2, "%u", seen.barriers);
}

Test(otf2, a_communicator_has_all_its_members_in_their_order)
{
	for (uint32_t i = 0; i < COMMS; i++) {
		uint32_t of = seen.group_of_comm[i];
		cr_expect_eq(seen.nmembers[of], 2, "communicator %u has %u", i, seen.nmembers[of]);
		cr_expect_eq(seen.members[of][0], i);
		cr_expect_eq(seen.members[of][1], 1 - i);
	}
}

Test(otf2, a_file_is_opened_for_what_it_was_opened_for)
{
	cr_assert_eq(seen.files, FILES);
	cr_expect_eq(seen.access[0], OTF2_IO_ACCESS_MODE_READ_ONLY);
	cr_expect_eq(seen.access[1], OTF2_IO_ACCESS_MODE_WRITE_ONLY);
	cr_expect_eq(seen.access[2], OTF2_IO_ACCESS_MODE_READ_WRITE);
}
