/* pmpi_objects.c - what the tracer says of communicators, groups, datatypes, windows and collectives, on a stub of MPI
 * with a world of eight, of which this is rank 3. */
#include "traced.h"

#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

static int values[64];

static void begin(void)
{
	stub.size = 8;
	stub.rank = 3;
	traced_begin(MPI_THREAD_SINGLE);
}

static unsigned members_of(const struct mpic_def *c, int32_t *ret_ranks)
{
	return mpic_expand_runs(c->runs, ret_ranks, STUB_MEMBERS);
}

static MPI_Comm split(struct stub_members members)
{
	MPI_Comm comm;
	stub.next = members;
	CALL(MPI_Comm_split, MPI_COMM_WORLD, 0, 0, &comm);
	return comm;
}

/* ---- communicators ---- */

Test(communicators, the_world_and_the_process_alone_are_there_from_the_beginning)
{
	int32_t ranks[STUB_MEMBERS];
	begin();
	const struct traced *t = traced_end();
	const struct mpic_def *world = traced_comm(t, 0), *self = traced_comm(t, 1);
	cr_assert_eq(world->global_id, 1);
	cr_assert_eq(world->size, 8);
	cr_assert_eq(world->my_rank, 3);
	cr_assert_eq(members_of(world, ranks), 8);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(ranks[i], i);
	cr_assert_eq(self->size, 1);
	cr_assert_eq(self->my_rank, 0);
	cr_assert_eq(members_of(self, ranks), 1);
	cr_assert_eq(ranks[0], 3);
	cr_assert_not(world->inter);
}

Test(communicators, that_are_made_say_from_which_and_with_whom_in_which_order)
{
	static const int order[] = {7, 5, 3, 1, 0, 2, 6};
	struct stub_members m = {.n = 7};
	int32_t ranks[STUB_MEMBERS];
	memcpy(m.ranks, order, sizeof(order));
	begin();
	split(m);
	const struct traced *t = traced_end();
	const struct traced_call *c = traced_call(t, "MPI_Comm_split", 0);
	const struct mpic_def *made = traced_comm(t, c->sig.new_comm);
	cr_assert_eq(c->sig.shape, SIG_COMM);
	cr_assert_eq(c->sig.comm, 0);
	cr_assert_eq(made->parent, 0);
	cr_assert_eq(made->size, 7);
	cr_assert_eq(made->my_rank, 2);
	cr_assert_eq(members_of(made, ranks), 7);
	for (int i = 0; i < 7; i++)
		cr_assert_eq(ranks[i], order[i], "member %d is %d", i, ranks[i]);
}

/* Siblings differ, and so do those of other members; each member must come to the same number by itself. */
Test(communicators, have_a_number_of_their_own)
{
	struct stub_members even = {3, {1, 3, 5}}, more = {3, {0, 3, 5}};
	uint64_t ids[6];
	MPI_Comm dup, grand;
	begin();
	split(even);
	split(even);
	split(more);
	MPI_Comm of = split(even);
	CALL(MPI_Comm_dup, of, &dup);
	CALL(MPI_Comm_dup, dup, &grand);
	const struct traced *t = traced_end();
	for (unsigned i = 0; i < 6; i++) {
		const struct traced_call *c =
			i < 4 ? traced_call(t, "MPI_Comm_split", i) : traced_call(t, "MPI_Comm_dup", i - 4);
		ids[i] = traced_comm(t, c->sig.new_comm)->global_id;
		for (unsigned k = 0; k < i; k++)
			cr_assert_neq(ids[i], ids[k], "%u and %u", i, k);
	}
}

/* Its parent's other calls do not order it: the tag and the members tell which one it is. */
Test(communicators, of_a_group_are_told_apart_by_tag_members_and_how_often)
{
	static const struct {
		struct stub_members members;
		int tag;
	} made[] = {{{3, {1, 3, 5}}, 4}, {{3, {1, 3, 5}}, 4}, {{3, {1, 3, 5}}, 5}, {{2, {1, 3}}, 4}};
	MPI_Comm comm;
	uint64_t ids[4];
	begin();
	for (unsigned i = 0; i < 4; i++) {
		stub.next = made[i].members;
		CALL(MPI_Comm_create_group, MPI_COMM_WORLD, MPI_GROUP_EMPTY, made[i].tag, &comm);
	}
	const struct traced *t = traced_end();
	for (unsigned i = 0; i < 4; i++) {
		const struct traced_call *c = traced_call(t, "MPI_Comm_create_group", i);
		ids[i] = traced_comm(t, c->sig.new_comm)->global_id;
		cr_assert_eq(c->sig.nlist, 0);
		for (unsigned k = 0; k < i; k++)
			cr_assert_neq(ids[i], ids[k], "%u and %u", i, k);
	}
}

