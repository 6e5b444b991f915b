/* collect.c - the drain on files made by hand: what a program committed is in the .mpic,
 * whatever else the file says. In: segment files as format/segment.h draws them.  Out:
 * .mpic files, read back with format/mpic.h. */
#include "collect/meta.h"
#include "collect/predecessor.h"
#include "collect/output.h"
#include "collect/process.h"
#include "tests/unit/step_files.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(drain, .init = make_dir, .fini = remove_dir);

/* ---- who is watched ---- */

Test(watched, has_gone_when_it_has_ended_whether_or_not_anybody_has_waited_for_it)
{
	siginfo_t info;
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	uint64_t begun = process_begun(pid), own = process_begun(getpid());
	cr_expect_neq(begun, 0);
	cr_expect_not(process_has_gone(pid, begun));
	cr_expect_not(process_has_gone(getpid(), own));
	cr_expect(process_has_gone(getpid(), own + 1), "another one has its pid");
	kill(pid, SIGKILL);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	cr_expect_eq(kill(pid, 0), 0);
	cr_expect(process_has_gone(pid, begun), "it is there and has ended");
	waitpid(pid, NULL, 0);
	cr_expect(process_has_gone(pid, begun));
	cr_expect(process_has_gone(pid, 0));
}

/* ---- segment files ---- */

static void fill_segment(struct segfile *f, unsigned slot, uint32_t state, const uint64_t *words, uint32_t nwords)
{
	struct segment *g = at(f, RING_AT + slot * SLOT);
	memcpy(g + 1, words, nwords * sizeof(*words));
	g->seq = slot;
	g->begin_tick = 1000;
	g->committed = nwords * (uint32_t)sizeof(*words);
	g->state = state;
}

struct result {
	struct mpic_file file;
	int drained;
};

/* Drain segfile_path into dir/n1.mpic. */
static struct result drain(bool all)
{
	struct result r;
	struct process p;
	struct output o = output_to(dir);
	cr_assert_eq(process_open(&p, segfile_path, 0, NULL), 0);
	cr_assert_eq(output_open(&o, NULL), 0);
	r.drained = process_drain(&p, &o, all);
	cr_assert_eq(output_flush(&o), 0);
	process_give_back(&p);
	process_profile(&p, &o);
	struct mpic_block end = {.kind = MPIC_END, .process = MPIC_NODE, .seq = o.id};
	output_block(&o, &end, "{}", 2);
	process_close(&p);
	cr_assert_eq(output_close(&o), 0);
	cr_assert_eq(mpic_open(o.path, &r.file, NULL), 0);
	free(o.path);
	return r;
}

/* All events, those with extra words summed up in them; returns how many there are. */
static unsigned events_of(const struct mpic_file *f, struct mpic_event *ret_events, unsigned max)
{
	static struct mpic_events it;
	_cleanup_buf_ struct buf payload = {0};
	unsigned n = 0;
	for (size_t i = 0; i < f->nblocks; i++) {
		uint32_t count;
		int rc;
		if (f->blocks[i].kind != MPIC_EVENTS)
			continue;
		cr_assert_eq(mpic_read(f, &f->blocks[i], &payload, NULL), 0);
		cr_assert_eq(mpic_events_begin(&it, cursor_over(payload.data, payload.len_bytes), &count), 0);
		while (n < max && (rc = mpic_events_next(&it, &ret_events[n])) != 0) {
			cr_assert_eq(rc, 1);
			n++;
		}
	}
	return n;
}

/* What segrec_short() and segrec_long() make, as constants. */
#define SHORT(sig, gap, duration) ((sig) | (uint64_t)(gap) << 16 | (uint64_t)(duration) << 40)
#define LONG(sig, nextra) (SEGREC_LONG | (uint64_t)(sig) << 16 | (uint64_t)(nextra) << 40)

static const uint64_t two[] = {SHORT(3, 10, 5), SHORT(4, 20, 7)};

