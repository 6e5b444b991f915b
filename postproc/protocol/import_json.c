/* import_json.c - the analysis object of an imported trace: what its events tell, and null for what they do not. */
#include "format/efficiencies.h"
#include "postproc/protocol/import.h"

#define PAIRS_MAX 65536u

static void put_known(cJSON *o, const char *name, bool known, double value)
{
	json_put_null_or(o, name, known ? value : __builtin_nan(""));
}

static void put_empty(cJSON *o, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_array(o, names[i]);
}

static void put_job(const struct import *x, cJSON *a)
{
	cJSON *o = json_object(a, "job");
	cJSON_AddNullToObject(o, "cluster");
	cJSON_AddNullToObject(o, "job_id");
	cJSON_AddNullToObject(o, "step_id");
	cJSON_AddNullToObject(o, "restart");
	json_put_text(o, "program", x->program != NULL ? x->program : x->file);
	json_array(o, "argv");
	json_put(o, "argv_missing_bytes", 0);
	cJSON *nodes = json_array(o, "nodes");
	for (size_t i = 0; i < x->nodes.n; i++)
		json_push_text(nodes, x->nodes.at[i]);
	json_put(o, "ranks", x->nranks);
	cJSON_AddNullToObject(o, "start");
	put_known(o, "elapsed_s", x->has_times, (double)import_runtime_ns(x) * 1e-9);
	cJSON_AddNullToObject(o, "mpi");
	cJSON_AddNullToObject(o, "slurm");
	json_put_text(o, "state", "partial");
	json_put_text(o, "imported", x->format);
}

static void put_unmatched(const struct import *x, cJSON *coverage)
{
	static const char *const unknown[] = {"partner_missing", "record_cut",	"unknown_source",
					      "program",	 "collectives", "collectives_differ",
					      "cancelled",	 "proc_null",	"outside_world"};
	cJSON *o = json_object(coverage, "unmatched");
	json_put(o, "sends", (double)x->unmatched_sends);
	json_put(o, "receives", (double)x->unmatched_receives);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		cJSON_AddNullToObject(o, unknown[i]);
}

static void put_coverage(const struct import *x, cJSON *a)
{
	cJSON *o = json_object(a, "coverage");
	uint32_t seen = 0;
	for (uint32_t r = 0; r < x->nranks; r++)
		seen += x->ranks[r].seen;
	cJSON_AddFalseToObject(o, "complete");
	json_put(o, "ranks_expected", x->nranks);
	json_put(o, "ranks_seen", seen);
	json_array(o, "nodes_missing");
	json_put(o, "events", (double)x->events);
	cJSON_AddNullToObject(o, "events_lost");
	cJSON_AddNullToObject(o, "calls_before_init");
	cJSON *reasons = json_array(o, "reasons");
	for (size_t i = 0; i < x->reasons.n; i++)
		json_push_text(reasons, x->reasons.at[i]);
	put_unmatched(x, o);
}

static void put_clock(const struct import *x, cJSON *a)
{
	static const char *const counts[] = {"violations", "violations_repaired", "events_moved", "nodes_unlinked",
					     "largest_violation_us"};
	cJSON *o = json_object(a, "clock");
	json_put_text(o, "method", x->has_times ? "as the imported file says" : "none: steps of a logical clock");
	cJSON_AddNullToObject(o, "error_bound_us");
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		json_put(o, counts[i], 0);
	o = json_object(a, "overhead");
	cJSON_AddNullToObject(o, "ns_per_call");
	cJSON_AddNullToObject(o, "share");
}

