/* make_mpix.c - write an .mpix whose content is known: a halo exchange on a periodic grid with an Allreduce every
 * tenth step. `make_mpix FILE COLUMNS ROWS STEPS [partial] [samples=N]`. Everything follows from the arguments:
 *
 *   ranks            COLUMNS * ROWS
 *   calls of a rank  2 (Init, Finalize) + STEPS * 9 (4 Irecv, 4 Isend, Waitall) + STEPS / 10 + 1 (Allreduce)
 *   messages         ranks * STEPS * 4, of 8192 bytes east and west, 65536 north and south
 *
 * Rank r computes for 1 ms * (1 + r / ranks) a step, so the last rank makes the others wait.
 *
 * N samples of equal length: a call is of the sample in which it ends, its time of all that it touches, so that all
 * together are the exact totals. Each rank has a processor nine tenths of a sample, and is ready without one for
 * r / ranks of the rest; it has 100 MiB, and 1 MiB more for each rank and each sample before. */
#include "base/buf.h"
#include "tests/tools/mpix_plain.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum op { INIT, FINALIZE, IRECV, ISEND, WAITALL, ALLREDUCE, OPS };
static const char *const op_names[OPS] = {"MPI_Init",  "MPI_Finalize", "MPI_Irecv",
					  "MPI_Isend", "MPI_Waitall",  "MPI_Allreduce"};
static const uint8_t op_class[OPS] = {MPIX_OTHER, MPIX_OTHER, MPIX_P2P, MPIX_P2P, MPIX_WAIT, MPIX_COLL};

#define LATENCY_NS 20000
#define START_NS 300
#define INIT_NS 5000000

#define SIDES 4

/* Signatures of every rank: Irecv and Isend have one for each side. */
enum sig {
	SIG_INIT,
	SIG_FINALIZE,
	SIG_IRECV,
	SIG_ISEND = SIG_IRECV + SIDES,
	SIG_WAITALL = SIG_ISEND + SIDES,
	SIG_ALLREDUCE,
	SIGS
};

struct rank_log {
	struct plain_event *events;
	uint32_t count;
	int64_t clock_ns, busy_ns, wait_ns;
	int64_t send_ns[SIDES];			 /* start of this step's sends: west, east, north, south */
	uint32_t send_at[SIDES], recv_at[SIDES]; /* events of this step */
	struct mpix_signature sigs[SIGS];
};

struct world {
	int columns, rows, ranks, steps;
	struct rank_log *logs;
	struct plain_link *links;
	struct plain_wait *waits;
	uint32_t nlinks, nwaits;
};

static const uint64_t side_bytes[4] = {8192, 8192, 65536, 65536};

static int neighbour(const struct world *w, int rank, int side)
{
	int x = rank % w->columns, y = rank / w->columns;
	x = (x + (side == 0 ? w->columns - 1 : side == 1 ? 1 : 0)) % w->columns;
	y = (y + (side == 2 ? w->rows - 1 : side == 3 ? 1 : 0)) % w->rows;
	return y * w->columns + x;
}

static uint32_t put(struct rank_log *l, uint32_t sig, int64_t ns)
{
	uint64_t enter = (uint64_t)l->clock_ns;
	l->events[l->count] = (struct plain_event){enter, enter + (uint64_t)ns, sig, 0, PLAIN_SIG_BYTES};
	l->clock_ns += ns;
	return l->count++;
}

static void set_signatures(const struct world *w, int rank)
{
	struct mpix_signature *sigs = w->logs[rank].sigs;
	for (uint32_t i = 0; i < SIGS; i++) {
		enum op op = i == SIG_INIT	 ? INIT
			     : i == SIG_FINALIZE ? FINALIZE
			     : i < SIG_ISEND	 ? IRECV
			     : i < SIG_WAITALL	 ? ISEND
			     : i == SIG_WAITALL	 ? WAITALL
						 : ALLREDUCE;
		sigs[i] = (struct mpix_signature){.peer = -1, .op = op, .callsite = op, .class = op_class[op]};
		uint32_t side = (i - SIG_IRECV) % SIDES;
		if (op != IRECV && op != ISEND)
			continue;
		sigs[i].peer = neighbour(w, rank, (int)side);
		sigs[i].tag = (int32_t)(op == ISEND ? side : side ^ 1);
		sigs[i].bytes = side_bytes[side];
		sigs[i].message_bytes = op == ISEND ? side_bytes[side] : 0;
	}
	sigs[SIG_ALLREDUCE].bytes = 8;
	sigs[SIG_ALLREDUCE].flags = MPIX_COLLECTIVE;
}