Test(drain, takes_full_segments_and_leaves_open_and_free_ones)
{
	struct segfile *f = make_segfile();
	struct mpic_event ev[8];
	fill_segment(f, 0, SEGMENT_FULL, two, 2);
	fill_segment(f, 1, SEGMENT_OPEN, two, 2);
	fill_segment(f, 2, SEGMENT_FREE, two, 2);
	struct result r = drain(false);
	cr_assert_eq(r.drained, 1);
	cr_assert_eq(events_of(&r.file, ev, 8), 2);
	cr_assert(ev[0].sig == 3 && ev[0].enter_tick == 1010 && ev[0].exit_tick == 1015);
	cr_assert(ev[1].sig == 4 && ev[1].enter_tick == 1035 && ev[1].exit_tick == 1042);
	cr_assert_eq(((struct segment *)at(f, RING_AT))->state, SEGMENT_FREE);
	cr_assert_eq(((struct segment *)at(f, RING_AT + SLOT))->state, SEGMENT_OPEN);
	mpic_close(&r.file);
}

Test(drain, takes_the_open_segment_of_a_dead_process_up_to_what_was_committed)
{
	struct segfile *f = make_segfile();
	struct mpic_event ev[8];
	fill_segment(f, 0, SEGMENT_OPEN, two, 2);
	((struct segment *)at(f, RING_AT))->committed = sizeof(uint64_t);
	struct result r = drain(true);
	cr_assert_eq(events_of(&r.file, ev, 8), 1);
	mpic_close(&r.file);
}

Test(drain, reads_long_records_and_extra_words)
{
	static const uint64_t words[] = {LONG(5, 2), 1 | 2ull << 32, 3 | 4ull << 32, 0x11, 0x22 | 1ull << 32};
	struct segfile *f = make_segfile();
	struct mpic_event ev[8];
	fill_segment(f, 0, SEGMENT_FULL, words, 5);
	struct result r = drain(false);
	cr_assert_eq(events_of(&r.file, ev, 8), 1);
	cr_assert_eq(ev[0].enter_tick, 1000 + (1 | 2ull << 32));
	cr_assert_eq(ev[0].exit_tick - ev[0].enter_tick, 3 | 4ull << 32);
	cr_assert_eq(ev[0].nextra, 2);
	cr_assert(ev[0].extra[0] == 0x11 && ev[0].extra[1] == (0x22 | 1ull << 32));
	mpic_close(&r.file);
}

Test(drain, tells_the_polls_that_were_running_when_the_process_died)
{
	struct segfile *f = make_segfile();
	struct thread_area *area = at(f, AREA_AT);
	struct mpic_event ev[8];
	area->polls = (struct pending_polls){
		.sig = 9, .busy = 1, .calls = 77, .ticks = 50, .enter_tick = 1100, .exit_tick = 1200};
	fill_segment(f, 0, SEGMENT_OPEN, two, 2);
	struct result r = drain(true);
	cr_assert_eq(events_of(&r.file, ev, 8), 3);
	cr_assert(ev[2].sig == 9 && ev[2].enter_tick == 1100 && ev[2].exit_tick == 1200 && ev[2].extra[0] == 77);
	mpic_close(&r.file);
}

Test(drain, tells_the_polls_of_a_process_that_died_between_two_segments)
{
	struct segfile *f = make_segfile();
	struct thread_area *area = at(f, AREA_AT);
	struct mpic_event ev[8];
	area->polls = (struct pending_polls){
		.sig = 9, .busy = 1, .calls = 77, .previous_exit_tick = 1042, .enter_tick = 1100, .exit_tick = 1200};
	fill_segment(f, 0, SEGMENT_FULL, two, 2);
	fill_segment(f, 1, SEGMENT_FREE, two, 2);
	struct result r = drain(true);
	cr_assert_eq(events_of(&r.file, ev, 8), 3);
	cr_assert(ev[2].sig == 9 && ev[2].enter_tick == 1100 && ev[2].extra[0] == 77);
	mpic_close(&r.file);
}

Test(drain, a_hostile_record_ends_its_segment_and_no_other)
{
	static const uint64_t too_many[] = {SHORT(3, 10, 5), LONG(4, SEGREC_EXTRA_MAX + 1), 1, 1, 0};
	static const uint64_t endless[] = {SHORT(3, 10, 5), LONG(4, 0), ~0ull, ~0ull};
	static const uint64_t wild_sig[] = {SHORT(3, 10, 5), LONG(MPIC_SIGS_MAX, 0), 1, 1};
	struct segfile *f = make_segfile();
	struct mpic_event ev[16];
	fill_segment(f, 0, SEGMENT_FULL, too_many, 5);
	fill_segment(f, 1, SEGMENT_FULL, endless, 4);
	fill_segment(f, 2, SEGMENT_FULL, wild_sig, 4);
	fill_segment(f, 3, SEGMENT_FULL, two, 2);
	struct result r = drain(false);
	cr_assert_eq(events_of(&r.file, ev, 16), 1 + 1 + 1 + 2);
	mpic_close(&r.file);
}

