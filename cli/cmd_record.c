/* cmd_record.c - `mpitrace record FILE.mpix`: the job record that the step leaves in a site's outbox. */
#include "cli/cli.h"
#include "fleet/record.h"
#include "fleet/user.h"
#include "format/mpix.h"

#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
	const char *path, *user, *key;
};

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option names[] = {
		{"user", required_argument, NULL, 'u'}, {"site-key", required_argument, NULL, 'k'}, {NULL, 0, NULL, 0}};
	int c;
	optind = opterr = 0;
	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (c == 'u')
			o->user = optarg;
		else if (c == 'k')
			o->key = optarg;
		else
			return usage_error("record", "unknown option, or its value is missing");
	}
	if (optind + 1 != argc)
		return usage_error("record", "give one FILE.mpix");
	o->path = argv[optind];
	return -1;
}

/* The file's owner, unless told otherwise. */
static int take_user(const struct options *o, char ret_user[USER_TEXT_MAX], struct error *e)
{
	struct stat st;
	char name[USER_TEXT_MAX] = "";
	const struct passwd *p = o->user == NULL && stat(o->path, &st) == 0 ? getpwuid(st.st_uid) : NULL;
	snprintf(name, sizeof(name), "%s", o->user != NULL ? o->user : p != NULL ? p->pw_name : "");
	if (o->key != NULL)
		return user_hash_by(o->key, name, ret_user, e);
	snprintf(ret_user, USER_TEXT_MAX, "%s", name);
	return 0;
}

static int record(int argc, char **argv)
{
	struct options o = {0};
	struct error e;
	struct mpix_file *f = NULL;
	char user[USER_TEXT_MAX], *text = NULL;
	int code = parse(argc, argv, &o);
	if (code >= 0)
		return code;
	int rc = mpix_open(o.path, &f, &e);
	if (rc == 0)
		rc = take_user(&o, user, &e);
	if (rc == 0)
		rc = record_build(mpix_analysis(f),
				  &(struct record_source){
					  .user = user, .version = MPITRACE_VERSION, .without_paths = o.key != NULL},
				  &text, &e);
	if (rc == 0 && (puts(text) < 0 || fflush(stdout) != 0))
		rc = fail(&e, -EIO, "cannot write to standard output");
	free(text);
	if (f != NULL)
		mpix_close(f);
	if (rc < 0)
		fprintf(stderr, "mpitrace record: %s\n", e.text);
	return rc < 0 ? EXIT_BAD_INPUT : EXIT_DONE;
}

const struct command cmd_record = {"record", record, "print the job record of an analysed step",
				   "record FILE.mpix [--user NAME] [--site-key FILE]"};