static void compute(struct rank_log *l, int64_t ns)
{
	l->clock_ns += ns;
	l->busy_ns += ns;
}

static void post(const struct world *w, int rank, enum op op)
{
	struct rank_log *l = &w->logs[rank];
	for (uint32_t side = 0; side < SIDES; side++) {
		if (op == ISEND)
			l->send_ns[side] = l->clock_ns;
		uint32_t at = put(l, (op == ISEND ? SIG_ISEND : SIG_IRECV) + side, START_NS + side * 40);
		*(op == ISEND ? &l->send_at[side] : &l->recv_at[side]) = at;
	}
}

static void wait_all(struct world *w, int rank)
{
	struct rank_log *l = &w->logs[rank];
	struct plain_place here = {(uint32_t)rank, l->count}, causer = {0, PLAIN_NONE};
	int64_t last = l->clock_ns + 1000, begin = l->clock_ns;
	for (int side = 0; side < SIDES; side++) {
		const struct rank_log *from = &w->logs[neighbour(w, rank, side)];
		struct plain_place send = {(uint32_t)(from - w->logs), from->send_at[side ^ 1]};
		int64_t done = from->send_ns[side ^ 1] + LATENCY_NS;
		if (done > last)
			causer = send;
		last = done > last ? done : last;
		w->links[w->nlinks++] = (struct plain_link){{(uint32_t)rank, l->recv_at[side]},
							    here,
							    send,
							    {send.lane, from->send_at[SIDES - 1] + 1},
							    MPIX_OF_START};
	}
	put(l, SIG_WAITALL, last - begin);
	int64_t ns = last - begin > LATENCY_NS ? last - begin - LATENCY_NS : 0;
	if (ns > 0) /* late_sender */
		w->waits[w->nwaits++] = (struct plain_wait){here, causer, 1, MPIX_WAIT_NS, ns};
	l->wait_ns += ns;
}

static void allreduce(struct world *w)
{
	int64_t last = 0;
	for (int r = 0; r < w->ranks; r++)
		last = w->logs[r].clock_ns > last ? w->logs[r].clock_ns : last;
	for (int r = 0; r < w->ranks; r++) {
		struct rank_log *l = &w->logs[r];
		int64_t ns = last - l->clock_ns;
		if (ns > 0) /* wait_at_nxn */
			w->waits[w->nwaits++] =
				(struct plain_wait){{(uint32_t)r, l->count}, {0, PLAIN_NONE}, 6, MPIX_WAIT_NS, ns};
		put(l, SIG_ALLREDUCE, ns + 15000);
		l->wait_ns += ns;
	}
}

static void step(struct world *w, int number)
{
	for (int r = 0; r < w->ranks; r++) {
		compute(&w->logs[r], 1000000 + 1000000ll * r / w->ranks + (number * 7919 + r * 104729) % 50000);
		post(w, r, IRECV);
		post(w, r, ISEND);
	}
	for (int r = 0; r < w->ranks; r++)
		wait_all(w, r);
	if (number % 10 == 9)
		allreduce(w);
}

static void simulate(struct world *w)
{
	for (int r = 0; r < w->ranks; r++)
		put(&w->logs[r], SIG_INIT, INIT_NS);
	for (int i = 0; i < w->steps; i++)
		step(w, i);
	allreduce(w);
	for (int r = 0; r < w->ranks; r++)
		put(&w->logs[r], SIG_FINALIZE, 200000);
}

/* ---- the analysis ---- */

struct totals {
	double calls[OPS], seconds[OPS], bytes[OPS], wait[OPS];
	double busy_s, busy_max_s, runtime_s;
};