Test(drain, hostile_lengths_are_passed_over)
{
	struct mpic_event ev[8];
	struct segfile *f = make_segfile();
	struct defs_area *defs = at(f, DEFS_AT);
	fill_segment(f, 0, SEGMENT_FULL, two, 2);
	fill_segment(f, 1, SEGMENT_FULL, two, 2);
	((struct segment *)at(f, RING_AT))->committed = SLOT; /* more than the slot holds */
	((struct segment *)at(f, RING_AT + SLOT))->thread = 99999;
	defs->committed = 1u << 20;
	f->regions[5] = (struct region){REGION_DEFS, 0, DEFS_AT, 16}; /* shorter than its header */
	f->regions[6] = (struct region){REGION_RING, 0, RING_AT, ~0ull};
	f->regions[7] = (struct region){REGION_RING, ~0u, RING_AT, PAGE};
	f->regions[8] = (struct region){REGION_THREAD, 0, 1ull << 60, PAGE};
	f->nregions = 9;
	struct result r = drain(true);
	cr_assert_eq(events_of(&r.file, ev, 8), 0);
	cr_assert_eq(r.file.nblocks, 1); /* the end */
	mpic_close(&r.file);
}

Test(drain, a_region_that_changes_after_it_was_mapped_does_no_harm)
{
	struct segfile *f = make_segfile();
	struct process p;
	struct output o = output_to(dir);
	cr_assert_eq(process_open(&p, segfile_path, 0, NULL), 0);
	cr_assert_eq(output_open(&o, NULL), 0);
	process_drain(&p, &o, false);
	for (int i = 0; i < 5; i++)
		f->regions[i] = (struct region){REGION_TOTALS, 0, 0, 1ull << 40};
	((struct defs_area *)at(f, DEFS_AT))->committed = 1u << 30;
	process_drain(&p, &o, true);
	process_profile(&p, &o);
	process_close(&p);
	cr_assert_eq(output_close(&o), 0);
	free(o.path);
}

Test(drain, totals_go_on_in_the_next_region)
{
	struct segfile *f = make_segfile();
	struct segment_total *totals = at(f, TOTALS_AT);
	const uint32_t per_region = PAGE / sizeof(*totals);
	_cleanup_buf_ struct buf payload = {0};
	struct mpic_total t;
	totals[2] = (struct segment_total){5, 50};
	totals[per_region + 1] = (struct segment_total){7, 70};
	struct result r = drain(true);
	cr_assert_eq(r.file.blocks[0].kind, MPIC_PROFILE);
	cr_assert_eq(mpic_read(&r.file, &r.file.blocks[0], &payload, NULL), 0);
	struct cursor c = cursor_over(payload.data, payload.len_bytes);
	cr_assert(mpic_next_total(&c, &t) == 1 && t.sig == 2 && t.calls == 5 && t.ticks == 50);
	cr_assert(mpic_next_total(&c, &t) == 1 && t.sig == per_region + 1 && t.calls == 7);
	cr_assert_eq(mpic_next_total(&c, &t), 0);
	mpic_close(&r.file);
}

/* A hole that holds more of them than there can be, with calls at the last signature and at the one behind it. */
Test(drain, totals_end_at_the_last_signature, .timeout = 60)
{
	const uint64_t hole = 4ull * MPIC_SIGS_MAX * sizeof(struct segment_total);
	struct segfile *f = make_segfile();
	_cleanup_buf_ struct buf payload = {0};
	struct segment_total ends[2] = {{5, 50}, {7, 70}};
	struct mpic_total t;
	int fd = open(segfile_path, O_WRONLY | O_CLOEXEC);
	cr_assert_eq(ftruncate(fd, (off_t)(FILE_BYTES + hole)), 0);
	cr_assert_eq(pwrite(fd, ends, sizeof(ends), (off_t)(FILE_BYTES + (MPIC_SIGS_MAX - 1) * sizeof(*ends))),
		     (ssize_t)sizeof(ends));
	close(fd);
	f->regions[2] = (struct region){REGION_TOTALS, 0, FILE_BYTES, hole};
	struct result r = drain(true);
	cr_assert_eq(mpic_read(&r.file, &r.file.blocks[0], &payload, NULL), 0);
	struct cursor c = cursor_over(payload.data, payload.len_bytes);
	cr_assert(mpic_next_total(&c, &t) == 1 && t.sig == MPIC_SIGS_MAX - 1 && t.calls == 5);
	cr_assert_eq(mpic_next_total(&c, &t), 0);
	mpic_close(&r.file);
}

