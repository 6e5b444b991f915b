/* fleet.c - `mpitrace fleet serve`: the fleet's pages on loopback, made from the database when they are asked for.
 * In: requests, which name a page, and behind a proxy the user.  Out: what that user may see. The database is only
 * read; what all jobs together say (fleet/estimate.h) is found out anew by a thread, if its file may be written. */
#include "base/clock.h"
#include "base/command.h"
#include "base/loopback.h"
#include "base/trusted.h"
#include "fleet/estimate.h"
#include "fleet/metrics.h"
#include "fleet/report.h"
#include "fleet/user.h"
#include "reports/web/programs.h"
#include "reports/web/request.h"
#include "reports/web/web.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NAMES_MAX 64
#define ESTIMATE_SECONDS 60
#define ESTIMATE_REST 9 /* times as long as the last one took: a tenth of a processor, however many jobs there are */

struct serving {
	const char *db, *user, *token_file, *token, *user_header, *site_key, *leads;
	const char *hosts[NAMES_MAX + 1], *all[NAMES_MAX + 1]; /* all: users who may see all */
	size_t nhosts, nall;
	uint16_t port;
	struct fleet f;
	pthread_mutex_t lock; /* of f: one page at a time is made */
};

static int complain(const struct error *e)
{
	fprintf(stderr, "mpitrace fleet: %s\n", e->text);
	return EXIT_BAD_INPUT;
}

/* ---- who asks ---- */

static bool sees_all(const struct serving *s, const char *user)
{
	for (size_t i = 0; i < s->nall; i++)
		if (strcmp(s->all[i], user) == 0)
			return true;
	return false;
}

/* Who asks, and what they see. */
struct asking {
	const char *user; /* NULL: all */
	char hashed[USER_TEXT_MAX];
	struct leads leads;
};

static int see_own(const struct serving *s, const char *name, struct asking *ret_who, struct error *e)
{
	ret_who->user = name;
	int rc = s->leads != NULL ? leads_read(s->leads, name, &ret_who->leads, e) : 0;
	if (rc < 0 || s->site_key == NULL)
		return rc;
	ret_who->user = ret_who->hashed;
	return user_hash_by(s->site_key, name, ret_who->hashed, e);
}

/* 0, or the status of a refusal. */
static int who_asks(const struct serving *s, const struct web_request *r, struct asking *ret_who)
{
	struct error e;
	*ret_who = (struct asking){.user = s->user};
	if (s->user_header == NULL)
		return 0;
	const char *name = web_header(r, s->user_header);
	if (name == NULL || *name == '\0' || web_header_times(r, s->user_header) != 1)
		return 403;
	if (sees_all(s, name))
		return 0;
	if (see_own(s, name, ret_who, &e) == 0)
		return 0;
	complain(&e);
	return 500;
}

/* ---- answers ---- */

static void say(struct web_answer *a, int status, const char *text)
{
	char *copy = strdup(text);
	if (copy == NULL)
		return;
	*a = (struct web_answer){.kind = WEB_TEXT,
				 .type = "text/plain; charset=utf-8",
				 .status = status,
				 .text = copy,
				 .text_bytes = strlen(copy)};
}

static const char *type_of(const char *name)
{
	const char *dot = strrchr(name, '.');
	if (dot != NULL && strcmp(dot, ".csv") == 0)
		return "text/csv; charset=utf-8";
	return dot != NULL && strcmp(dot, ".json") == 0 ? "application/json" : "text/html; charset=utf-8";
}

static int make(struct serving *s, const struct asking *who, const char *name, struct web_answer *a, struct error *e)
{
	struct fleet_report r = {.days = 366, .jobs = 1000, .user = who->user, .leads = &who->leads};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	if (out == NULL)
		return fail(e, -ENOMEM, "out of memory");
	pthread_mutex_lock(&s->lock);
	int rc = fleet_page(&s->f, &r, name, out, e);
	pthread_mutex_unlock(&s->lock);
	if (fclose(out) != 0 && rc == 0)
		rc = fail(e, -ENOMEM, "out of memory");
	if (rc < 0) {
		free(text);
		return rc;
	}
	*a = (struct web_answer){.kind = WEB_TEXT, .type = type_of(name), .text = text, .text_bytes = len};
	return 0;
}

/* "Authorization: Bearer TOKEN". */
static bool bears_token(const struct serving *s, const struct web_request *r)
{
	static const char scheme[] = "Bearer ";
	const char *said = web_header(r, "Authorization");
	char path[WEB_TOKEN_CHARS + 8];
	if (said == NULL || strncasecmp(said, scheme, sizeof(scheme) - 1) != 0)
		return false;
	int n = snprintf(path, sizeof(path), "/%s/", said + sizeof(scheme) - 1);
	const char *rest = n < (int)sizeof(path) ? behind_token(path, s->token) : NULL;
	return rest != NULL && *rest == '\0';
}