static void put_efficiency(cJSON *a)
{
	static const char *const names[] = {"region_s", "useful_max_s", "useful_mean_s"};
	cJSON *o = json_object(a, "efficiency");
	for (size_t i = 0; i < efficiency_count; i++)
		cJSON_AddNullToObject(o, efficiency_rows[i].name);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cJSON_AddNullToObject(o, names[i]);
	json_put_text(o, "note", "The imported file does not say how long calls took.");
	o = json_object(a, "critical_path");
	json_put_text(o, "note", "The imported file does not say how long calls took.");
	static const char *const path[] = {"length_s", "useful_s", "mpi_s", "jumps", "imbalance_s"};
	for (size_t i = 0; i < sizeof(path) / sizeof(*path); i++)
		cJSON_AddNullToObject(o, path[i]);
	put_empty(o, (const char *const[]){"per_rank", "callsites", "segments"}, 3);
	json_put(o, "segments_left_out", 0);
}

/* ---- tables ---- */

struct sums {
	uint64_t calls, bytes;
};

struct rank_sums {
	uint64_t messages_out, messages_in, bytes_out, bytes_in, barriers, collectives;
	uint32_t peers;
};

static void put_operations(const struct import *x, cJSON *a, struct sums *sums)
{
	cJSON *list = json_array(a, "operations");
	for (uint32_t r = 0; r < x->nranks; r++)
		for (size_t i = 0; i < x->ranks[r].events.n; i++) {
			const struct import_event *ev = &x->ranks[r].events.at[i];
			sums[ev->op].calls++;
			sums[ev->op].bytes += ev->send_bytes + ev->recv_bytes;
		}
	for (size_t i = 0; i < x->ops.n; i++) {
		if (sums[i].calls == 0)
			continue;
		cJSON *row = json_row(list);
		json_put_text(row, "op", x->ops.at[i].name);
		json_put(row, "calls", (double)sums[i].calls);
		cJSON_AddNullToObject(row, "time_s");
		put_known(row, "bytes", x->has_bytes, (double)sums[i].bytes);
	}
}

static void put_callsites(const struct import *x, cJSON *a, const struct import_site *sites, size_t nsites)
{
	static const char *const unknown[] = {"file", "function", "module", "address", "time_s", "bytes", "wait_s"};
	cJSON *list = json_array(a, "callsites");
	for (size_t i = 0; i < nsites; i++) {
		cJSON *row = json_row(list);
		json_put(row, "id", (double)i);
		json_put_text(row, "op", x->ops.at[sites[i].op].name);
		json_put(row, "line", sites[i].line);
		json_put(row, "calls", (double)sites[i].calls);
		for (size_t k = 0; k < sizeof(unknown) / sizeof(*unknown); k++)
			cJSON_AddNullToObject(row, unknown[k]);
	}
}

static void sum_rank(const struct import *x, uint32_t r, struct rank_sums *to)
{
	for (size_t i = 0; i < x->ranks[r].events.n; i++) {
		const struct import_event *ev = &x->ranks[r].events.at[i];
		const struct import_op *op = &x->ops.at[ev->op];
		to[r].barriers += op->collective && op->class == MPIX_SYNC;
		to[r].collectives += op->collective && op->class != MPIX_SYNC;
	}
}

static void put_rank(const struct import *x, cJSON *list, uint32_t r, const struct rank_sums *s)
{
	static const char *const unknown[] = {
		"useful_s",    "mpi_s",	      "wait_s", "caused_wait_s",	"startup_s",
		"completions", "exit_status", "cpus",	"collective_bytes_out", "collective_bytes_in"};
	const struct import_rank *rank = &x->ranks[r];
	cJSON *row = json_row(list);
	json_put(row, "rank", r);
	json_put_text(row, "node", rank->node != IMPORT_NONE ? x->nodes.at[rank->node] : NULL);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		cJSON_AddNullToObject(row, unknown[i]);
	json_put(row, "messages_out", (double)s->messages_out);
	json_put(row, "messages_in", (double)s->messages_in);
	put_known(row, "bytes_out", x->has_bytes, (double)s->bytes_out);
	put_known(row, "bytes_in", x->has_bytes, (double)s->bytes_in);
	json_put(row, "peers", s->peers);
	json_put(row, "barriers", (double)s->barriers);
	json_put(row, "collectives", (double)s->collectives);
	json_put(row, "calls", (double)rank->events.n);
	json_put_text(row, "state", rank->seen ? "unknown" : "missing");
}

