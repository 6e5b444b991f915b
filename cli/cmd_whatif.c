/* cmd_whatif.c - `mpitrace whatif FILE.mpix`: the run again, with something otherwise: what would it gain?
 * In: an .mpix.  Out: text, or JSON of schema mpitrace/whatif/1. */
#include "base/json.h"
#include "base/path.h"
#include "base/pool.h"
#include "base/units.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/print.h"
#include "format/issues.h"
#include "postproc/replay/replay.h"
#include "postproc/stream/wait_sums.h"
#include "reports/text/gain.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <string.h>

#define FACTOR_MAX 1e6
#define WHAT_MAX 256u
#define FILES_MAX 16u
#define REACHED_ALL 0.9995 /* 100.0 % */
#define CALLS_ALL (1 - 1e-12)

/* One thing that is otherwise, as it was asked for. */
struct wish {
	char option; /* as in parse() */
	const char *text;
	double factor;
};

struct whatif {
	const char *path;
	bool json;
	VEC(struct wish) wishes;
	VEC(struct replay_factor) factors;
	VEC(struct replay_rank) ranks;
	VEC(uint32_t) sites, open_sites; /* of the issue that is looked at; of all that are asked for */
	VEC(uint32_t) nonblocking;
	struct replay_change change;
	cJSON *analysis;
};

/* ---- the command line ---- */

/* "2x", "2", "0.5x": 0 or -EINVAL. */
static int factor_of(const char *text, double *ret_factor)
{
	char *end;
	*ret_factor = strtod(text, &end);
	end += *end == 'x';
	return end != text && *end == '\0' && *ret_factor >= 0 && *ret_factor <= FACTOR_MAX ? 0 : -EINVAL;
}

static int add_wish(struct whatif *x, int key, const char *text)
{
	struct wish wish = {(char)key, text, 1};
	const char *number = key == 'r' || key == 's' ? text != NULL ? strrchr(text, '=') : NULL : text;
	if (key == 'r' || key == 's')
		number = number != NULL ? number + 1 : NULL;
	if (key != 'b' && key != 'w' && key != 'k' && (number == NULL || factor_of(number, &wish.factor) < 0))
		return usage_error("whatif", "\"%.64s\": a factor is a number of 0 to %.0f, as in 0.8x", text,
				   FACTOR_MAX);
	if ((key == 'n' || key == 'l') && !(wish.factor > 0))
		return usage_error("whatif", "\"%.64s\": this factor is above 0", text);
	return vec_push(&x->wishes, wish) < 0 ? usage_error("whatif", "out of memory") : 0;
}

