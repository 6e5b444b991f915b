/* postproc_files.c - what analyze does with files that are cut, foreign, doubled, mixed, hostile or
 * cannot be written. */
#include "step_analysis.h"
#include "format/limits.h"
#include "format/mpix.h"
#include "base/json.h"
#include "postproc/read/meta.h"
#include "postproc/postproc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct program *small(void)
{
	struct program *p = program_create(4, 2);
	for (int i = 0; i < 50; i++)
		for (unsigned r = 0; r < 4; r++)
			program_sendrecv(p, r,
					 (struct call){.op = "MPI_Sendrecv",
						       .from_us = 20 * i + r,
						       .to_us = 20 * i + 10,
						       .peer = (int)(r + 1) % 4,
						       .bytes = 100,
						       .recv_peer = (int)(r + 3) % 4,
						       .recv_bytes = 100});
	for (unsigned r = 0; r < 4; r++)
		program_coll(p, r,
			     (struct call){.op = "MPI_Barrier",
					   .from_us = 1000 + r,
					   .to_us = 1010,
					   .peer = SIG_NO_ROOT,
					   .coll = COLL_BARRIER});
	return p;
}

static int run(const char *dir, const char *mpix, bool *ret_complete, struct error *e)
{
	struct postproc_result result = {0};
	char *paths[] = {(char *)dir};
	int code = postproc_analyze(paths, 1, mpix, 2, &result, e);
	if (ret_complete != NULL)
		*ret_complete = result.complete;
	free(result.json);
	return code;
}

static char *written(int leave_out)
{
	char *dir = make_directory();
	struct program *p = small();
	program_write(p, dir, 1100, leave_out);
	program_destroy(p);
	return dir;
}

Test(files, an_empty_directory_is_said_and_is_bad_input)
{
	struct error e;
	char *dir = make_directory();
	cr_expect_eq(run(dir, NULL, NULL, &e), -ENOENT);
	cr_expect_not_null(strstr(e.text, "no .mpic file"));
	remove_directory(dir);
}

Test(files, a_file_of_another_format_is_named)
{
	struct error e;
	char *dir = make_directory();
	FILE *f = fopen(file_in(dir, "x.mpic"), "w");
	fputs("this is a text and no trace, however long it may be, and so it must be refused\n", f);
	fclose(f);
	cr_expect_eq(run(dir, file_in(dir, "out.mpix"), NULL, &e), -EBADMSG);
	cr_expect_not_null(strstr(e.text, "x.mpic"));
	cr_expect_eq(access(file_in(dir, "out.mpix"), F_OK), -1);
	remove_directory(dir);
}

Test(files, a_missing_node_makes_the_result_partial)
{
	bool complete = true;
	struct error e;
	char *dir = written(1);
	cr_expect_eq(run(dir, NULL, &complete, &e), 0, "%s", e.text);
	cr_expect_not(complete);
	cJSON *root = analyse(dir);
	cr_expect_eq(at_path(root, "coverage.ranks_seen"), 2);
	cr_expect_eq(at_path(root, "coverage.ranks_expected"), 4);
	cr_expect_eq(at_path(root, "coverage.unmatched.program"), 0);
	cr_expect_gt(at_path(root, "coverage.unmatched.partner_missing"), 0);
	cr_expect_str_eq(cJSON_GetStringValue(node_at(root, "job.state")), "partial");
	cJSON_Delete(root);
	remove_directory(dir);
}

/* That nothing was found says little of two ranks, and nothing of how many there are. */
Test(files, with_a_missing_rank_it_is_not_known_whether_there_is_something_to_fix)
{
	for (int leave_out = -1; leave_out < 2; leave_out += 2) {
		char *dir = make_directory();
		struct program *p = program_create(2, 2);
		for (unsigned r = 0; r < 2; r++)
			program_coll(p, r,
				     (struct call){.op = "MPI_Barrier",
						   .from_us = 1e6,
						   .to_us = 1e6 + 5,
						   .peer = SIG_NO_ROOT,
						   .coll = COLL_BARRIER});
		program_write(p, dir, 2e6, leave_out);
		program_destroy(p);
		cJSON *root = analyse(dir);
		cr_expect_str_eq(text_at(root, "verdict"),
				 leave_out < 0 ? "nothing to fix" : "not known: 1 of 2 ranks are recorded");
		cJSON_Delete(root);
		remove_directory(dir);
	}
}