/* ---- who sends to whom ---- */

struct pair {
	uint32_t src, dst;
	uint64_t messages, bytes;
};

struct pairs {
	struct pair *at;
	size_t n, cap;
};

/* Links stand by (source, destination). */
static int find_pairs(const struct import *x, struct pairs *to)
{
	for (size_t i = 0; i < x->links.n; i++) {
		const struct import_link *l = &x->links.at[i];
		struct pair *last = to->n > 0 ? &to->at[to->n - 1] : NULL;
		uint64_t bytes = x->ranks[l->src].events.at[l->send].send_bytes;
		if (last != NULL && last->src == l->src && last->dst == l->dst) {
			last->messages++;
			last->bytes += bytes;
		} else if (vec_push(to, (struct pair){l->src, l->dst, 1, bytes}) < 0) {
			return -ENOMEM;
		}
	}
	return 0;
}

static void put_matrix(const struct import *x, cJSON *a, const struct pairs *pairs)
{
	cJSON *o = json_object(a, "matrix"), *list = json_array(o, "p2p");
	size_t n = pairs->n < PAIRS_MAX ? pairs->n : PAIRS_MAX;
	for (size_t i = 0; i < n; i++) {
		cJSON *row = json_row(list);
		json_put(row, "src", pairs->at[i].src);
		json_put(row, "dst", pairs->at[i].dst);
		json_put(row, "messages", (double)pairs->at[i].messages);
		put_known(row, "bytes", x->has_bytes, (double)pairs->at[i].bytes);
	}
	put_empty(o, (const char *const[]){"collective", "rma"}, 2);
	json_put(o, "p2p_pairs_left_out", (double)(pairs->n - n));
	json_put(o, "collective_pairs_left_out", 0);
	json_put(o, "rma_pairs_left_out", 0);
}

static void sum_pairs(const struct pairs *pairs, struct rank_sums *sums)
{
	for (size_t i = 0; i < pairs->n; i++) {
		const struct pair *p = &pairs->at[i];
		sums[p->src].messages_out += p->messages;
		sums[p->dst].messages_in += p->messages;
		sums[p->src].bytes_out += p->bytes;
		sums[p->dst].bytes_in += p->bytes;
	}
}

static int by_ranks(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return (x->dst > y->dst) - (x->dst < y->dst);
}

static bool has_pair(const struct pairs *pairs, uint32_t src, uint32_t dst)
{
	struct pair key = {.src = src, .dst = dst};
	return pairs->n > 0 && bsearch(&key, pairs->at, pairs->n, sizeof(*pairs->at), by_ranks) != NULL;
}

/* Other ranks with which messages went at least one way; returns ordered pairs of different ranks. */
static uint64_t count_peers(const struct pairs *pairs, struct rank_sums *sums)
{
	uint64_t n = 0;
	for (size_t i = 0; i < pairs->n; i++) {
		const struct pair *p = &pairs->at[i];
		if (p->src == p->dst)
			continue;
		n++;
		if (p->src < p->dst || !has_pair(pairs, p->dst, p->src)) {
			sums[p->src].peers++;
			sums[p->dst].peers++;
		}
	}
	return n;
}