/* Behind a proxy for who may see all, and for who asks without it, and knows the secret. That it is in the path is no
 * sign of that: the proxy puts it into everybody's, and whoever asks it can have the name left out of what it hands on
 * ("Connection: X-Remote-User"). */
static bool may_have_metrics(const struct serving *s, const struct web_request *r)
{
	if (s->user_header == NULL)
		return s->user == NULL;
	const char *name = web_header(r, s->user_header);
	if (name == NULL)
		return bears_token(s, r);
	return web_header_times(r, s->user_header) == 1 && sees_all(s, name);
}

static void give_metrics(struct serving *s, const struct web_request *r, struct web_answer *ret_answer)
{
	struct error e;
	char *text = NULL;
	size_t len = 0;
	if (!may_have_metrics(s, r)) {
		say(ret_answer, 403, "Metrics are of all jobs, and for who may see all.\n");
		return;
	}
	FILE *out = open_memstream(&text, &len);
	pthread_mutex_lock(&s->lock);
	int rc = out != NULL ? fleet_metrics(&s->f, out, &e) : fail(&e, -ENOMEM, "out of memory");
	pthread_mutex_unlock(&s->lock);
	if (out != NULL && fclose(out) != 0 && rc == 0)
		rc = fail(&e, -ENOMEM, "out of memory");
	if (rc == 0) {
		*ret_answer =
			(struct web_answer){.kind = WEB_TEXT, .type = METRICS_TYPE, .text = text, .text_bytes = len};
		return;
	}
	free(text);
	complain(&e);
	say(ret_answer, 500, "The database cannot be read; the server's standard error says why.\n");
}

static void answer(void *context, const struct web_request *r, struct web_answer *ret_answer)
{
	struct serving *s = context;
	struct error e;
	struct asking who;
	if (strcmp(r->path, "metrics") == 0) {
		give_metrics(s, r, ret_answer);
		return;
	}
	int status = who_asks(s, r, &who);
	if (status != 0) {
		leads_done(&who.leads);
		say(ret_answer, status,
		    status == 403 ? "The proxy in front of this server does not say who you are.\n"
				  : "What you may see cannot be read; the server's standard error says why.\n");
		return;
	}
	int rc = make(s, &who, r->path, ret_answer, &e);
	leads_done(&who.leads);
	if (rc == -ESRCH)
		say(ret_answer, 404, "There are no jobs of yours yet.\n");
	else if (rc < 0 && rc != -ENOENT) {
		complain(&e);
		say(ret_answer, 500, "The database cannot be read; the server's standard error says why.\n");
	}
}

/* ---- judging ---- */

/* With a connection of its own: pages are served meanwhile, as all was before. */
static void *keep_estimates(void *context)
{
	struct serving *s = context;
	struct fleet f = {0};
	struct error e;
	bool said = false;
	for (double began = now_s();; began = now_s()) {
		int rc = fleet_open(s->db, FLEET_WRITE, &f, &e);
		if (rc == 0)
			rc = fleet_estimate(&f, &e);
		fleet_close(&f);
		if (rc < 0 && !said)
			fprintf(stderr,
				"mpitrace fleet: %s; pages show what the last `mpitrace fleet report` found out\n",
				e.text);
		said = rc < 0;
		sleep((unsigned)fmax(ESTIMATE_SECONDS, ESTIMATE_REST * (now_s() - began)));
	}
	return NULL;
}

static void estimate_at_first(const struct serving *s)
{
	struct fleet f = {0};
	struct error e;
	if (fleet_open(s->db, FLEET_WRITE, &f, &e) == 0)
		fleet_estimate(&f, &e);
	fleet_close(&f);
}

/* ---- the secret in the address ---- */

/* What a proxy of the site puts in front of each path, so that no other user of this machine can speak in its place. */
static int read_token(const char *path, char ret_token[WEB_TOKEN_CHARS + 1], struct error *e)
{
	int fd = trusted_open(path, TRUSTED_SECRET, e);
	if (fd < 0)
		return fd;
	ssize_t n = read(fd, ret_token, WEB_TOKEN_CHARS);
	close(fd);
	ret_token[n > 0 ? n : 0] = '\0';
	if (strspn(ret_token, "0123456789abcdef") != WEB_TOKEN_CHARS)
		return fail(e, -EINVAL, "%s: must begin with %d digits of 0-9a-f: openssl rand -hex %d", path,
			    WEB_TOKEN_CHARS, WEB_TOKEN_CHARS / 2);
	return 0;
}