/* The one missing node of a step whose META tells this list of nodes; the test frees it. */
static char *missing_node(const char *nodelist)
{
	char *dir = make_directory();
	struct program *p = small();
	program_nodelist(p, nodelist);
	program_write(p, dir, 1100, 1);
	program_destroy(p);
	cJSON *root = analyse(dir);
	const cJSON *missing = node_at(root, "coverage.nodes_missing");
	cr_expect_eq(cJSON_GetArraySize(missing), 1, "%s", nodelist);
	const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(missing, 0));
	char *copy = strdup(name != NULL ? name : "no text");
	cJSON_Delete(root);
	remove_directory(dir);
	return copy;
}

Test(files, a_missing_node_is_named_where_the_list_of_nodes_tells)
{
	static const char *const rows[][2] = {
		{"n[0-1]", "n1"},	  {"big-7,n0", "big-7"},
		{"", "node 1"},		  {"n[0-5]", "node 1"}, /* the job's, of which the step had two */
		{"other[0-1]", "node 1"},			/* other names than those the nodes give themselves */
		{"n0,n[1-", "node 1"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *name = missing_node(rows[i][0]);
		cr_expect_str_eq(name, rows[i][1], "%s: %s", rows[i][0], name);
		free(name);
	}
}

/* n0.mpic of a directory, and another of that node, of which the last bytes are missing. */
static char *with_a_twin(const char *name, int cut_bytes)
{
	char *dir = written(-1), command[1200];
	snprintf(command, sizeof(command), "cp %s/n0.mpic %s/%s && truncate -s -%d %s/%s", dir, dir, name, cut_bytes,
		 dir, name);
	cr_assert_eq(system(command), 0);
	return dir;
}

Test(files, two_files_of_one_node_are_refused_by_name)
{
	struct error e;
	char *dir = with_a_twin("again.mpic", 0), one[1200], two[1200], *paths[] = {one, two};
	struct postproc_result result;
	snprintf(one, sizeof(one), "%s/n0.mpic", dir);
	snprintf(two, sizeof(two), "%s/again.mpic", dir);
	cr_expect_eq(postproc_analyze(paths, 2, NULL, 1, &result, &e), -EINVAL);
	cr_expect_not_null(strstr(e.text, "again.mpic"));
	cr_expect_not_null(strstr(e.text, "node n0"));
	remove_directory(dir);
}

/* An agent that was ended, and one that came after it, may have left one each. */
Test(files, of_two_files_of_one_node_in_a_directory_the_whole_one_is_read)
{
	static const struct {
		const char *name;
		int cut_bytes;
	} twins[] = {{"again.mpic", 0}, {"n0.2.mpic", 0}, {"again.mpic", 300}, {"n0.2.mpic", 300}};
	for (size_t i = 0; i < sizeof(twins) / sizeof(twins[0]); i++) {
		char *dir = with_a_twin(twins[i].name, twins[i].cut_bytes), wanted[1400];
		struct postproc_result result = {0};
		struct error e = {""};
		cr_assert_eq(postproc_analyze(&dir, 1, NULL, 1, &result, &e), 0, "%s", e.text);
		cJSON *root = cJSON_Parse(result.json);
		snprintf(wanted, sizeof(wanted), "%s/%s (", dir, twins[i].name);
		const char *reason = cJSON_GetStringValue(cJSON_GetArrayItem(node_at(root, "coverage.reasons"), 0));
		cr_assert_not_null(reason);
		cr_expect_eq(strncmp(reason, wanted, strlen(wanted)), 0, "%s", reason);
		cr_expect_not_null(strstr(reason, "is of node n0, too, and left out: "), "%s", reason);
		cr_expect(cJSON_IsFalse(node_at(root, "coverage.complete")));
		cr_expect_eq(at_path(root, "coverage.ranks_seen"), at_path(root, "coverage.ranks_expected"));
		cr_expect_eq(cJSON_GetArraySize(node_at(root, "coverage.nodes_missing")), 0);
		cJSON_Delete(root);
		free(result.json);
		remove_directory(dir);
	}
}

Test(files, files_of_two_steps_are_refused)
{
	struct error e;
	char *dir = written(1);
	struct program *p = small();
	program_job(p, "8");
	program_write(p, dir, 1100, 0);
	program_destroy(p);
	cr_expect_eq(run(dir, NULL, NULL, &e), -EINVAL);
	cr_expect_not_null(strstr(e.text, "different steps"));
	remove_directory(dir);
}

Test(files, a_killed_rank_is_said_with_its_signal)
{
	struct program *p = small();
	program_killed(p, 3, SIGKILL);
	cJSON *root = analyse_program(p, 1100);
	cJSON *reason;
	bool said = false;
	cJSON_ArrayForEach(reason, node_at(root, "coverage.reasons")) said |=
		strstr(reason->valuestring, "rank 3 was killed by signal 9") != NULL;
	cr_expect(said);
	cr_expect_eq(field(find(root, "per_rank", "rank", 3, NULL), "exit_status"), 137);
	cr_expect_eq(at_path(root, "summary.transfers"), 200);
	cJSON_Delete(root);
}

static off_t size_of(const char *path)
{
	struct stat st;
	cr_assert_eq(stat(path, &st), 0);
	return st.st_size;
}

Test(files, cut_anywhere_it_gives_a_partial_result_or_says_why_not)
{
	char *dir = written(-1);
	off_t len = size_of(file_in(dir, "n0.mpic"));
	for (off_t n = len - 1; n > 0; n -= 37) {
		struct error e = {0};
		bool complete = true;
		cr_assert_eq(truncate(file_in(dir, "n0.mpic"), n), 0);
		int code = run(dir, NULL, &complete, &e);
		cr_assert(code == 0 ? !complete : code == -EBADMSG && e.text[0] != '\0', "cut at %ld: %d %s", (long)n,
			  code, e.text);
	}
	remove_directory(dir);
}

/* A file that ends before the first EVENTS block, although snapshots of totals stand before that, or a whole one into
 * which none was put; without_totals: a process whose first snapshot was not there yet, or MPIC_NODE. */
static cJSON *analyse_without_events(uint32_t without_totals, bool whole)
{
	char *dir = written(-1);
	struct mpic_file f;
	_cleanup_buf_ struct buf out = {0};
	cr_assert_eq(mpic_open(file_in(dir, "n0.mpic"), &f, NULL), 0);
	mpic_append_magic(&out, f.id);
	for (size_t b = 0; b < f.nblocks; b++) {
		_cleanup_buf_ struct buf raw = {0};
		enum mpic_kind kind = f.blocks[b].kind;
		if (kind == MPIC_EVENTS || (kind == MPIC_END && !whole) ||
		    (kind == MPIC_PROFILE && f.blocks[b].process == without_totals))
			continue;
		cr_assert_eq(mpic_read(&f, &f.blocks[b], &raw, NULL), 0);
		char *count = memmem(raw.data, raw.len_bytes, "\"events\":51", 11);
		if (kind == MPIC_META && count != NULL)
			memcpy(count, "\"events\": 0", 11); /* as the snapshot says it that has no events yet */
		cr_assert_eq(mpic_append_block(&out, &f.blocks[b], raw.data, raw.len_bytes, 1, NULL), 0);
	}
	mpic_close(&f);
	FILE *to = fopen(file_in(dir, "n0.mpic"), "w");
	fwrite(out.data, 1, out.len_bytes, to);
	fclose(to);
	cJSON *root = analyse(dir);
	remove_directory(dir);
	return root;
}

static bool has_reason(const cJSON *root, const char *part)
{
	const cJSON *x;
	cJSON_ArrayForEach(x, node_at(root, "coverage.reasons")) if (strstr(x->valuestring, part) != NULL) return true;
	return false;
}

Test(files, calls_whose_events_were_not_written_yet_are_lost_and_not_zero)
{
	cJSON *root = analyse_without_events(MPIC_NODE, false);
	cr_expect_eq(at_path(root, "coverage.events"), 102);
	cr_expect_eq(at_path(root, "coverage.events_lost"), 102);
	cr_expect_eq(field(find_text(root, "operations", "op", "MPI_Sendrecv"), "calls"), 200);
	cr_expect(has_reason(root, "rank 0: only in the totals, because the file ends before their events: 51 calls"));
	cr_expect_eq(at_path(root, "coverage.unmatched.program"), 0, "no record here is whole");
	for (unsigned r = 0; r < 2; r++) {
		const cJSON *rank = find(root, "per_rank", "rank", r, NULL);
		cr_expect_eq(field(rank, "recorded_until_s"), 0, "it has no single call, and is not idle");
		cr_expect(cJSON_IsNull(cJSON_GetObjectItem(rank, "wait_s")), "whether it waited nobody knows");
		cr_expect(cJSON_IsNull(cJSON_GetObjectItem(rank, "completions")));
	}
	cJSON_Delete(root);
}

/* Of six calls of each of two ranks in two blocks, the second of which is not in the file of rank 1: it was cut. */
Test(files, from_the_last_event_on_single_calls_are_missing_where_the_file_ends_before_them)
{
	struct program *p = program_create(2, 1);
	for (unsigned i = 0; i < 6; i++)
		for (unsigned r = 0; r < 2; r++) {
			program_coll(p, r,
				     (struct call){.op = "MPI_Barrier",
						   .from_us = 10 * i,
						   .to_us = 10 * i + 6,
						   .peer = SIG_NO_ROOT,
						   .coll = COLL_BARRIER});
			if (r == 1 && i == 2)
				program_end_block(p, r, 0, BLOCK_WHOLE);
			if (r == 1 && i == 5)
				program_end_block(p, r, 0, BLOCK_LATER);
		}
	cJSON *root = analyse_program(p, 100);
	cr_expect_eq(at_path(root, "coverage.events_lost"), 3);
	cr_expect(cJSON_IsNull(cJSON_GetObjectItem(find(root, "per_rank", "rank", 0, NULL), "recorded_until_s")));
	cr_expect_float_eq(field(find(root, "per_rank", "rank", 1, NULL), "recorded_until_s"), 26e-6, 1e-9);
	cJSON_Delete(root);
}

Test(files, calls_whose_events_nobody_wrote_are_lost_in_a_whole_file_too)
{
	cJSON *root = analyse_without_events(MPIC_NODE, true);
	cr_expect_not(cJSON_IsTrue(node_at(root, "coverage.complete")));
	cr_expect_eq(at_path(root, "coverage.events_lost"), 102);
	cr_expect(
		has_reason(root, "rank 0: only in the totals, because the file does not have their events: 51 calls"));
	cr_expect_eq(at_path(root, "coverage.unmatched.program"), 0,
		     "nobody is blamed for messages that are not there");
	cJSON_Delete(root);
}

Test(files, a_rank_of_which_nothing_was_written_yet_computes_neither_much_nor_little)
{
	cJSON *whole = analyse_without_events(MPIC_NODE, false), *root = analyse_without_events(1, false);
	cr_expect(has_reason(root, "rank 1: neither totals nor events are in the record"));
	cr_expect_eq(at_path(root, "coverage.ranks_seen"), 4);
	cr_expect_float_eq(at_path(root, "efficiency.load_balance"), at_path(whole, "efficiency.load_balance"), 0.02,
			   "%g, with it %g", at_path(root, "efficiency.load_balance"),
			   at_path(whole, "efficiency.load_balance"));
	cJSON_Delete(whole);
	cJSON_Delete(root);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

Test(files, flipped_bytes_never_crash_it)
{
	char *dir = written(-1);
	off_t len = size_of(file_in(dir, "n0.mpic"));
	uint32_t random = 1;
	for (int i = 0; i < 300; i++) {
		struct error e = {0};
		FILE *f = fopen(file_in(dir, "n0.mpic"), "r+");
		off_t at = (off_t)(next_random(&random) % (uint32_t)len);
		fseek(f, at, SEEK_SET);
		int old = fgetc(f);
		fseek(f, at, SEEK_SET);
		fputc((int)(next_random(&random) & 0xff), f);
		fclose(f);
		run(dir, NULL, NULL, &e);
		f = fopen(file_in(dir, "n0.mpic"), "r+");
		fseek(f, at, SEEK_SET);
		fputc(old, f);
		fclose(f);
	}
	cr_expect_eq(run(dir, NULL, NULL, NULL), 0);
	remove_directory(dir);
}

/* A cut trace: the first META says who it was, later ones say what changed. */
Test(files, a_later_meta_replaces_what_it_says_and_nothing_else)
{
	cJSON *known = NULL;
	cr_assert(meta_supersede(&known, cJSON_Parse("{\"exe\":\"a\",\"state\":\"running\",\"threads\":[1]}")));
	cr_assert(meta_supersede(&known, cJSON_Parse("{\"state\":\"lost\",\"threads\":[1,2]}")));
	cr_assert_not(meta_supersede(&known, cJSON_Parse("[]")));
	cr_assert_not(meta_supersede(&known, NULL));
	cr_assert_str_eq(json_text(known, "exe", ""), "a");
	cr_assert_str_eq(json_text(known, "state", ""), "lost");
	cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(known, "threads")), 2);
	for (unsigned have = 3; have < MPIC_META_KEYS_MAX; have++) {
		char one[32];
		snprintf(one, sizeof(one), "{\"k%u\":1}", have);
		cr_assert(meta_supersede(&known, cJSON_Parse(one)));
	}
	cr_assert_not(meta_supersede(&known, cJSON_Parse("{\"more\":1}")));
	cJSON_Delete(known);
}