/* Made in a process of its own; its number. */
static uint64_t inter_of(int rank, struct stub_members local, struct stub_members remote, int tag)
{
	int32_t ranks[STUB_MEMBERS];
	uint64_t id = 0;
	MPI_Comm comm;
	int ends[2], status;
	cr_assert_eq(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		begin();
		stub.rank = rank;
		stub.next = local, stub.next_remote = remote;
		CALL(MPI_Intercomm_create, MPI_COMM_WORLD, 0, MPI_COMM_WORLD, 0, tag, &comm);
		const struct traced *t = traced_end();
		const struct mpic_def *made = traced_comm(t, traced_call(t, "MPI_Intercomm_create", 0)->sig.new_comm);
		bool good = made->inter && made->size == (uint32_t)local.n &&
			    members_of(made, ranks) == (unsigned)local.n && ranks[0] == local.ranks[0] &&
			    write(ends[1], &made->global_id, sizeof(id)) == sizeof(id);
		_exit(good ? 0 : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(status, 0);
	cr_assert_eq(read(ends[0], &id, sizeof(id)), (ssize_t)sizeof(id));
	close(ends[0]), close(ends[1]);
	return id;
}

Test(communicators, between_two_groups_have_one_number_on_both_sides)
{
	struct stub_members odd = {3, {1, 3, 5}}, even = {2, {0, 2}};
	uint64_t id = inter_of(3, odd, even, 4);
	cr_assert_eq(inter_of(2, even, odd, 4), id);
	cr_assert_neq(inter_of(3, odd, even, 5), id);
	cr_assert_neq(inter_of(3, odd, (struct stub_members){2, {0, 4}}, 4), id);
}

Test(communicators, a_duplicate_has_the_members_of_what_it_was_made_of)
{
	struct stub_members even = {3, {1, 3, 5}};
	int32_t ranks[STUB_MEMBERS];
	MPI_Comm dup;
	begin();
	MPI_Comm of = split(even);
	CALL(MPI_Comm_dup, of, &dup);
	CALL(MPI_Barrier, dup);
	const struct traced *t = traced_end();
	const struct traced_call *c = traced_call(t, "MPI_Comm_dup", 0);
	const struct mpic_def *made = traced_comm(t, c->sig.new_comm);
	cr_assert_eq(c->sig.comm, traced_call(t, "MPI_Comm_split", 0)->sig.new_comm);
	cr_assert_eq(made->parent, c->sig.comm);
	cr_assert_eq(members_of(made, ranks), 3);
	cr_assert(ranks[0] == 1 && ranks[1] == 3 && ranks[2] == 5);
	cr_assert_eq(made->my_rank, 1);
	cr_assert_eq(traced_call(t, "MPI_Barrier", 0)->sig.comm, c->sig.new_comm);
}

Test(communicators, who_is_no_member_gets_none)
{
	begin();
	split((struct stub_members){0, {0}});
	const struct traced *t = traced_end();
	cr_assert_eq(traced_call(t, "MPI_Comm_split", 0)->sig.new_comm, SIG_NO_COMM);
}

/* A handle that was freed comes back as another communicator. */
Test(communicators, behind_a_handle_that_comes_back_are_another_one)
{
	MPI_Comm comm;
	begin();
	for (int i = 0; i < 400; i++) {
		CALL(MPI_Comm_dup, MPI_COMM_WORLD, &comm);
		CALL(MPI_Barrier, comm);
		CALL(MPI_Comm_free, &comm);
	}
	const struct traced *t = traced_end();
	for (unsigned i = 0; i < 400; i++) {
		uint32_t id = traced_call(t, "MPI_Comm_dup", i)->sig.new_comm;
		cr_assert_eq(traced_call(t, "MPI_Barrier", i)->sig.comm, id);
		cr_assert_eq(traced_call(t, "MPI_Comm_free", i)->sig.comm, id);
		cr_assert(i == 0 || id != traced_call(t, "MPI_Comm_dup", i - 1)->sig.new_comm);
	}
	cr_assert_eq(t->missing, 0);
}

Test(communicators, have_the_name_that_the_program_gives)
{
	begin();
	CALL(MPI_Comm_set_name, MPI_COMM_WORLD, "everybody");
	const struct traced *t = traced_end();
	const struct mpic_def *d = traced_def(t, MPIC_DEF_COMM_NAME, 0);
	cr_assert_eq(d->id, 0);
	cr_assert_eq(d->name.len_bytes, 9);
	cr_assert_eq(memcmp(d->name.data, "everybody", 9), 0);
}

/* ---- datatypes ---- */

static uint64_t type_bytes(const struct traced *t, uint32_t id)
{
	for (unsigned n = 0; n < id; n++) {
		const struct mpic_def *d = traced_def(t, MPIC_DEF_DATATYPE, n);
		if (d != NULL && d->id == id)
			return d->size_bytes;
	}
	return 0;
}

/* As a library's layer makes for itself: a handle that was freed, which nobody saw, is that of another one. */
Test(datatypes, that_nobody_saw_being_made_have_the_size_that_they_have_now)
{
	begin();
	for (int i = 0; i < 1000; i++) {
		MPI_Datatype type;
		PMPI_Type_contiguous(1 + i % 7, MPI_INT, &type);
		CALL(MPI_Send, values, 2, type, 1, 1, MPI_COMM_WORLD);
		PMPI_Type_free(&type);
	}
	const struct traced *t = traced_end();
	for (unsigned i = 0; i < 1000; i++)
		cr_assert_eq(type_bytes(t, traced_call(t, "MPI_Send", i)->sig.datatype), 4 * (1 + i % 7), "%u", i);
}

/* ---- windows ---- */

Test(windows, say_of_which_communicator_and_how_large_they_are)
{
	MPI_Win win[2];
	begin();
	MPI_Comm comm = split((struct stub_members){2, {3, 4}});
	CALL(MPI_Win_create, values, 40, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win[0]);
	CALL(MPI_Win_create, values, 8, 1, MPI_INFO_NULL, comm, &win[1]);
	CALL(MPI_Put, values, 2, MPI_INT, 1, 0, 2, MPI_INT, win[1]);
	CALL(MPI_Win_free, &win[1]);
	CALL(MPI_Win_free, &win[0]);
	const struct traced *t = traced_end();
	const struct mpic_def *first = traced_def(t, MPIC_DEF_WINDOW, 0), *second = traced_def(t, MPIC_DEF_WINDOW, 1);
	cr_assert_eq(first->comm, 0);
	cr_assert_eq(first->size_bytes, 40);
	cr_assert_eq(second->comm, traced_call(t, "MPI_Comm_split", 0)->sig.new_comm);
	cr_assert_eq(second->size_bytes, 8);
	cr_assert_neq(first->global_id, second->global_id);
	const struct traced_call *put = traced_call(t, "MPI_Put", 0);
	cr_assert_eq(put->sig.rma, RMA_PUT);
	cr_assert_eq(put->sig.object, second->id);
	cr_assert_eq(put->sig.peer, 1);
	cr_assert_eq(put->sig.bytes, 8);
	cr_assert_eq(put->sig.fetched_bytes, 0);
	cr_assert_eq(traced_call(t, "MPI_Win_free", 0)->sig.object, second->id);
	cr_assert_eq(traced_call(t, "MPI_Win_free", 1)->sig.object, first->id);
}

/* Far strides do not fit their word: one by one. */
Test(windows, the_group_of_a_post_is_named_in_the_ranks_of_the_world)
{
	MPI_Win win;
	MPI_Group group;
	begin();
	MPI_Comm comm = split((struct stub_members){5, {6, 5, 4, 1, 0}});
	CALL(MPI_Win_create, values, 40, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	PMPI_Comm_group(comm, &group);
	CALL(MPI_Win_post, group, 0, win);
	const struct traced *t = traced_end();
	const struct traced_call *post = traced_call(t, "MPI_Win_post", 0);
	static const int32_t runs[][3] = {{6, -1, 3}, {1, -1, 2}};
	cr_assert_eq(post->sig.rma, RMA_POST);
	cr_assert_eq(post->sig.nlist, 2);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t w = post->sig.list[i];
		cr_assert_eq((int32_t)w, runs[i][0]);
		cr_assert_eq((int16_t)(w >> 32), runs[i][1]);
		cr_assert_eq(w >> 48, (uint64_t)runs[i][2]);
	}
}

Test(windows, a_test_waits_for_everybody_in_vain_or_not)
{
	MPI_Win win;
	int flag;
	begin();
	CALL(MPI_Win_create, values, 40, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	for (int i = 0; i < 3; i++)
		CALL(MPI_Win_test, win, &flag);
	const struct traced *t = traced_end();
	cr_assert_eq(traced_count(t, "MPI_Win_test"), 2, "those in vain are one event");
	for (unsigned i = 0; i < 2; i++) {
		const struct traced_call *test = traced_call(t, "MPI_Win_test", i);
		cr_expect_eq(test->sig.rma, RMA_WAIT);
		cr_expect_eq(test->sig.object, traced_def(t, MPIC_DEF_WINDOW, 0)->id);
		cr_expect_eq(test->sig.peer, SIG_ANY);
		cr_expect_eq(test->sig.assertion, 0);
		cr_expect_eq(test->sig.lock_type, 0);
		cr_expect_eq((test->sig.flags & SIG_POLLS) != 0, i == 0);
	}
	cr_expect_eq(traced_call(t, "MPI_Win_test", 0)->extra[0], 2);
}

/* ---- collectives ---- */

Test(collectives, of_a_root_say_what_goes_to_and_comes_from_each)
{
	begin();
	for (int root = 2; root <= 3; root++)
		CALL(MPI_Gather, values, 5, MPI_INT, values, 5, MPI_INT, root, MPI_COMM_WORLD);
	CALL(MPI_Gather, MPI_IN_PLACE, 5, MPI_INT, values, 5, MPI_INT, 3, MPI_COMM_WORLD);
	const struct traced *t = traced_end();
	const uint64_t expected[3][2] = {{20, 0}, {20, 20}, {0, 20}};
	for (unsigned i = 0; i < 3; i++) {
		const struct traced_call *c = traced_call(t, "MPI_Gather", i);
		cr_assert_eq(c->sig.coll, COLL_GATHER);
		cr_assert_eq(c->sig.peer, i == 0 ? 2 : 3);
		cr_assert_eq(c->sig.send_unit_bytes, expected[i][0], "call %u", i);
		cr_assert_eq(c->sig.recv_unit_bytes, expected[i][1], "call %u", i);
	}
}

Test(collectives, in_place_send_what_they_receive)
{
	begin();
	CALL(MPI_Alltoall, values, 2, MPI_INT, values, 3, MPI_INT, MPI_COMM_WORLD);
	CALL(MPI_Alltoall, MPI_IN_PLACE, 0, MPI_INT, values, 3, MPI_INT, MPI_COMM_WORLD);
	const struct traced *t = traced_end();
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(traced_call(t, "MPI_Alltoall", i)->sig.send_unit_bytes, i == 0 ? 8 : 12);
		cr_assert_eq(traced_call(t, "MPI_Alltoall", i)->sig.recv_unit_bytes, 12);
		cr_assert_eq(traced_call(t, "MPI_Alltoall", i)->sig.peer, SIG_NO_ROOT);
	}
}

static void assert_size(const struct traced_call *c, unsigned i, uint64_t bytes, uint64_t repeat)
{
	cr_assert_lt(i, c->sig.nlist);
	cr_assert_eq(c->sig.list[i] & ((1ull << 48) - 1), bytes, "entry %u", i);
	cr_assert_eq(c->sig.list[i] >> 48, repeat, "entry %u", i);
}

Test(collectives, with_a_size_for_each_list_them_where_they_are_significant)
{
	static const int counts[8] = {1, 1, 1, 7, 7, 0, 0, 2}, at[8];
	begin();
	CALL(MPI_Gatherv, values, 7, MPI_INT, values, counts, at, MPI_INT, 3, MPI_COMM_WORLD);
	CALL(MPI_Gatherv, values, 7, MPI_INT, values, counts, at, MPI_INT, 0, MPI_COMM_WORLD);
	CALL(MPI_Allgatherv, MPI_IN_PLACE, 0, MPI_INT, values, counts, at, MPI_INT, MPI_COMM_WORLD);
	const struct traced *t = traced_end();
	const struct traced_call *root = traced_call(t, "MPI_Gatherv", 0), *other = traced_call(t, "MPI_Gatherv", 1);
	const struct traced_call *all = traced_call(t, "MPI_Allgatherv", 0);
	cr_assert_eq(root->sig.nlist, 4);
	assert_size(root, 0, 4, 3);
	assert_size(root, 1, 28, 2);
	assert_size(root, 2, 0, 2);
	assert_size(root, 3, 8, 1);
	cr_assert_eq(root->sig.send_unit_bytes, 28);
	cr_assert_eq(other->sig.nlist, 0);
	cr_assert_eq(other->sig.peer, 0);
	cr_assert_eq(all->sig.nlist, 4);
	cr_assert_eq(all->sig.send_unit_bytes, 28, "my own part");
}

/* ---- messages ---- */

Test(messages, say_whom_what_and_how_much)
{
	MPI_Status status;
	begin();
	stub.source = 6, stub.tag = 9, stub.bytes = 12;
	CALL(MPI_Send, values, 3, MPI_INT, 7, 42, MPI_COMM_WORLD);
	CALL(MPI_Send, values, 3, MPI_INT, MPI_PROC_NULL, 42, MPI_COMM_WORLD);
	CALL(MPI_Recv, values, 50, MPI_INT, 6, 9, MPI_COMM_WORLD, &status);
	CALL(MPI_Recv, values, 50, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	const struct traced *t = traced_end();
	const struct traced_call *send = traced_call(t, "MPI_Send", 0), *recv = traced_call(t, "MPI_Recv", 0);
	cr_assert_eq(send->sig.peer, 7);
	cr_assert_eq(send->sig.tag, 42);
	cr_assert_eq(send->sig.count, 3);
	cr_assert_eq(traced_call(t, "MPI_Send", 1)->sig.peer, SIG_PROC_NULL);
	cr_assert_eq(recv->sig.peer, 6);
	cr_assert_eq(recv->sig.count, 50);
	cr_assert_neq(recv->sig.flags & SIG_SIZED, 0);
	cr_assert_eq(recv->sig.received_bytes, 12);
	recv = traced_call(t, "MPI_Recv", 1);
	cr_assert_eq(recv->sig.flags & (SIG_ANY_SOURCE | SIG_ANY_TAG), SIG_ANY_SOURCE | SIG_ANY_TAG);
	cr_assert_eq(recv->sig.peer, 6, "who it was");
	cr_assert_eq(recv->sig.tag, 9);
}

/* The receive of a matched message knows no more of it than its handle. */
Test(messages, that_were_probed_are_received_from_whom_they_were_probed_from)
{
	MPI_Message a, b;
	MPI_Status status;
	begin();
	stub.source = 6, stub.tag = 9, stub.bytes = 12;
	CALL(MPI_Mprobe, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &a, &status);
	stub.source = 5, stub.tag = 8;
	CALL(MPI_Mprobe, 5, 8, MPI_COMM_WORLD, &b, &status);
	CALL(MPI_Mrecv, values, 3, MPI_INT, &b, &status);
	stub.source = 6, stub.tag = 9;
	CALL(MPI_Mrecv, values, 3, MPI_INT, &a, &status);
	MPI_Message none = MPI_MESSAGE_NO_PROC;
	CALL(MPI_Mrecv, values, 3, MPI_INT, &none, &status);
	const struct traced *t = traced_end();
	cr_assert_eq(traced_call(t, "MPI_Mprobe", 0)->sig.peer, 6);
	cr_assert_eq(traced_call(t, "MPI_Mprobe", 0)->sig.bytes, 12);
	cr_assert_eq(traced_call(t, "MPI_Mrecv", 0)->sig.peer, 5);
	cr_assert_eq(traced_call(t, "MPI_Mrecv", 0)->sig.tag, 8);
	cr_assert_eq(traced_call(t, "MPI_Mrecv", 1)->sig.peer, 6);
	cr_assert_eq(traced_call(t, "MPI_Mrecv", 1)->sig.comm, 0);
	cr_assert_eq(traced_call(t, "MPI_Mrecv", 2)->sig.peer, SIG_PROC_NULL);
	cr_assert_eq(traced_call(t, "MPI_Mrecv", 2)->sig.comm, SIG_NO_COMM);
}

static MPI_Message probed;

static __attribute__((noinline)) void receive_two(void)
{
	MPI_Message unknown = probed + 100;
	MPI_Status status;
	CALL(MPI_Mrecv, values, 3, MPI_INT, &probed, &status);
	CALL(MPI_Mrecv, values, 3, MPI_INT, &unknown, &status);
}

/* In a function of the program that MPI called: of one that was probed where calls are recorded there is no receive. */
Test(messages, that_are_received_where_no_call_is_recorded_are_counted)
{
	MPI_Status status;
	begin();
	CALL(MPI_Mprobe, 5, 8, MPI_COMM_WORLD, &probed, &status);
	stub.reduction = receive_two;
	CALL(MPI_Allreduce, values, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	const struct traced *t = traced_end();
	cr_assert_eq(traced_count(t, "MPI_Mrecv"), 0);
	cr_assert_eq(t->file->requests_unseen, 1);
}

Test(messages, whose_call_failed_are_marked)
{
	begin();
	stub.error = MPI_ERR_OTHER;
	CALL(MPI_Send, values, 3, MPI_INT, 7, 42, MPI_COMM_WORLD);
	CALL(MPI_Send, values, 3, MPI_INT, 7, 42, MPI_COMM_WORLD);
	const struct traced *t = traced_end();
	cr_assert_neq(traced_call(t, "MPI_Send", 0)->sig.flags & SIG_FAILED, 0);
	cr_assert_eq(traced_call(t, "MPI_Send", 1)->sig.flags & SIG_FAILED, 0);
}