/* The i-th segment of the spill file, at a place of its own. */
static void spill(struct segfile *f, unsigned i, uint32_t place)
{
	struct segment head = {.committed = sizeof(two), .len_bytes = SLOT, .seq = i, .begin_tick = 1000};
	int fd = open(spill_path, O_WRONLY | O_CREAT, 0600);
	cr_assert_eq(pwrite(fd, &head, sizeof(head), (off_t)place * SPILL_SLOT_BYTES), (ssize_t)sizeof(head));
	cr_assert_eq(pwrite(fd, two, sizeof(two), (off_t)place * SPILL_SLOT_BYTES + (off_t)sizeof(head)),
		     (ssize_t)sizeof(two));
	close(fd);
	f->spill_place[i] = place;
}

Test(drain, takes_spilled_segments_and_stops_at_the_half_written_one)
{
	struct mpic_event ev[8];
	struct segfile *f = make_segfile();
	spill(f, 0, 1);
	spill(f, 1, 0);
	spill(f, 2, 2); /* is there, but nobody said that it is whole */
	f->spilled = 2;
	struct result r = drain(true);
	cr_assert_eq(r.drained, 2);
	cr_assert_eq(events_of(&r.file, ev, 8), 4);
	mpic_close(&r.file);
}

/* As many as a program can have left to the agent, one more, and without end: the same one each time. */
Test(drain, more_spilled_segments_than_there_is_room_for_are_none, .timeout = 120)
{
	static const uint64_t said[] = {SPILL_SEGMENTS_MAX, SPILL_SEGMENTS_MAX + 1, 1ull << 40};
	static const int taken[] = {SPILL_SEGMENTS_MAX, 0, 0};
	for (unsigned i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct segfile *f = make_segfile();
		spill(f, 0, 0);
		fill_segment(f, 0, SEGMENT_FULL, two, 2);
		f->spilled = said[i];
		struct result r = drain(true);
		cr_expect_eq(r.drained, taken[i] + 1, "and that in the ring: %d", r.drained);
		mpic_close(&r.file);
		cr_assert_eq(unlink(segfile_path), 0);
	}
}

/* What the agent may cut when the disk is full must have no other name. */
Test(drain, spilled_segments_under_a_second_name_are_refused)
{
	char victim[PATH_MAX];
	struct process p;
	struct output o = output_to(dir);
	struct segfile *f = make_segfile();
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	spill(f, 0, 0);
	f->spilled = 1;
	cr_assert_eq(link(spill_path, victim), 0);
	cr_assert_eq(process_open(&p, segfile_path, 0, NULL), 0);
	cr_assert_eq(output_open(&o, NULL), 0);
	process_drain(&p, &o, true);
	cr_expect_lt(p.spill_fd, 0);
	cr_expect(p.refused, "it is said that there is more");
	cr_assert_eq(unlink(victim), 0);
	process_drain(&p, &o, true);
	cr_expect_geq(p.spill_fd, 0);
	cr_expect_not(p.refused);
	cr_expect_eq(p.spill_done, 1);
	process_close(&p);
	cr_assert_eq(output_close(&o), 0);
	free(o.path);
}

Test(drain, a_segment_that_was_spilled_is_not_told_again_from_its_slot)
{
	struct segfile *f = make_segfile();
	struct thread_area *area = at(f, AREA_AT);
	struct mpic_event ev[8];
	spill(f, 0, 0);
	f->spilled = 1;
	area->polls = (struct pending_polls){
		.sig = 9, .busy = 1, .calls = 7, .previous_exit_tick = 1042, .enter_tick = 1100, .exit_tick = 1200};
	fill_segment(f, 0, SEGMENT_OPEN, two, 2);
	struct result r = drain(true);
	cr_assert_eq(events_of(&r.file, ev, 8), 3);
	cr_assert(ev[2].enter_tick == 1100 && ev[2].extra[0] == 7);
	mpic_close(&r.file);
}

