/* main.c - mpitrace-publish, which `mpitrace publish` runs: takes records from outboxes and sends them where
 * mpitrace.conf says. A program of its own, so that what a node runs is not linked with libcurl. */
#include "base/command.h"
#include "base/json.h"
#include "fleet/publish/forget.h"
#include "fleet/publish/metrics.h"
#include "fleet/publish/program.h"
#include "fleet/publish/question.h"
#include "fleet/publish/send.h"
#include "fleet/publish/take.h"

#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_S 30

struct options {
	const char *config, *state, *metrics, *forget_user, *query;
	bool follow, dry_run, check, status, dead, revive, forget, json, account, csv;
	int64_t interval_ns;
	char **paths;
	int npaths;
};

struct publisher;

/* Each destination has a thread, so that one that is slow delays none. */
struct sender {
	struct publisher *p;
	size_t at; /* of its destination */
	pthread_t thread;
	bool runs;
	int rc;
	struct error e;
};

struct publisher {
	const struct options *o;
	struct policy *policy;
	struct destinations all;
	struct link *links[DESTINATIONS_MAX];
	struct state s;
	struct take_counts taken, ever; /* in the last round; since this program began */
	struct seen seen;
	const char *outbox;
	struct sender senders[DESTINATIONS_MAX];
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	unsigned rounds; /* begun */
	bool last;	 /* no other will begin */
	bool failed;	 /* the state cannot go on */
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static int complain(const char *text)
{
	fprintf(stderr, "mpitrace publish: %s\n", text);
	return EXIT_BAD_INPUT;
}

const struct command *command_find(const char *name)
{
	static const struct command publish = {"publish", NULL, PUBLISH_SUMMARY, PUBLISH_USAGE};
	return strcmp(name, publish.name) == 0 ? &publish : NULL;
}

/* ---- one round ---- */

static void announce(struct publisher *p, bool last, bool failed)
{
	pthread_mutex_lock(&p->lock);
	p->rounds += !last;
	p->last |= last;
	p->failed |= failed;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void send_taken(void *context)
{
	announce(context, false, false);
}

static int take_all(struct publisher *p, bool dry, struct error *e)
{
	struct take_how how = {dry, p->o->account, send_taken, p};
	int rc = 0;
	p->taken = (struct take_counts){0};
	for (int i = 0; i < p->o->npaths && rc == 0; i++)
		rc = publish_take(&p->s, &p->all, p->o->paths[i], &how, &p->seen, &p->taken, e);
	if (p->o->npaths == 0)
		rc = publish_take(&p->s, &p->all, p->outbox, &how, &p->seen, &p->taken, e);
	p->ever.added += p->taken.added;
	p->ever.refused += p->taken.refused;
	return rc;
}

static int put_metrics(struct publisher *p, struct error *e)
{
	if (p->o->metrics == NULL)
		return 0;
	state_turn_begin();
	int rc = publish_metrics(p->o->metrics, &p->s, &p->all, &p->ever, e);
	state_turn_end();
	return rc;
}

/* Is there a round after `done`? */
static bool wait_for_round(struct publisher *p, unsigned *done)
{
	pthread_mutex_lock(&p->lock);
	while (p->rounds == *done && !p->last)
		pthread_cond_wait(&p->changed, &p->lock);
	bool more = p->rounds != *done && !p->failed;
	*done = p->rounds;
	pthread_mutex_unlock(&p->lock);
	return more;
}

static bool has_failed(struct publisher *p)
{
	pthread_mutex_lock(&p->lock);
	bool failed = p->failed;
	pthread_mutex_unlock(&p->lock);
	return failed;
}

static void *send_rounds(void *context)
{
	struct sender *x = context;
	struct publisher *p = x->p;
	unsigned done = 0;
	while (x->rc == 0 && !stopped && wait_for_round(p, &done)) {
		x->rc = publish_send(&p->s, &p->all.all.at[x->at], p->links[x->at], &stopped, &x->e);
		if (x->rc == 0)
			x->rc = put_metrics(p, &x->e);
	}
	if (x->rc < 0)
		announce(p, true, true);
	return NULL;
}

/* Signals are for the thread that waits for them. */
static int start_senders(struct publisher *p, struct error *e)
{
	sigset_t all, before;
	int rc = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; i < p->all.all.n && rc == 0; i++) {
		p->senders[i] = (struct sender){.p = p, .at = i};
		rc = -pthread_create(&p->senders[i].thread, NULL, send_rounds, &p->senders[i]);
		p->senders[i].runs = rc == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc == 0 ? 0 : fail(e, rc, "cannot begin a thread: %s", strerror(-rc));
}

static int join_senders(struct publisher *p, int rc, struct error *e)
{
	for (size_t i = 0; i < p->all.all.n; i++) {
		struct sender *x = &p->senders[i];
		if (x->runs)
			pthread_join(x->thread, NULL);
		if (x->rc < 0 && rc == 0) {
			rc = x->rc;
			*e = x->e;
		}
	}
	return rc;
}

static int take_round(struct publisher *p, struct error *e)
{
	state_turn_begin();
	int rc = take_all(p, false, e);
	state_turn_end();
	if (rc == 0)
		rc = put_metrics(p, e);
	if (rc == 0)
		announce(p, false, false);
	return rc;
}

/* The signals wait while we do, or one could come just before. */
static void wait_until_next(const struct options *o)
{
	struct timespec t = {o->interval_ns / 1000000000, o->interval_ns % 1000000000};
	sigset_t block, before;
	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigaddset(&block, SIGINT);
	sigprocmask(SIG_BLOCK, &block, &before);
	if (!stopped)
		ppoll(NULL, 0, &t, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Records are taken here, and sent by a thread for each destination. */
static int go_on(struct publisher *p, struct error *e)
{
	int rc = start_senders(p, e);
	while (rc == 0 && !stopped && !has_failed(p)) {
		rc = take_round(p, e);
		if (!p->o->follow || rc < 0)
			break;
		if (!stopped)
			wait_until_next(p->o);
	}
	announce(p, true, rc < 0);
	return join_senders(p, rc, e);
}

/* ---- what is told ---- */

static cJSON *json_of(const struct destination *d, const struct state_counts *c)
{
	cJSON *o = cJSON_CreateObject();
	json_put_text(o, "name", d->name);
	json_put_text(o, "type", d->kind->name);
	json_put(o, "waiting", (double)c->waiting);
	json_put(o, "done", (double)c->done);
	json_put(o, "dead", (double)c->dead);
	json_put(o, "dropped", (double)c->dropped);
	json_put(o, "failures", (double)c->failures);
	json_put(o, "not_before", (double)c->next);
	json_put_text(o, "last_error", c->said[0] != '\0' ? c->said : NULL);
	return o;
}

static void print_text(const struct destination *d, const struct state_counts *c)
{
	printf("%s: %lld sent, %lld waiting, %lld dead, %lld dropped%s%s\n", d->name, (long long)c->done,
	       (long long)c->waiting, (long long)c->dead, (long long)c->dropped, c->said[0] != '\0' ? "; " : "",
	       c->said);
}

static int print_totals(struct publisher *p, struct error *e)
{
	cJSON *top = cJSON_CreateObject(), *list = json_array(top, "destinations");
	int rc = 0, code = p->taken.refused > 0 ? EXIT_PARTIAL : EXIT_DONE;
	json_put(top, "taken", (double)p->taken.added);
	json_put(top, "known", (double)p->taken.known);
	json_put(top, "left_out", (double)p->taken.refused);
	for (size_t i = 0; i < p->all.all.n && rc == 0; i++) {
		struct state_counts c = {0};
		rc = state_counts(&p->s, &p->all.all.at[i], &c, e);
		if (p->o->json)
			cJSON_AddItemToArray(list, json_of(&p->all.all.at[i], &c));
		else if (rc == 0)
			print_text(&p->all.all.at[i], &c);
		if (c.dead + c.dropped > 0 && code == EXIT_DONE)
			code = EXIT_PARTIAL;
		if (c.waiting > 0)
			code = EXIT_LATER;
	}
	char *text = p->o->json ? json_print(top) : NULL;
	if (text != NULL)
		puts(text);
	free(text);
	cJSON_Delete(top);
	return rc < 0 ? rc : code;
}

static int check(struct publisher *p)
{
	int code = EXIT_DONE;
	for (size_t i = 0; i < p->all.all.n; i++) {
		char text[256];
		if (publish_reach(&p->all.all.at[i], p->links[i], text) < 0)
			code = EXIT_BAD_INPUT;
		printf("%s: %s\n", p->all.all.at[i].name, text);
	}
	return code;
}

static int dry_run(struct publisher *p, struct error *e)
{
	int rc = take_all(p, true, e);
	for (size_t i = 0; i < p->all.all.n && rc == 0; i++)
		rc = publish_show(&p->s, &p->all.all.at[i], stdout, e);
	return rc;
}

/* At each destination, also when one of them fails; the worst of what became of it. */
static int forget_user(struct publisher *p, struct error *e)
{
	int worst = EXIT_DONE, rc = publish_forget_here(&p->s, p->o->forget_user, e);
	for (size_t i = 0; i < p->all.all.n && rc == 0; i++) {
		int code = publish_forget_there(&p->s, &p->all.all.at[i], p->links[i], p->o->forget_user, stdout);
		worst = code > worst ? code : worst;
	}
	return rc < 0 ? rc : worst;
}

/* ---- all of it ---- */

static int read_config(struct publisher *p, struct error *e)
{
	struct policy_errors errors = {{""}, 0, NULL, NULL};
	struct policy_facts nobody = {0};
	const char *file = policy_path(p->o->config);
	if (policy_load(p->o->config, geteuid(), &p->policy, &errors) < 0)
		return fail(e, -EINVAL, "%s", errors.first.text);
	struct policy_decision d = policy_decide(p->policy, &nobody);
	p->outbox = policy_text(&d, POLICY_OUTBOX);
	if (destinations_read(p->policy, &p->all, e) < 0)
		return -EINVAL;
	if (p->all.all.n == 0 && access(file, F_OK) != 0)
		return fail(e, -errno, "%s: %s", file, strerror(errno));
	if (p->all.all.n == 0)
		return fail(e, -ENOENT, "%s: has no [destination NAME]; mpitrace-publish(1) shows some", file);
	const struct options *o = p->o;
	bool looks = o->check || o->status || o->dead || o->revive || o->forget || o->forget_user != NULL ||
		     o->query != NULL;
	return looks || p->o->npaths > 0 || *p->outbox != '\0'
		       ? 0
		       : fail(e, -ENOENT, "%s: names no outbox; say which PATH to take records from", file);
}

static int connect_all(struct publisher *p, struct error *e)
{
	for (size_t i = 0; i < p->all.all.n; i++)
		if ((p->links[i] = link_create(&p->all.all.at[i])) == NULL)
			return fail(e, -ENOMEM, "out of memory, or libcurl cannot do what is asked");
	return 0;
}

static int work(struct publisher *p, struct error *e)
{
	const struct options *o = p->o;
	bool copy = o->dry_run || o->status || o->dead;
	if (o->query != NULL)
		return publish_question(&p->all, o->query,
					o->json	 ? QUERY_JSON
					: o->csv ? QUERY_CSV
						 : QUERY_TEXT,
					stdout, e);
	int rc = connect_all(p, e);
	if (rc == 0 && o->check)
		return check(p);
	if (rc == 0)
		rc = (copy ? state_open_copy : state_open)(o->state, &p->s, e);
	if (rc == 0)
		rc = state_destinations(&p->s, &p->all, e);
	if (rc < 0)
		return rc;
	if (o->dry_run)
		return dry_run(p, e);
	if (o->forget_user != NULL)
		return forget_user(p, e);
	if (o->dead)
		return state_print_dead(&p->s, stdout, e);
	if (o->revive || o->forget)
		rc = state_dead(&p->s, o->revive, e);
	if (o->status || ((o->revive || o->forget) && rc == 0))
		return print_totals(p, e);
	if (rc == 0)
		rc = state_forget(&p->s, e);
	if (rc == 0)
		rc = go_on(p, e);
	return rc < 0 ? rc : print_totals(p, e);
}

static int publish(const struct options *o)
{
	struct publisher p = {
		.o = o, .s = {.lock_fd = -1}, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	struct error e = {""};
	struct sigaction end = {.sa_handler = stop}, ignore = {.sa_handler = SIG_IGN};
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL); /* a file over its limit is an error like a full disk */
	curl_global_init(CURL_GLOBAL_DEFAULT);
	int rc = read_config(&p, &e);
	if (rc == 0)
		rc = work(&p, &e);
	state_close(&p.s);
	for (size_t i = 0; i < p.all.all.n; i++)
		link_destroy(&p.all.all.at[i], p.links[i]);
	seen_done(&p.seen);
	destinations_done(&p.all);
	policy_free(p.policy);
	curl_global_cleanup();
	if (rc == -EBUSY)
		return complain(e.text), EXIT_LATER;
	return rc < 0 ? complain(e.text) : rc;
}

static int parse_option(struct options *o, int key, const char *value)
{
	if (key == 'c')
		o->config = value;
	else if (key == 's')
		o->state = value;
	else if (key == 'f')
		o->follow = true;
	else if (key == 'n')
		o->dry_run = true;
	else if (key == 'k')
		o->check = true;
	else if (key == 't')
		o->status = true;
	else if (key == 'd')
		o->dead = true;
	else if (key == 'r')
		o->revive = true;
	else if (key == 'x')
		o->forget = true;
	else if (key == 'u')
		o->forget_user = value;
	else if (key == 'm')
		o->metrics = value;
	else if (key == 'j')
		o->json = true;
	else if (key == 'a')
		o->account = true;
	else if (key == 'q')
		o->query = value;
	else if (key == 'C')
		o->csv = true;
	else if (key != 'i' || option_seconds(value, &o->interval_ns) < 0)
		return usage_error("publish",
				   key == 'i' ? "--interval takes seconds" : "unknown option, or its value is missing");
	return -1;
}

int main(int argc, char **argv)
{
	static const struct option names[] = {{"config", required_argument, NULL, 'c'},
					      {"state", required_argument, NULL, 's'},
					      {"interval", required_argument, NULL, 'i'},
					      {"follow", no_argument, NULL, 'f'},
					      {"dry-run", no_argument, NULL, 'n'},
					      {"check", no_argument, NULL, 'k'},
					      {"status", no_argument, NULL, 't'},
					      {"dead", no_argument, NULL, 'd'},
					      {"revive", no_argument, NULL, 'r'},
					      {"forget", no_argument, NULL, 'x'},
					      {"metrics", required_argument, NULL, 'm'},
					      {"json", no_argument, NULL, 'j'},
					      {"sacct", no_argument, NULL, 'a'},
					      {"forget-user", required_argument, NULL, 'u'},
					      {"query", required_argument, NULL, 'q'},
					      {"csv", no_argument, NULL, 'C'},
					      {NULL, 0, NULL, 0}};
	struct options o = {.config = "", .state = PUBLISH_STATE, .interval_ns = INTERVAL_S * INT64_C(1000000000)};
	int c, code = -1;
	if (argc < 2 || strcmp(argv[1], "publish") != 0) {
		fputs("mpitrace-publish: `mpitrace publish` runs this\n", stderr);
		return EXIT_USAGE;
	}
	while (code < 0 && (c = getopt_long(argc - 1, argv + 1, "", names, NULL)) != -1)
		code = parse_option(&o, c, optarg);
	if (code >= 0)
		return code;
	if (o.revive && o.forget)
		return usage_error("publish", "--revive sends dead records again, --forget gives them up: one of them");
	bool looks = o.dry_run || o.check || o.status || o.dead || o.revive || o.forget || o.follow;
	if (o.forget_user != NULL && (*o.forget_user == '\0' || looks || argc - 1 > optind))
		return usage_error("publish", "--forget-user takes the name of a user, and goes with no other work");
	if (o.query != NULL && (looks || o.forget_user != NULL || argc - 1 > optind))
		return usage_error("publish", "--query goes with no other work");
	o.paths = argv + 1 + optind;
	o.npaths = argc - 1 - optind;
	return publish(&o);
}