static struct totals add_up(const struct world *w)
{
	struct totals t = {0};
	for (int r = 0; r < w->ranks; r++) {
		const struct rank_log *l = &w->logs[r];
		for (uint32_t i = 0; i < l->count; i++) {
			const struct plain_event *x = &l->events[i];
			const struct mpix_signature *sig = &l->sigs[x->sig];
			t.calls[sig->op] += 1;
			t.seconds[sig->op] += (double)(x->leave - x->enter) * 1e-9;
			t.bytes[sig->op] += (double)sig->bytes;
		}
		double busy = (double)l->busy_ns * 1e-9, end = (double)l->clock_ns * 1e-9;
		t.busy_s += busy;
		t.busy_max_s = busy > t.busy_max_s ? busy : t.busy_max_s;
		t.runtime_s = end > t.runtime_s ? end : t.runtime_s;
	}
	for (uint32_t i = 0; i < w->nwaits; i++) {
		const struct plain_wait *x = &w->waits[i];
		const struct rank_log *l = &w->logs[x->at.lane];
		t.wait[l->sigs[l->events[x->at.event].sig].op] += (double)x->ns * 1e-9;
	}
	return t;
}

static void put_job(struct buf *b, const struct world *w, const struct totals *t, bool partial)
{
	double calls = 0;
	for (int i = 0; i < OPS; i++)
		calls += t->calls[i];
	buf_printf(b,
		   "{\"schema\":\"mpitrace/analysis/"
		   "1\",\"job\":{\"cluster\":\"example\",\"job_id\":\"4711\","
		   "\"step_id\":\"0\",\"program\":\"/home/ada/halo\",\"argv\":[\"./"
		   "halo\",\"--steps\",\"%d\"],"
		   "\"nodes\":[\"n1\",\"n2\"],\"ranks\":%d,\"start\":\"2026-03-14T09:26:53Z\","
		   "\"elapsed_s\":%.6f,\"state\":\"%s\",\"mpi\":\"Open MPI 4.1.4\"},",
		   w->steps, w->ranks, t->runtime_s, partial ? "partial" : "completed");
	buf_printf(b,
		   "\"coverage\":{\"complete\":%s,\"ranks_expected\":%d,\"ranks_seen\":%d,"
		   "\"events\":%.0f,"
		   "\"events_lost\":%d,\"nodes_missing\":[],\"reasons\":[%s]},",
		   partial ? "false" : "true", w->ranks, w->ranks, calls, partial ? 1234 : 0,
		   partial ? "\"rank 3 was killed by signal 9: its last calls are missing\"" : "");
	buf_printf(b, "\"clock\":{\"method\":\"hull\",\"error_bound_us\":1.8},"
		      "\"overhead\":{\"ns_per_call\":85,\"share\":0.0011},");
}

static void put_efficiency(struct buf *b, const struct world *w, const struct totals *t)
{
	double mean = t->busy_s / w->ranks;
	buf_printf(b,
		   "\"summary\":{\"transfers\":%llu,\"bytes\":%.0f,\"collectives\":%.0f,"
		   "\"barriers\":0,"
		   "\"runtime_s\":%.6f},",
		   (unsigned long long)w->nlinks, t->bytes[ISEND], t->calls[ALLREDUCE], t->runtime_s);
	buf_printf(b,
		   "\"efficiency\":{\"load_balance\":%.4f,\"communication\":%.4f,\"parallel\":%.4f,"
		   "\"serialization\":null,\"transfer\":null,\"note\":\"\"},",
		   mean / t->busy_max_s, t->busy_max_s / t->runtime_s, mean / t->runtime_s);
}

static void put_operations(struct buf *b, const struct totals *t)
{
	buf_str(b, "\"operations\":[");
	for (int i = 0; i < OPS; i++)
		buf_printf(b, "%s{\"op\":\"%s\",\"calls\":%.0f,\"time_s\":%.6f,\"bytes\":%.0f}", i > 0 ? "," : "",
			   op_names[i], t->calls[i], t->seconds[i], t->bytes[i]);
	buf_str(b, "],\"callsites\":[");
	for (int i = 0; i < OPS; i++)
		buf_printf(b,
			   "%s{\"id\":%d,\"op\":\"%s\",\"file\":\"src/"
			   "halo.c\",\"line\":%d,\"function\":\"%s\","
			   "\"module\":\"halo\",\"calls\":%.0f,\"time_s\":%.6f,\"bytes\":%.0f,"
			   "\"wait_s\":%.6f}",
			   i > 0 ? "," : "", i, op_names[i], 40 + i * 7, i < 2 ? "main" : "exchange", t->calls[i],
			   t->seconds[i], t->bytes[i], t->wait[i]);
	buf_str(b, "],\"communicators\":[{\"id\":0,\"name\":\"MPI_COMM_WORLD\",\"size\":0}],");
}