/* An agent that is killed before or after its segments were given back; and its successor. */
static void two_agents(struct segfile *f, bool flushed, bool given_back)
{
	struct process p, next;
	struct output o = output_to(dir), on = output_to(dir);
	struct predecessor e;
	cr_assert_eq(process_open(&p, segfile_path, 0, NULL), 0);
	cr_assert_eq(output_open(&o, NULL), 0);
	int note = predecessor_note(dir, o.path), reader = open(o.path, O_RDONLY);
	cr_assert(note >= 0 && reader >= 0);
	predecessor_made(note);
	cr_assert_eq(flock(reader, LOCK_SH), 0); /* who may read it can do that, and it is nobody's business */
	meta_process(&o, &p, true);
	output_flush(&o);
	cr_assert_eq(process_drain(&p, &o, false), 2);
	if (flushed)
		cr_assert_eq(output_flush(&o), 0);
	if (given_back)
		process_give_back(&p);
	cr_assert_eq(write(o.fd, "half a block", 12), 12);
	cr_assert_eq(predecessor_open(&e, dir), 1);
	cr_assert_eq(predecessor_lock(dir), -EBUSY); /* it still lives */
	close(o.fd);
	close(note);
	note = predecessor_lock(dir);
	cr_assert_geq(note, 0);
	cr_assert_eq(output_resume(&on, e.file.path, e.end), 0);
	cr_assert_eq(predecessor_index(&e, f), 0);
	cr_assert_eq(process_open(&next, segfile_path, 0, NULL), 0);
	process_refresh(&next);
	predecessor_apply(&e, &next);
	process_drain(&next, &on, true);
	cr_assert_eq(next.threads[0].events, 6);
	cr_assert_eq(output_close(&on), 0);
	process_close(&p);
	process_close(&next);
	predecessor_close(&e);
	buf_done(&o.pending); /* what the dead one held */
	free(o.queued);
	free(o.path);
	free(on.path);
	close(note);
	close(reader);
}

Test(drain, a_second_agent_goes_on_where_the_first_one_died)
{
	for (int i = 0; i < 3; i++) {
		char command[2 * PATH_MAX];
		struct mpic_event ev[16];
		struct mpic_file file;
		struct segfile *f = make_segfile();
		struct defs_area *defs = at(f, DEFS_AT);
		fill_segment(f, 0, SEGMENT_FULL, two, 2);
		fill_segment(f, 1, SEGMENT_FULL, two, 2);
		fill_segment(f, 2, SEGMENT_OPEN, two, 2);
		defs->committed = 64;
		two_agents(f, i > 0, i > 1);
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "%s/n1.mpic", dir);
		cr_assert_eq(mpic_open(path, &file, NULL), 0);
		cr_assert_eq(file.damaged_bytes, 0);
		cr_assert_eq(events_of(&file, ev, 16), 6, "%d", i);
		cr_assert_eq(blocks_of(path, MPIC_DEFS), 1);
		mpic_close(&file);
		snprintf(command, sizeof(command), "rm -f %s/n1*.mpic %s", dir, segfile_path);
		cr_assert_eq(system(command), 0);
	}
}

Test(drain, refuses_what_is_no_segment_file)
{
	struct process p;
	write_file(segfile_path, "short", 5);
	cr_assert_eq(process_open(&p, segfile_path, 0, NULL), -EAGAIN);
	struct segfile *f = map_segfile();
	memset(f, 0, 16);
	cr_assert_eq(process_open(&p, segfile_path, 0, NULL), -EAGAIN); /* still being written */
	f->magic = SEGFILE_MAGIC + 1;
	cr_assert_eq(process_open(&p, segfile_path, 0, NULL), -EBADMSG);
	f->magic = SEGFILE_MAGIC;
	f->version = SEGFILE_VERSION + 1;
	cr_assert_eq(process_open(&p, segfile_path, 0, NULL), -EBADMSG);
	unlink(segfile_path);
	cr_assert_eq(symlink("/etc/passwd", segfile_path), 0);
	cr_assert_lt(process_open(&p, segfile_path, 0, NULL), 0);
}
