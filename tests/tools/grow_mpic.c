/* grow_mpic.c DIRECTORY NODES RANKS_PER_NODE START_S GAP_S LISTED_NODES [TICKS] - writes .mpic files as agents of
 * many nodes would, sample by sample, for as many ranks as a test needs. Commands on standard input, "ok" for each:
 *
 *   sample K FIRST LAST   sample number K, at START_S + K * GAP_S, of nodes FIRST to LAST
 *   whole K FIRST LAST    the same by an agent that came back: counts from the start
 *   cut NODE BYTES        the file loses its last bytes
 *   junk NODE BYTES       bytes that are no block
 *   forge K FIRST LAST    sample K, and in it what is of no process, thread and signature that there are
 *   spoil K FIRST LAST    a sample that cannot be read
 *   end K FIRST LAST      the last sample, totals, and the end of the file
 *
 * At sample k rank r has sent k * (r % 3 + 1) messages of 8 bytes, 10 ticks each, and been in k barriers of r + 1
 * ticks. A tick is a nanosecond; all ticks are multiplied by TICKS, if it is given. At samples whose number is a
 * multiple of 5 it is in a barrier. */
#include "format/mpic.h"
#include "format/mpic_sample.h"
#include "format/sig.h"
#include "tests/tools/put_defs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_ID 7u
enum { SEND, BARRIER, SIGS };

struct grow {
	const char *dir;
	uint32_t nodes, ranks, listed;
	int64_t start_ns, gap_ns;
	uint64_t ticks;
};

static uint64_t calls_at(uint32_t rank, uint32_t sig, uint64_t k)
{
	return sig == SEND ? k * (rank % 3 + 1) : k;
}

static uint64_t ticks_of(const struct grow *g, uint32_t rank, uint32_t sig)
{
	return g->ticks * (sig == SEND ? 10 : rank + 1);
}

static void path_of(const struct grow *g, uint32_t node, char *ret_path, size_t size)
{
	snprintf(ret_path, size, "%s/n%u.mpic", g->dir, node);
}

static void append(const struct grow *g, uint32_t node, const struct buf *b)
{
	char path[4096];
	path_of(g, node, path, sizeof(path));
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, b->data, b->len_bytes) != (ssize_t)b->len_bytes) {
		perror(path);
		exit(3);
	}
	close(fd);
}