/* Damage behind the checksums: valid blocks with garbled contents. */
Test(files, garbled_contents_in_valid_blocks_never_crash_it)
{
	char *dir = written(-1);
	uint32_t random = 7;
	for (int i = 0; i < 300; i++) {
		struct mpic_file f;
		struct error e = {0};
		_cleanup_buf_ struct buf out = {0};
		cr_assert_eq(mpic_open(file_in(dir, "n1.mpic"), &f, &e), 0);
		mpic_append_magic(&out, f.id);
		for (size_t b = 0; b < f.nblocks; b++) {
			_cleanup_buf_ struct buf raw = {0};
			cr_assert_eq(mpic_read(&f, &f.blocks[b], &raw, &e), 0);
			for (int k = 0; k < 2 && raw.len_bytes > 0 && f.blocks[b].kind != MPIC_END; k++)
				raw.data[next_random(&random) % raw.len_bytes] = (uint8_t)next_random(&random);
			cr_assert_eq(mpic_append_block(&out, &f.blocks[b], raw.data, raw.len_bytes, 1, &e), 0);
		}
		mpic_close(&f);
		FILE *to = fopen(file_in(dir, "garbled.mpic"), "w");
		fwrite(out.data, 1, out.len_bytes, to);
		fclose(to);
		char *paths[2] = {strdup(file_in(dir, "n0.mpic")), strdup(file_in(dir, "garbled.mpic"))};
		struct postproc_result result = {0};
		postproc_analyze(paths, 2, file_in(dir, "out.mpix"), 1, &result, &e);
		free(result.json);
		free(paths[0]);
		free(paths[1]);
	}
	remove_directory(dir);
}