static int parse(struct whatif *x, int argc, char **argv)
{
	static const struct option names[] = {
		{"balance", no_argument, NULL, 'b'},
		{"network", required_argument, NULL, 'n'},
		{"latency", required_argument, NULL, 'l'},
		{"rank", required_argument, NULL, 'r'},
		{"site", required_argument, NULL, 's'},
		{"without", required_argument, NULL, 'w'},
		{"json", no_argument, NULL, 'j'},
		{"nonblocking", required_argument, NULL, 'k'},
		{NULL, 0, NULL, 0},
	};
	int key, code = 0;
	opterr = 0;
	while (code == 0 && (key = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (key == '?')
			return usage_error("whatif", "unknown option, or its value is missing");
		if (key == 'j')
			x->json = true;
		else
			code = add_wish(x, key, optarg);
	}
	if (code == 0 && optind + 1 != argc)
		return usage_error("whatif", "give one FILE.mpix");
	x->path = argv[optind];
	return code;
}

/* ---- what was asked for, by what the trace has ---- */

static int complain(const char *path, const char *fmt, const char *text)
{
	fprintf(stderr, "mpitrace whatif: %s: ", path);
	fprintf(stderr, fmt, text);
	fputc('\n', stderr);
	return EXIT_BAD_INPUT;
}

/* FILE:LINE, with or without the file's directories. */
static bool is_site(const cJSON *site, const char *text, size_t len)
{
	char whole[1024], last[512];
	const char *file = json_text(site, "file", "");
	double line = json_number_or(site, "line", -1);
	int n = snprintf(whole, sizeof(whole), "%s:%.0f", file, line);
	int m = snprintf(last, sizeof(last), "%s:%.0f", path_name(file), line);
	return (n == (int)len && strncmp(whole, text, len) == 0) || (m == (int)len && strncmp(last, text, len) == 0);
}

#define NO_SITE "no call of MPI at \"%s\": `mpitrace show` lists call sites"

static int wish_site(struct whatif *x, const struct wish *wish)
{
	size_t len = (size_t)(strrchr(wish->text, '=') - wish->text);
	bool found = false;
	for (const cJSON *s = json_first(x->analysis, "callsites"); s != NULL; s = s->next) {
		if (!is_site(s, wish->text, len))
			continue;
		struct replay_factor f = {(uint32_t)json_number_or(s, "id", 0), REPLAY_ANY, wish->factor};
		if (vec_push(&x->factors, f) < 0)
			return -ENOMEM;
		found = true;
	}
	return found ? 0 : complain(x->path, NO_SITE, wish->text);
}

static int wish_nonblocking(struct whatif *x, const struct wish *wish)
{
	size_t before = x->nonblocking.n;
	for (const cJSON *s = json_first(x->analysis, "callsites"); s != NULL; s = s->next)
		if (is_site(s, wish->text, strlen(wish->text)) &&
		    vec_push(&x->nonblocking, (uint32_t)json_number_or(s, "id", 0)) < 0)
			return -ENOMEM;
	return x->nonblocking.n > before ? 0 : complain(x->path, NO_SITE, wish->text);
}

static int wish_rank(struct whatif *x, const struct wish *wish)
{
	char *end;
	double ranks = json_number_or(json_item(x->analysis, "job"), "ranks", 0);
	unsigned long rank = strtoul(wish->text, &end, 10);
	if (end == wish->text || *end != '=' || (double)rank >= ranks)
		return complain(x->path, "\"%s\": this trace has no such rank", wish->text);
	return vec_push(&x->factors, (struct replay_factor){REPLAY_ANY, (uint32_t)rank, wish->factor});
}

static uint32_t states_of(const cJSON *issue)
{
	uint32_t states = 0;
	for (const cJSON *s = json_first(issue, "states"); s != NULL; s = s->next)
		for (unsigned i = 0; i < WAIT_STATES; i++)
			if (cJSON_IsString(s) && strcmp(s->valuestring, wait_state_name((enum wait_state)i)) == 0)
				states |= 1u << i;
	return states;
}

static int take_ranks(struct whatif *x)
{
	for (const cJSON *row = json_first(x->analysis, "per_rank"); row != NULL; row = row->next) {
		double computing = json_number_or(row, "useful_s", 0),
		       wait = json_number_or(row, "processor_wait_s", 0);
		double lived = computing + json_number_or(row, "mpi_s", 0) + json_number_or(row, "tracing_s", 0);
		if (vec_push(&x->ranks, (struct replay_rank){computing, lived, wait, 0}) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int issue_of(struct whatif *x, const cJSON *row, struct replay_issue *ret_issue)
{
	x->sites.n = 0;
	for (const cJSON *site = json_first(row, "callsites"); site != NULL; site = site->next)
		if (vec_push(&x->sites, (uint32_t)json_number_of(site)) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < x->ranks.n; i++)
		x->ranks.at[i].slower = 0;
	for (const cJSON *rank = json_first(row, "ranks"); rank != NULL; rank = rank->next)
		if (json_number_of(rank) >= 0 && json_number_of(rank) < (double)x->ranks.n)
			x->ranks.at[(size_t)json_number_of(rank)].slower =
				json_number_or(json_item(row, "metric"), "value", 0);
	double loss = json_number_or(row, "loss_s", 0) / fmax(1e-9, json_number_or(row, "loss_of_s", 0));
	*ret_issue = (struct replay_issue){
		.name = json_text(row, "issue", ""),
		.states = states_of(row),
		.loss = loss,
		.value = json_number_or(json_item(row, "metric"), "value", 0),
		.loss_s = json_number_or(row, "loss_s", 0),
		.callsites = x->sites.at,
		.ncallsites = (uint32_t)x->sites.n,
		.ranks = x->ranks.at,
		.nranks = (uint32_t)x->ranks.n,
	};
	return 0;
}

static int wish_issue(struct whatif *x, const struct wish *wish)
{
	struct replay_change c;
	for (const cJSON *row = json_first(x->analysis, "issues"); row != NULL; row = row->next) {
		if (strcmp(json_text(row, "issue", ""), wish->text) != 0)
			continue;
		struct replay_issue issue;
		if (issue_of(x, row, &issue) < 0)
			return -ENOMEM;
		if (replay_without_issue(&issue, &c) < 0)
			return complain(x->path, "\"%s\": no replay tells what the run would be without it",
					wish->text);
		x->change.balance |= c.balance;
		x->change.most_gain = x->wishes.n == 1 ? c.most_gain : 0;
		x->change.most_gain_s = x->wishes.n == 1 ? c.most_gain_s : 0;
		for (uint32_t i = 0; i < c.nopen_sites; i++)
			if (vec_push(&x->open_sites, c.open_sites[i]) < 0)
				return -ENOMEM;
		x->change.without_states |= c.without_states;
		x->change.causer_site = c.causer_site;
		if (c.times != NULL) {
			replay_change_done(&x->change);
			x->change.times = c.times;
			x->change.ntimes = c.ntimes;
		}
		return 0;
	}
	return complain(x->path, "\"%s\": the analysis has no such issue", wish->text);
}

static int understand(struct whatif *x)
{
	int code = take_ranks(x);
	x->change = REPLAY_AS_IT_WAS;
	for (size_t i = 0; i < x->wishes.n && code == 0; i++) {
		const struct wish *w = &x->wishes.at[i];
		x->change.balance |= w->option == 'b';
		x->change.bandwidth *= w->option == 'n' ? w->factor : 1;
		x->change.latency *= w->option == 'l' ? w->factor : 1;
		if (w->option == 's')
			code = wish_site(x, w);
		else if (w->option == 'r')
			code = wish_rank(x, w);
		else if (w->option == 'w')
			code = wish_issue(x, w);
		else if (w->option == 'k')
			code = wish_nonblocking(x, w);
	}
	x->change.nonblocking = x->nonblocking.at;
	x->change.nnonblocking = (uint32_t)x->nonblocking.n;
	x->change.factors = x->factors.at;
	x->change.nfactors = (uint32_t)x->factors.n;
	x->change.open_sites = x->open_sites.at;
	x->change.nopen_sites = (uint32_t)x->open_sites.n;
	return code;
}

/* ---- what comes of it ---- */

static void describe(const struct wish *w, char ret_text[WHAT_MAX])
{
	const char *text = w->text != NULL ? w->text : "";
	const char *equal = strrchr(text, '=');
	int len = equal != NULL ? (int)(equal - text) : 0;
	if (w->option == 'b')
		snprintf(ret_text, WHAT_MAX, "computing balanced between the ranks");
	else if (w->option == 'n')
		snprintf(ret_text, WHAT_MAX, "a network of %g times the bandwidth", w->factor);
	else if (w->option == 'l')
		snprintf(ret_text, WHAT_MAX, "%g times the latency", w->factor);
	else if (w->option == 'r')
		snprintf(ret_text, WHAT_MAX, "rank %.*s computing %g times as long", len, text, w->factor);
	else if (w->option == 's')
		snprintf(ret_text, WHAT_MAX, "computing before %.*s %g times as long", len < 128 ? len : 128, text,
			 w->factor);
	else if (w->option == 'k')
		snprintf(ret_text, WHAT_MAX, "%.128s nonblocking", text);
	else
		snprintf(ret_text, WHAT_MAX, "without %.64s", text);
}

static void put_result(cJSON *to, const struct replay_result *r)
{
	json_put(to, "predicted_s", r->predicted_s);
	json_put(to, "gain_s", r->gain_s);
	json_put(to, "gain", r->gain);
	json_put(to, "gain_low", r->gain_low);
	json_put(to, "gain_high", r->gain_high);
	if (r->unseen)
		cJSON_AddTrueToObject(to, "unseen");
}

static cJSON *result_json(const struct whatif *x, const struct replay *replay, const struct replay_result *r)
{
	cJSON *root = cJSON_CreateObject(), *what;
	json_put_text(root, "schema", "mpitrace/whatif/1");
	json_put(root, "recorded_s", r->recorded_s);
	json_put(root, "calls_s", r->calls_s);
	json_put(root, "replayed_s", r->replayed_s);
	json_put(root, "error", r->error);
	json_put(root, "covered", r->covered);
	json_put(root, "given_up", (double)r->given_up);
	json_put(root, "polls_kept", r->polls);
	if (x->nonblocking.n > 0)
		json_put(root, "completed_later", (double)r->put_off);
	what = json_array(root, "what");
	for (size_t i = 0; i < x->wishes.n; i++) {
		char text[WHAT_MAX];
		describe(&x->wishes.at[i], text);
		json_push_text(what, text);
	}
	put_result(root, r);
	replay_put_model(replay, json_object(root, "model"));
	return root;
}

/* Without a wish: each issue gone, ranks balanced, another network. */
static int put_choices(struct whatif *x, struct replay *replay, cJSON *root)
{
	struct replay_change usual[3] = {REPLAY_AS_IT_WAS, REPLAY_AS_IT_WAS, REPLAY_AS_IT_WAS};
	static const char *const texts[3] = {"computing balanced between the ranks",
					     "a network of 2 times the bandwidth", "0.5 times the latency"};
	cJSON *choices = json_array(root, "choices");
	struct replay_result r;
	usual[0].balance = true;
	usual[1].bandwidth = 2;
	usual[2].latency = 0.5;
	for (const cJSON *row = json_first(x->analysis, "issues"); row != NULL; row = row->next) {
		char text[WHAT_MAX];
		struct replay_issue issue;
		if (issue_of(x, row, &issue) < 0)
			return -ENOMEM;
		int code = replay_predict_without(replay, &issue, &r);
		if (code == -ENOENT)
			continue;
		if (code < 0)
			return code;
		snprintf(text, sizeof(text), "without %.64s", json_text(row, "issue", ""));
		cJSON *choice = json_row(choices);
		json_put_text(choice, "what", text);
		put_result(choice, &r);
	}
	for (unsigned i = 0; i < 3; i++) {
		if (replay_predict(replay, &usual[i], &r) < 0)
			return -ENOMEM;
		cJSON *choice = json_row(choices);
		json_put_text(choice, "what", texts[i]);
		put_result(choice, &r);
	}
	return 0;
}

/* What is not recorded is how long a program could do without what these calls bring. */
static void print_nonblocking(const cJSON *root)
{
	double calls = json_number_or(root, "completed_later", 0);
	if (calls > 0)
		printf("%s start there, and are completed before their rank's next call elsewhere that may pass on\n"
		       "what they bring, or the same call comes again: at most so much is gained. The range is from "
		       "where\n"
		       "nothing moves while ranks compute to a library with a progress thread.\n",
		       fmt_plain(fmt_many(calls, "call")).s);
}

static void print_gain(const char *what, const cJSON *r)
{
	double gain = json_number_or(r, "gain", 0), low = json_number_or(r, "gain_low", 0);
	double high = json_number_or(r, "gain_high", 0);
	printf("  %9s  %5.1f %% %s", fmt_plain(fmt_time(json_number_or(r, "predicted_s", 0))).s, 100 * fabs(gain),
	       gain < 0 ? "longer " : "shorter");
	if (high - low >= 0.0005 && gain < 0) /* of what is longer, or less than nothing of it */
		printf(" (%.1f to %.1f)", -100 * high, -100 * low);
	else if (high - low >= 0.0005)
		printf(" (%.1f to %.1f)", 100 * low, 100 * high);
	printf("  %s\n", what);
}

static bool any_unseen(const cJSON *root)
{
	bool found = json_bool(root, "unseen", false);
	for (const cJSON *c = json_first(root, "choices"); c != NULL; c = c->next)
		found |= json_bool(c, "unseen", false);
	return found;
}

static void print_text(const struct whatif *x, const cJSON *root)
{
	double recorded_s = json_number_or(root, "recorded_s", 0), calls_s = json_number_or(root, "calls_s", 0);
	double reached = recorded_s > 0 ? calls_s / recorded_s : 1;
	double covered = reached > 0 ? json_number_or(root, "covered", 1) / reached : 1;
	printf("Recorded %s; replayed unchanged %s, %.1f %% off.\n", fmt_plain(fmt_time(recorded_s)).s,
	       fmt_plain(fmt_time(json_number_or(root, "replayed_s", 0))).s, 100 * json_number_or(root, "error", 0));
	if (reached < REACHED_ALL)
		printf("Calls end after %s of it, %.1f %%: what came behind them stays as it was.\n",
		       fmt_plain(fmt_time(calls_s)).s, 100 * reached);
	if (covered < CALLS_ALL)
		printf("Replayed were intervals with %.1f %% of all calls, which stand for the rest.\n", 100 * covered);
	double polls = json_number_or(root, "polls_kept", 0);
	if (polls >= POLLS_SEEN)
		printf("Tests and probes take %.1f %% of the ranks' time and stay as they were: nothing tells for "
		       "whom.\n",
		       100 * polls);
	if (any_unseen(root))
		printf("No transfer was seen from start to end: what another network would gain is known only as a "
		       "range.\n");
	print_nonblocking(root);
	for (const cJSON *c = json_first(root, "choices"); c != NULL; c = c->next)
		print_gain(json_text(c, "what", ""), c);
	for (size_t i = 0; i < x->wishes.n; i++) {
		char text[WHAT_MAX];
		describe(&x->wishes.at[i], text);
		if (i + 1 == x->wishes.n)
			print_gain(text, root);
		else
			printf("  %s, and\n", text);
	}
}

static int answer(struct whatif *x, struct replay *replay)
{
	struct replay_result r;
	cJSON *root = NULL;
	int code = replay_predict(replay, &x->change, &r);
	if (code == 0 && x->nonblocking.n > 0 && r.put_off == 0)
		return complain(x->path, "%s", "no call at these places that was seen to need others");
	if (code == 0) {
		root = result_json(x, replay, &r);
		code = x->wishes.n == 0 ? put_choices(x, replay, root) : 0;
	}
	char *text = code == 0 && x->json ? json_print(root) : NULL;
	if (text != NULL)
		puts(text);
	else if (code == 0)
		print_text(x, root);
	free(text);
	cJSON_Delete(root);
	return code == 0 ? EXIT_DONE : complain(x->path, "%s", "out of memory");
}

/* files: the same one, for as many threads. */
static int run_on(struct whatif *x, struct mpix_file *const *files, unsigned nfiles)
{
	struct replay *replay = NULL;
	struct error e;
	x->analysis = cJSON_Parse(mpix_analysis(files[0]));
	int code = understand(x);
	if (code != 0)
		return code < 0 ? complain(x->path, "%s", "out of memory") : code;
	if (json_number_or(json_item(x->analysis, "coverage"), "events", 0) == 0)
		return complain(x->path, "%s",
				"no single calls in it, only totals: nothing to replay; record again, with "
				"single calls");
	if (replay_create(files, nfiles, REPLAY_EVENTS_MAX, &replay, &e) < 0)
		return complain(x->path, "%s", e.text);
	replay_lasted(replay, llround(1e9 * json_number_or(json_item(x->analysis, "replay"), "recorded_s", 0)));
	code = answer(x, replay);
	replay_destroy(replay);
	return code;
}

/* By that name there may be another one by now: it was analysed again. */
static bool are_same(const struct mpix_file *a, const struct mpix_file *b)
{
	return mpix_info(a)->ranks == mpix_info(b)->ranks && mpix_info(a)->lanes == mpix_info(b)->lanes &&
	       mpix_groups(a) == mpix_groups(b) && mpix_windows(a) == mpix_windows(b) &&
	       strcmp(mpix_analysis(a), mpix_analysis(b)) == 0;
}

/* As often as there are threads, if it stays the same. Returns how many. */
static unsigned open_all(const char *path, struct mpix_file *files[FILES_MAX], struct error *e)
{
	unsigned n = 0, threads = pool_threads();
	while (n < threads && n < FILES_MAX && mpix_open(path, &files[n], e) == 0) {
		if (n > 0 && !are_same(files[0], files[n])) {
			mpix_close(files[n]);
			break;
		}
		n++;
	}
	return n;
}

static int whatif(int argc, char **argv)
{
	struct whatif x = {0};
	struct mpix_file *files[FILES_MAX];
	struct error e;
	int code = parse(&x, argc, argv);
	unsigned n = code == 0 ? open_all(x.path, files, &e) : 0;
	if (code == 0 && n == 0) {
		fprintf(stderr, "mpitrace whatif: %s\n", e.text);
		code = EXIT_BAD_INPUT;
	} else if (code == 0) {
		code = run_on(&x, files, n);
	}
	for (unsigned i = 0; i < n; i++)
		mpix_close(files[i]);
	cJSON_Delete(x.analysis);
	vec_done(&x.wishes);
	vec_done(&x.factors);
	vec_done(&x.ranks);
	vec_done(&x.sites);
	vec_done(&x.open_sites);
	vec_done(&x.nonblocking);
	replay_change_done(&x.change);
	return code;
}

const struct command cmd_whatif = {
	"whatif", whatif, "estimate what a run would gain from a change, by replay",
	"whatif FILE.mpix [--balance] [--network Nx] [--latency Nx] [--rank R=Nx]... "
	"[--site FILE:LINE=Nx]... [--nonblocking FILE:LINE]... [--without ISSUE]... [--json]"};