static void block(struct buf *out, enum mpic_kind kind, uint32_t process, uint64_t seq, const struct buf *payload)
{
	struct error e;
	struct mpic_block b = {.kind = kind, .process = process, .seq = seq};
	if (mpic_append_block(out, &b, payload->data, payload->len_bytes, 1, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		exit(3);
	}
}

static void put_sig(struct buf *out, uint32_t id, enum sig_shape shape, uint32_t kind)
{
	uint64_t words[6] = {(uint64_t)(id + 1) | (uint64_t)shape << 16 | (uint64_t)kind << 56, 0x1000 + id};
	if (shape == SIG_SEND) {
		words[3] = (uint64_t)1 << 32; /* to rank 0; tag 0, datatype 1 */
		words[4] = 1;
	}
	mpic_put_def_sig(out, id, words, 5);
}

static void put_process(const struct grow *g, struct buf *out, uint32_t index, uint32_t rank)
{
	_cleanup_buf_ struct buf meta = {0}, defs = {0};
	struct mpic_rank_run all = {0, 1, g->listed * g->ranks};
	struct mpic_def world = {.global_id = 1,
				 .parent = MPIC_NO_COMM,
				 .created_by = 1,
				 .size = all.count,
				 .my_rank = (int32_t)rank,
				 .runs = {(const uint8_t *)&all, sizeof(all)}};
	buf_printf(&meta,
		   "{\"pid\":%u,\"rank\":%u,\"size\":%u,\"world\":\"w\",\"namespace\":\"s\",\"host\":\"h\",\"exe\":"
		   "\"x\",\"state\":\"running\","
		   "\"start_tick\":\"0\",\"threads\":[{\"thread\":0}]}",
		   1000 + rank, rank, g->listed * g->ranks);
	block(out, MPIC_META, index, 0, &meta);
	mpic_put_def_name(&defs, MPIC_DEF_OP, 1, "MPI_Send");
	mpic_put_def_name(&defs, MPIC_DEF_OP, 2, "MPI_Barrier");
	mpic_put_def_comm(&defs, &world);
	mpic_put_def_datatype(&defs, 1, 8, (struct typesig){0}, "MPI_DOUBLE");
	put_sig(&defs, SEND, SIG_SEND, 0);
	put_sig(&defs, BARRIER, SIG_COLL, COLL_BARRIER);
	block(out, MPIC_DEFS, index, 0, &defs);
}

static void begin(const struct grow *g, uint32_t node)
{
	_cleanup_buf_ struct buf out = {0}, meta = {0}, clock = {0};
	mpic_append_magic(&out, FILE_ID + node);
	buf_printf(&meta,
		   "{\"node\":\"n%u\",\"nodeid\":%u,\"nnodes\":%u,\"ntasks\":%u,\"nodelist\":\"n[0-%u]\",\"job_id\":"
		   "\"1\",\"step_id\":\"0\","
		   "\"program\":\"x\",\"clock\":{\"source\":\"monotonic\"}}",
		   node, node, g->listed, g->listed * g->ranks, g->listed - 1);
	block(&out, MPIC_META, MPIC_NODE, 0, &meta);
	mpic_put_clock(&clock, &(struct mpic_clock){0, 0, g->start_ns});
	block(&out, MPIC_CLOCK, MPIC_NODE, 0, &clock);
	for (uint32_t i = 0; i < g->ranks; i++)
		put_process(g, &out, i, node * g->ranks + i);
	append(g, node, &out);
}

/* A block like any other, in which there is no sample. */
static void spoil(const struct grow *g, uint32_t node, uint64_t k)
{
	_cleanup_buf_ struct buf out = {0}, payload = {0};
	buf_str(&payload, "\xff\xff\xff");
	block(&out, MPIC_SAMPLE, MPIC_NODE, k, &payload);
	append(g, node, &out);
}

/* Behind the last process. Only what is of nobody: what a sample says of somebody is believed. */
static void put_nobody(const struct grow *g, struct buf *payload)
{
	for (uint32_t i = 0; i < 2; i++) {
		mpic_put_sample_process(payload, i == 0 ? g->ranks : MPIC_PROCESSES_MAX - 1, SAMPLE_RUNNING,
					UINT64_MAX);
		mpic_put_sample_thread(payload, 0);
		mpic_put_sample_total(payload, 0, 0, UINT64_MAX, UINT64_MAX);
		mpic_put_sample_open(payload, UINT64_MAX, MPIC_SIGS_MAX - 1, NULL, 0);
		mpic_put_sample_thread(payload, MPIC_THREADS_MAX - 1);
		mpic_put_sample_total(payload, 0, MPIC_SIGS_MAX - 1, UINT64_MAX, UINT64_MAX);
	}
}

static void sample(const struct grow *g, uint32_t node, uint64_t k, const char *what)
{
	_cleanup_buf_ struct buf out = {0}, payload = {0};
	int64_t at_ns = (int64_t)k * g->gap_ns;
	bool whole = strcmp(what, "whole") == 0, last = strcmp(what, "end") == 0, forged = strcmp(what, "forge") == 0;
	struct mpic_sample head = {(uint64_t)at_ns, at_ns, g->start_ns + at_ns, last ? 0 : (uint64_t)g->gap_ns, whole};
	mpic_put_sample(&payload, &head);
	for (uint32_t i = 0; i < g->ranks; i++) {
		uint32_t rank = node * g->ranks + i, next = 0;
		mpic_put_sample_process(&payload, i, last ? SAMPLE_FINALIZED : SAMPLE_RUNNING, 4096);
		mpic_put_sample_thread(&payload, 0);
		for (uint32_t s = 0; s < SIGS; s++) {
			uint64_t calls = calls_at(rank, s, k) - (whole ? 0 : calls_at(rank, s, k - 1));
			mpic_put_sample_total(&payload, next, s, calls, calls * ticks_of(g, rank, s));
			next = s + 1;
		}
		if (forged)
			mpic_put_sample_total(&payload, next, MPIC_SIGS_MAX - 1, UINT64_MAX, UINT64_MAX);
		if (k % 5 == 0 && !last)
			mpic_put_sample_open(&payload, 100, BARRIER, NULL, 0);
		mpic_put_sample_system(&payload, &(struct mpic_system){.cpu_ns = 1000, .wait_ns = 100, .slices = 1});
	}
	if (forged)
		put_nobody(g, &payload);
	block(&out, MPIC_SAMPLE, MPIC_NODE, k, &payload);
	append(g, node, &out);
}

static void end(const struct grow *g, uint32_t node, uint64_t k)
{
	_cleanup_buf_ struct buf out = {0}, payload = {0};
	sample(g, node, k, "end");
	for (uint32_t i = 0; i < g->ranks; i++) {
		_cleanup_buf_ struct buf totals = {0};
		for (uint32_t s = 0; s < SIGS; s++) {
			uint32_t rank = node * g->ranks + i;
			uint64_t calls = calls_at(rank, s, k);
			mpic_put_total(&totals, &(struct mpic_total){s, calls, calls * ticks_of(g, rank, s)});
		}
		block(&out, MPIC_PROFILE, i, 0, &totals);
	}
	buf_str(&payload, "{}");
	block(&out, MPIC_END, MPIC_NODE, FILE_ID + node, &payload);
	append(g, node, &out);
}

static int damage(const struct grow *g, uint32_t node, const char *how, off_t bytes)
{
	_cleanup_buf_ struct buf junk = {0};
	char path[4096];
	struct stat st;
	path_of(g, node, path, sizeof(path));
	if (strcmp(how, "cut") == 0)
		return stat(path, &st) != 0 || truncate(path, st.st_size - bytes) != 0 ? -1 : 0;
	for (off_t i = 0; i < bytes; i++)
		buf_u8(&junk, (uint8_t)(i * 37));
	append(g, node, &junk);
	return 0;
}

static int obey(const struct grow *g, const char *what, unsigned long long a, unsigned long long b,
		unsigned long long c)
{
	char path[4096];
	if (strcmp(what, "cut") == 0 || strcmp(what, "junk") == 0)
		return damage(g, (uint32_t)a, what, (off_t)b);
	for (uint32_t node = (uint32_t)b; node <= c && node < g->nodes; node++) {
		path_of(g, node, path, sizeof(path));
		if (access(path, F_OK) != 0)
			begin(g, node);
		if (strcmp(what, "end") == 0)
			end(g, node, a);
		else if (strcmp(what, "spoil") == 0)
			spoil(g, node, a);
		else
			sample(g, node, a, what);
	}
	return 0;
}

int main(int argc, char **argv)
{
	char what[16], line[256];
	unsigned long long a, b, c;
	if (argc != 7 && argc != 8) {
		fprintf(stderr, "grow_mpic DIRECTORY NODES RANKS_PER_NODE START_S GAP_S LISTED_NODES [TICKS]\n");
		return 2;
	}
	struct grow g = {argv[1],
			 (uint32_t)strtoul(argv[2], NULL, 10),
			 (uint32_t)strtoul(argv[3], NULL, 10),
			 (uint32_t)strtoul(argv[6], NULL, 10),
			 strtoll(argv[4], NULL, 10) * 1000000000,
			 (int64_t)(strtod(argv[5], NULL) * 1e9),
			 argc == 8 ? strtoull(argv[7], NULL, 10) : 1};
	while (fgets(line, sizeof(line), stdin) != NULL) {
		a = b = c = 0;
		if (sscanf(line, "%15s %llu %llu %llu", what, &a, &b, &c) < 3 || obey(&g, what, a, b, c) < 0)
			return 3;
		puts("ok");
		fflush(stdout);
	}
	return 0;
}