static void put_summary(const struct import *x, cJSON *a, const struct rank_sums *sums, uint64_t npairs)
{
	struct rank_sums all = {0};
	double others = (double)x->nranks * (x->nranks - 1.0);
	for (uint32_t r = 0; r < x->nranks; r++) {
		all.messages_out += sums[r].messages_out;
		all.bytes_out += sums[r].bytes_out;
		all.barriers += sums[r].barriers;
		all.collectives += sums[r].collectives;
		all.peers += sums[r].peers;
	}
	cJSON *o = json_object(a, "summary");
	json_put(o, "events", (double)x->events);
	json_put(o, "transfers", (double)all.messages_out);
	put_known(o, "bytes", x->has_bytes, (double)all.bytes_out);
	json_put(o, "messages_sent", (double)(all.messages_out + x->unmatched_sends));
	put_known(o, "bytes_sent", x->has_bytes && x->unmatched_sends == 0, (double)all.bytes_out);
	cJSON_AddNullToObject(o, "collective_bytes");
	cJSON_AddNullToObject(o, "completions");
	json_put(o, "barriers", (double)all.barriers);
	json_put(o, "collectives", (double)all.collectives);
	put_known(o, "runtime_s", x->has_times, (double)import_runtime_ns(x) * 1e-9);
	json_put(o, "pair_density", others > 0 ? (double)npairs / others : 0);
	json_put(o, "mean_peers", (double)all.peers / x->nranks);
}

static void put_communicators(const struct import *x, cJSON *a)
{
	cJSON *list = json_array(a, "communicators");
	for (size_t i = 0; i < x->comms.n; i++) {
		const struct import_comm *c = &x->comms.at[i];
		cJSON *row = json_row(list);
		json_put(row, "id", (double)i);
		cJSON_AddNullToObject(row, "name");
		json_put(row, "size", (double)c->ranks.n);
		cJSON *ranks = json_array(row, "ranks");
		for (size_t k = 0; k < c->ranks.n; k++)
			json_push(ranks, c->ranks.at[k]);
		cJSON_AddNullToObject(row, "parent");
		cJSON_AddNullToObject(row, "created_by");
		cJSON_AddNullToObject(row, "calls");
	}
}

static void put_rest(cJSON *a)
{
	static const char *const lists[] = {"wait_states",
					    "wait_totals",
					    "worlds",
					    "windows",
					    "files",
					    "top_ranks_by_out_bytes",
					    "top_ranks_by_in_bytes",
					    "top_ranks_by_touch_bytes",
					    "top_links",
					    "collective_roots",
					    "barrier_spreads",
					    "time_windows",
					    "patterns",
					    "issues"};
	static const char *const counts[] = {"wait_states_left_out", "communicators_left_out", "windows_left_out",
					     "files_left_out"};
	put_empty(a, lists, sizeof(lists) / sizeof(*lists));
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		json_put(a, counts[i], 0);
	cJSON *topology = json_object(a, "topology");
	json_array(topology, "nodes");
	json_array(topology, "misbindings");
	json_put_text(a, "verdict",
		      "Imported: the file does not say how long calls took, so there is no analysis of issues.");
}

char *import_json(const struct import *x, const struct import_site *sites, size_t nsites)
{
	cJSON *a = cJSON_CreateObject();
	struct sums *sums = calloc(x->ops.n + 1, sizeof(*sums));
	struct rank_sums *ranks = calloc(x->nranks, sizeof(*ranks));
	struct pairs pairs = {0};
	char *text = NULL;
	if (a != NULL && sums != NULL && ranks != NULL && find_pairs(x, &pairs) == 0) {
		json_put_text(a, "schema", "mpitrace/analysis/1");
		put_job(x, a);
		put_coverage(x, a);
		put_clock(x, a);
		put_efficiency(a);
		put_operations(x, a, sums);
		put_callsites(x, a, sites, nsites);
		put_matrix(x, a, &pairs);
		sum_pairs(&pairs, ranks);
		uint64_t npairs = count_peers(&pairs, ranks);
		cJSON *list = json_array(a, "per_rank");
		for (uint32_t r = 0; r < x->nranks; r++) {
			sum_rank(x, r, ranks);
			put_rank(x, list, r, &ranks[r]);
		}
		put_summary(x, a, ranks, npairs);
		put_communicators(x, a);
		put_rest(a);
		text = cJSON_PrintUnformatted(a);
	}
	cJSON_Delete(a);
	free(sums);
	free(ranks);
	free(pairs.at);
	return text;
}