Test(files, a_full_disk_leaves_nothing_behind)
{
	struct error e = {0};
	char *dir = written(-1);
	struct rlimit small_file = {2000, 2000};
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small_file), 0);
	cr_expect_eq(run(dir, file_in(dir, "out.mpix"), NULL, &e), -EFBIG, "%s", e.text);
	char command[600];
	snprintf(command, sizeof(command), "test $(ls %s | wc -l) = 2", dir);
	cr_expect_eq(system(command), 0, "only the two inputs are left");
	remove_directory(dir);
}

Test(files, a_written_mpix_holds_events_messages_and_analysis)
{
	struct error e = {0};
	char *dir = written(-1);
	struct mpix_file *f;
	cr_assert_eq(run(dir, file_in(dir, "out.mpix"), NULL, &e), 0, "%s", e.text);
	cr_assert_eq(mpix_open(file_in(dir, "out.mpix"), &f, &e), 0, "%s", e.text);
	cr_expect_eq(mpix_info(f)->ranks, 4);
	cr_expect_not_null(strstr(mpix_analysis(f), "mpitrace/analysis/1"));
	mpix_close(f);
	remove_directory(dir);
}

/* `mpitrace analyze ARGS` in dir, or -1 when the test was not told where mpitrace is. */
static int command(const char *dir, const char *args)
{
	const char *mpitrace = getenv("MPITRACE");
	char line[2048];
	if (mpitrace == NULL)
		return -1;
	snprintf(line, sizeof(line), "cd %s && '%s' analyze %s 2>err", dir, mpitrace, args);
	return WEXITSTATUS(system(line));
}