static void put_ranks(struct buf *b, const struct world *w)
{
	buf_str(b, "\"per_rank\":[");
	for (int r = 0; r < w->ranks; r++) {
		const struct rank_log *l = &w->logs[r];
		double s = (double)l->busy_ns * 1e-9, all = (double)l->clock_ns * 1e-9;
		buf_printf(b,
			   "%s{\"rank\":%d,\"node\":\"n%d\",\"useful_s\":%.6f,\"mpi_s\":%.6f,"
			   "\"wait_s\":%.6f}",
			   r > 0 ? "," : "", r, 1 + 2 * r / w->ranks, s, all - s, (double)l->wait_ns * 1e-9);
	}
	buf_str(b, "],");
}

static void put_matrix(struct buf *b, const struct world *w)
{
	const char *comma = "";
	buf_str(b, "\"matrix\":{\"p2p\":[");
	for (int r = 0; r < w->ranks; r++)
		for (int side = 0; side < 4; side++, comma = ",")
			buf_printf(b, "%s{\"src\":%d,\"dst\":%d,\"messages\":%d,\"bytes\":%llu}", comma, r,
				   neighbour(w, r, side), w->steps,
				   (unsigned long long)side_bytes[side] * (unsigned)w->steps);
	buf_str(b, "],\"collective\":[");
	comma = "";
	for (int r = 0; r < w->ranks && w->ranks <= 128; r++)
		for (int d = 0; d < w->ranks; d++) {
			if (d == r)
				continue;
			buf_printf(b, "%s{\"src\":%d,\"dst\":%d,\"operations\":%d,\"bytes\":%d}", comma, r, d,
				   w->steps / 10 + 1, 8 * (w->steps / 10 + 1));
			comma = ",";
		}
	buf_str(b, "]},");
}

static void put_issues(struct buf *b, const struct world *w, const struct totals *t)
{
	double loss = (t->busy_max_s - t->busy_s / w->ranks) * w->ranks;
	buf_str(b, "\"wait_states\":[");
	for (int r = 0; r < w->ranks; r++)
		buf_printf(b,
			   "%s{\"state\":\"late_sender\",\"rank\":%d,\"count\":%d,\"seconds\":%.6f,"
			   "\"callsite\":4}",
			   r > 0 ? "," : "", r, w->steps, (double)w->logs[r].wait_ns * 1e-9);
	buf_printf(b,
		   "],\"issues\":[{\"issue\":\"load_imbalance\",\"title\":\"uneven work between "
		   "ranks\",\"severity\":\"high\",\"score\":0.8,"
		   "\"loss_s\":%.6f,\"ranks\":[%d],\"pairs\":[],\"callsites\":[4],\"window_s\":[0.005,"
		   "%.6f],"
		   "\"what\":\"Ranks compute for different lengths of time; rank %d computes "
		   "longest.\","
		   "\"why\":\"Everyone waits for the slowest neighbour in MPI_Waitall.\","
		   "\"next\":\"Give rank %d a smaller part of the grid.\",\"metric\":{\"name\":"
		   "\"load_balance\",\"value\":%.3f,\"threshold\":0.8}}],\"patterns\":[{\"pattern\":"
		   "\"halo\","
		   "\"score\":0.98,\"grid\":[%d,%d],\"periodic\":[true,true]}]}",
		   loss, w->ranks - 1, t->runtime_s, w->ranks - 1, w->ranks - 1, t->busy_s / w->ranks / t->busy_max_s,
		   w->columns, w->rows);
}

/* ---- samples ---- */

static uint32_t sample_of(int64_t ns, int64_t runtime_ns, uint32_t nsamples)
{
	uint32_t at = (uint32_t)((double)ns / (double)runtime_ns * nsamples);
	return at < nsamples ? at : nsamples - 1;
}