static int find_token(const struct serving *s, char ret_token[WEB_TOKEN_CHARS + 1], struct error *e)
{
	if (s->token_file != NULL)
		return read_token(s->token_file, ret_token, e);
	return loopback_token(ret_token, WEB_TOKEN_CHARS) == 0 ? 0 : fail(e, -EIO, "no random numbers from the system");
}

/* ---- arguments ---- */

static int add_name(const char *option, const char *names[NAMES_MAX + 1], size_t *n, const char *value)
{
	if (*n == NAMES_MAX || *value == '\0')
		return usage_error("fleet", "--%s: a name, at most %d times", option, NAMES_MAX);
	names[(*n)++] = value;
	return 0;
}

static int parse_option(struct serving *s, int key, const char *value)
{
	char *end;
	long port;
	switch (key) {
	case 'd':
		s->db = value;
		return 0;
	case 'u':
		s->user = value;
		return 0;
	case 't':
		s->token_file = value;
		return 0;
	case 'h':
		s->user_header = value;
		return 0;
	case 'k':
		s->site_key = value;
		return 0;
	case 'l':
		s->leads = value;
		return 0;
	case 'H':
		return add_name("host", s->hosts, &s->nhosts, value);
	case 'a':
		return add_name("all", s->all, &s->nall, value);
	case 'p':
		port = strtol(value, &end, 10);
		if (end == value || *end != '\0' || port < 0 || port > 65535)
			return usage_error("fleet", "--port %.64s: not a port", value);
		s->port = (uint16_t)port;
		return 0;
	default:
		return usage_error("fleet", "unknown option, or its value is missing");
	}
}

static int parse(struct serving *s, int argc, char **argv)
{
	static const struct option names[] = {
		{"db", required_argument, NULL, 'd'},	      {"user", required_argument, NULL, 'u'},
		{"token-file", required_argument, NULL, 't'}, {"user-header", required_argument, NULL, 'h'},
		{"site-key", required_argument, NULL, 'k'},   {"leads", required_argument, NULL, 'l'},
		{"host", required_argument, NULL, 'H'},	      {"all", required_argument, NULL, 'a'},
		{"port", required_argument, NULL, 'p'},	      {NULL, 0, NULL, 0}};
	int key, code = 0;
	opterr = 0;
	while (code == 0 && (key = getopt_long(argc, argv, "", names, NULL)) != -1)
		code = parse_option(s, key, optarg);
	if (code != 0)
		return code;
	if (s->db == NULL || optind != argc)
		return usage_error("fleet", "serve takes --db FILE, and no other words than options");
	if (s->user_header != NULL && (s->token_file == NULL || s->user != NULL))
		return usage_error("fleet",
				   "--user-header needs --token-file, or any user of this machine could say who they "
				   "are, and excludes --user");
	if (s->user_header == NULL && (s->nall > 0 || s->site_key != NULL || s->leads != NULL))
		return usage_error("fleet",
				   "--all, --leads and --site-key say something of users whom --user-header names");
	return 0;
}

static int run(struct serving *s)
{
	struct web *w;
	struct error e;
	pthread_t judge;
	struct web_options o = {.port = s->port, .token = s->token, .hosts = s->hosts, .handler = answer, .context = s};
	if (web_start(&o, &w, &e) < 0)
		return complain(&e);
	if (s->token_file != NULL)
		printf("http://127.0.0.1:%u/\n", web_port(w));
	else
		printf("http://127.0.0.1:%u/%s/\n", web_port(w), s->token);
	fflush(stdout);
	fprintf(stderr, "%s Ctrl-C ends.\n",
		s->token_file != NULL ? "Append the first part of the token's file and a slash to its address."
				      : "Only who knows this address can open it.");
	if (pthread_create(&judge, NULL, keep_estimates, s) != 0)
		fputs("mpitrace fleet: no thread: nodes and programs are not judged anew\n", stderr);
	for (;;)
		pause(); /* a signal ends us */
}

static int serve(int argc, char **argv)
{
	struct serving s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct error e;
	char token[WEB_TOKEN_CHARS + 1];
	if (argc < 2 || strcmp(argv[1], "serve") != 0)
		return usage_error("fleet", "mpitrace-web knows serve only");
	int code = parse(&s, argc - 1, argv + 1);
	if (code != 0)
		return code;
	if (find_token(&s, token, &e) < 0)
		return complain(&e);
	struct leads nobody = {0};
	if (s.leads != NULL && leads_read(s.leads, "", &nobody, &e) < 0)
		return complain(&e);
	estimate_at_first(&s);
	if (fleet_open(s.db, FLEET_READ, &s.f, &e) < 0)
		return complain(&e);
	s.token = token;
	return run(&s);
}

const struct command cmd_fleet = {"fleet", serve, FLEET_SUMMARY, FLEET_USAGE};
