/* main.c - mpitrace-publish, which `mpitrace publish` runs: takes records from outboxes and sends them where
 * mpitrace.conf says. A program of its own, so that what a node runs is not linked with libcurl. */
#include "base/command.h"
#include "base/json.h"
#include "fleet/publish/metrics.h"
#include "fleet/publish/program.h"
#include "fleet/publish/send.h"
#include "fleet/publish/take.h"

#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_S 30

struct options {
	const char *config, *state, *metrics;
	bool follow, dry_run, check, status, dead, revive, forget, json;
	int64_t interval_ns;
	char **paths;
	int npaths;
};

struct publisher {
	const struct options *o;
	struct policy *policy;
	struct destinations all;
	struct http *http[DESTINATIONS_MAX]; /* NULL: a file */
	struct state s;
	struct take_counts taken, ever; /* in the last round; since this program began */
	struct seen seen;
	const char *outbox;
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

static int take_all(struct publisher *p, bool dry, struct error *e)
{
	int rc = 0;
	p->taken = (struct take_counts){0};
	for (int i = 0; i < p->o->npaths && rc == 0; i++)
		rc = publish_take(&p->s, &p->all, p->o->paths[i], dry, &p->seen, &p->taken, e);
	if (p->o->npaths == 0)
		rc = publish_take(&p->s, &p->all, p->outbox, dry, &p->seen, &p->taken, e);
	p->ever.added += p->taken.added;
	p->ever.refused += p->taken.refused;
	return rc;
}

static int round_of(struct publisher *p, struct error *e)
{
	int rc = take_all(p, false, e);
	for (size_t i = 0; i < p->all.all.n && rc == 0 && !stopped; i++)
		rc = publish_send(&p->s, &p->all.all.at[i], p->http[i], &stopped, e);
	return rc == 0 && p->o->metrics != NULL ? publish_metrics(p->o->metrics, &p->s, &p->all, &p->ever, e) : rc;
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

static int tell(struct publisher *p, struct error *e)
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
		if (publish_reach(&p->all.all.at[i], p->http[i], text) < 0)
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

/* ---- all of it ---- */

static int read_config(struct publisher *p, struct error *e)
{
	struct policy_errors errors = {{""}, 0, NULL, NULL};
	struct policy_facts nobody = {0};
	if (policy_load(p->o->config, geteuid(), &p->policy, &errors) < 0)
		return fail(e, -EINVAL, "%s", errors.first.text);
	struct policy_decision d = policy_decide(p->policy, &nobody);
	p->outbox = policy_text(&d, POLICY_OUTBOX);
	if (destinations_read(p->policy, &p->all, e) < 0)
		return -EINVAL;
	if (p->all.all.n == 0)
		return fail(e, -ENOENT, "%s: has no [destination NAME]; mpitrace-publish(1) shows some", p->o->config);
	bool looks = p->o->check || p->o->status || p->o->dead || p->o->revive || p->o->forget;
	return looks || p->o->npaths > 0 || *p->outbox != '\0'
		       ? 0
		       : fail(e, -ENOENT, "%s: names no outbox; say which PATH to take records from", p->o->config);
}

static int connect_all(struct publisher *p, struct error *e)
{
	for (size_t i = 0; i < p->all.all.n; i++)
		if (p->all.all.at[i].kind->append == NULL && (p->http[i] = http_create(&p->all.all.at[i])) == NULL)
			return fail(e, -ENOMEM, "out of memory, or libcurl cannot do what is asked");
	return 0;
}

static int work(struct publisher *p, struct error *e)
{
	const struct options *o = p->o;
	bool copy = o->dry_run || o->status || o->dead;
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
	if (o->dead)
		return state_print_dead(&p->s, stdout, e);
	if (o->revive || o->forget)
		rc = state_dead(&p->s, o->revive, e);
	if (o->status || ((o->revive || o->forget) && rc == 0))
		return tell(p, e);
	if (rc == 0)
		rc = state_forget(&p->s, e);
	while (rc == 0 && !stopped) {
		rc = round_of(p, e);
		if (!o->follow || rc < 0)
			break;
		if (!stopped)
			wait_until_next(o);
	}
	return rc < 0 ? rc : tell(p, e);
}

static int publish(const struct options *o)
{
	struct publisher p = {.o = o, .s = {.lock_fd = -1}};
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
	for (size_t i = 0; i < DESTINATIONS_MAX; i++)
		http_destroy(p.http[i]);
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
	else if (key == 'm')
		o->metrics = value;
	else if (key == 'j')
		o->json = true;
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
					      {NULL, 0, NULL, 0}};
	struct options o = {
		.config = POLICY_FILE, .state = PUBLISH_STATE, .interval_ns = INTERVAL_S * INT64_C(1000000000)};
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
	o.paths = argv + 1 + optind;
	o.npaths = argc - 1 - optind;
	return publish(&o);
}