static int64_t sample_start(uint32_t s, int64_t runtime_ns, uint32_t nsamples)
{
	return runtime_ns * s / nsamples;
}

/* cells: those of the call in the first sample, and each so many further of the next one. */
static void add_time(struct mpix_sample_cell *cells, size_t stride, const struct plain_event *x, int64_t runtime_ns,
		     uint32_t nsamples)
{
	uint32_t first = sample_of((int64_t)x->enter, runtime_ns, nsamples);
	for (uint32_t s = first > 0 ? first - 1 : 0; s < nsamples; s++) {
		int64_t start = sample_start(s, runtime_ns, nsamples), end = sample_start(s + 1, runtime_ns, nsamples);
		int64_t from = (int64_t)x->enter > start ? (int64_t)x->enter : start;
		int64_t to = (int64_t)x->leave < end || s == nsamples - 1 ? (int64_t)x->leave : end;
		if (to > from)
			cells[s * stride].ticks += (uint64_t)(to - from);
		if ((int64_t)x->leave <= end)
			break;
	}
}

/* Call sites have the numbers of operations. */
static void fill_cells(const struct world *w, struct mpix_sample_cell *cells, uint32_t nsamples, int64_t runtime_ns)
{
	for (int r = 0; r < w->ranks; r++)
		for (uint32_t i = 0; i < w->logs[r].count; i++) {
			const struct plain_event *x = &w->logs[r].events[i];
			const struct mpix_signature *sig = &w->logs[r].sigs[x->sig];
			uint32_t s = sample_of((int64_t)x->leave, runtime_ns, nsamples);
			struct mpix_sample_cell *c = &cells[((size_t)s * (size_t)w->ranks + (size_t)r) * OPS + sig->op];
			c->calls++;
			c->bytes += sig->bytes;
			add_time(cells + (size_t)r * OPS + sig->op, (size_t)w->ranks * OPS, x, runtime_ns, nsamples);
		}
	for (uint32_t i = 0; i < w->nwaits; i++) {
		const struct plain_wait *x = &w->waits[i];
		const struct rank_log *l = &w->logs[x->at.lane];
		const struct plain_event *event = &l->events[x->at.event];
		uint32_t s = sample_of((int64_t)event->leave, runtime_ns, nsamples);
		cells[((size_t)s * (size_t)w->ranks + x->at.lane) * OPS + l->sigs[event->sig].op].wait_ns +=
			(uint64_t)x->ns;
	}
}

/* Cells without calls are left out. To be given to free_samples(). */
static struct mpix_sample *make_samples(const struct world *w, uint32_t n, int64_t runtime_ns)
{
	size_t ranks = (size_t)w->ranks;
	struct mpix_sample_cell *cells = calloc(n * ranks * OPS, sizeof(*cells));
	struct mpix_sample_thread *threads = calloc(n * ranks, sizeof(*threads));
	struct mpix_sample *samples = calloc(n, sizeof(*samples));
	fill_cells(w, cells, n, runtime_ns);
	for (uint32_t s = 0; s < n; s++) {
		int64_t start = runtime_ns * s / n, end = runtime_ns * (s + 1) / n;
		samples[s] = (struct mpix_sample){s + 1, 1, (uint32_t)ranks, start, end, threads + s * ranks};
		for (uint32_t r = 0; r < ranks; r++) {
			struct mpix_sample_cell *of = cells + (s * ranks + r) * OPS;
			uint32_t kept = 0;
			for (uint32_t op = 0; op < OPS; op++) {
				of[op].op = of[op].callsite = op;
				if (of[op].calls > 0 || of[op].ticks > 0)
					of[kept++] = of[op];
			}
			uint64_t length = (uint64_t)(end - start);
			threads[s * ranks + r] = (struct mpix_sample_thread){r,
									     kept,
									     MPIX_SAMPLE_SYSTEM | MPIX_SAMPLE_RESIDENT,
									     length * 9 / 10,
									     length * r / ranks / 10,
									     (100ull + r + s) << 20,
									     of};
		}
	}
	return samples;
}

static void free_samples(struct mpix_sample *samples)
{
	if (samples == NULL)
		return;
	free((void *)samples[0].threads[0].cells);
	free((void *)samples[0].threads);
	free(samples);
}

/* ---- the file ---- */