static bool says(const char *dir, const char *words)
{
	char text[4096] = "";
	FILE *f = fopen(file_in(dir, "err"), "r");
	size_t n = f == NULL ? 0 : fread(text, 1, sizeof(text) - 1, f);
	if (f != NULL)
		fclose(f);
	text[n] = '\0';
	return strstr(text, words) != NULL;
}

Test(files, the_command_gives_the_exit_code_of_each_outcome)
{
	char *whole = written(-1), *partial = written(1), *empty = make_directory();
	if (command(whole, ". -o a.mpix --report a.html") >= 0) {
		cr_expect_eq(command(whole, ". -o a.mpix --report a.html"), 0);
		cr_expect_eq(access(file_in(whole, "a.html"), R_OK), 0);
		cr_expect_eq(command(partial, ". -o a.mpix"), 4);
		cr_expect_eq(access(file_in(partial, "a.mpix"), R_OK), 0);
		cr_expect(says(partial, "partial"));
		cr_expect_eq(command(empty, ". -o a.mpix"), 3);
		cr_expect(says(empty, "no .mpic file"));
		cr_expect_eq(command(whole, ""), 2);
		cr_expect_eq(command(whole, "."), 2);
		cr_expect_eq(command(whole, ". --threads many --json"), 2);
		cr_expect_eq(command(whole, ". --json >/dev/full"), 3);
		cr_expect_eq(command(whole, ". -o absent/a.mpix"), 3);
		cr_expect(says(whole, "absent"));
	}
	remove_directory(whole);
	remove_directory(partial);
	remove_directory(empty);
}