/* Windows of about as many events as the analysis makes them. */
static uint32_t windows_for(const struct world *w)
{
	uint64_t events = 0, groups = (uint64_t)w->ranks / MPIX_GROUP_RANKS + 1;
	for (int r = 0; r < w->ranks; r++)
		events += w->logs[r].count;
	return (uint32_t)(events / groups / MPIX_CHUNK_RECORDS + 1);
}

static int write_file(struct world *w, const char *path, const char *json, int64_t runtime_ns, uint32_t nsamples)
{
	uint32_t ranks = (uint32_t)w->ranks;
	struct plain_lane *lanes = calloc(ranks, sizeof(*lanes));
	const struct mpix_signature **sigs = calloc(ranks, sizeof(const struct mpix_signature *));
	uint32_t *nsigs = calloc(ranks, sizeof(*nsigs)), *places = calloc(ranks, sizeof(*places));
	const struct mpix_clock_knot knot = {0, 0, 1};
	const struct mpix_clock clock = {0, &knot, 1};
	struct error e;
	struct plain_trace t = {.lanes = lanes,
				.sigs = sigs,
				.nsigs = nsigs,
				.links = w->links,
				.waits = w->waits,
				.nlinks = w->nlinks,
				.nwaits = w->nwaits,
				.windows = windows_for(w),
				.threads = 1};
	for (uint32_t r = 0; r < ranks; r++) {
		lanes[r] = (struct plain_lane){w->logs[r].events, w->logs[r].count};
		sigs[r] = w->logs[r].sigs;
		nsigs[r] = SIGS;
		places[r] = 2 * r / ranks; /* as per_rank says */
		t.info.events_expected += w->logs[r].count;
	}
	t.info.ranks = ranks;
	t.info.runtime_ns = runtime_ns;
	t.info.ops = op_names;
	t.info.nops = OPS;
	t.info.clocks = &clock;
	t.info.nclocks = 1;
	t.info.places = 2;
	t.info.place_of_rank = places;
	struct mpix_sample *samples = nsamples > 0 ? make_samples(w, nsamples, runtime_ns) : NULL;
	t.samples = samples;
	t.nsamples = nsamples;
	int rc = plain_write(path, &t, json, &e);
	if (rc < 0)
		fprintf(stderr, "make_mpix: %s\n", e.text);
	free_samples(samples);
	free(lanes);
	free(sigs);
	free(nsigs);
	free(places);
	return rc < 0;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return fprintf(stderr, "usage: make_mpix FILE COLUMNS ROWS STEPS [partial] [samples=N]\n"), 2;
	bool partial = false;
	uint32_t nsamples = 0;
	for (int i = 5; i < argc; i++)
		if (strncmp(argv[i], "samples=", 8) == 0)
			nsamples = (uint32_t)atoi(argv[i] + 8);
		else
			partial = true;
	struct world w = {.columns = atoi(argv[2]), .rows = atoi(argv[3]), .steps = atoi(argv[4])};
	struct buf json = {0};
	w.ranks = w.columns * w.rows;
	w.logs = calloc((size_t)w.ranks, sizeof(*w.logs));
	w.links = calloc((size_t)w.ranks * (size_t)w.steps * 4 + 1, sizeof(*w.links));
	w.waits = calloc((size_t)w.ranks * ((size_t)w.steps * 2 + 2), sizeof(*w.waits));
	for (int r = 0; r < w.ranks; r++) {
		w.logs[r].events = calloc((size_t)w.steps * 10 + 16, sizeof(struct plain_event));
		set_signatures(&w, r);
	}
	simulate(&w);
	struct totals t = add_up(&w);
	put_job(&json, &w, &t, partial);
	put_efficiency(&json, &w, &t);
	put_operations(&json, &t);
	put_ranks(&json, &w);
	put_matrix(&json, &w);
	put_issues(&json, &w, &t);
	buf_u8(&json, 0);
	int rc = write_file(&w, argv[1], (const char *)json.data, (int64_t)(t.runtime_s * 1e9 + 0.5), nsamples);
	buf_done(&json);
	for (int r = 0; r < w.ranks; r++)
		free(w.logs[r].events);
	free(w.logs);
	free(w.links);
	free(w.waits);
	return rc;
}
