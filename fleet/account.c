/* account.c - see account.h. In: sacct's lines, of which only the names of jobs are a user's words: they are asked for
 * alone, so that a name with line breaks can say nothing but names.  Out: fields of records. */
#include "fleet/account.h"
#include "base/clock.h"
#include "fleet/fields.h"
#include "fleet/hours.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define GO_ON_MS 5000	       /* so often whoever waits does something else */
#define BYTES_MOST (64u << 20) /* of sacct's answer */
#define SEPARATOR '\x1f'
#define NAME_BYTES_MOST 120u /* a record has room for them: RECORD_BYTES_MADE */
#define CLOCKS_DIFFER_S \
	300.0 /* between a record's beginning and Slurm's: more is another run of a job that was requeued */

#define SECONDS_ARE_WHOLE_S 1.0 /* sacct's */
#define SETTLED_S 15.0		/* after the end of a step: slurmctld tells slurmdbd of jobs every few seconds */
#define UNTOLD_S 120.0		/* then nothing more is told */

/* ---- the table ---- */

#define FIELD_ROW(name, kind, of, column) {#name, FIELD_##kind, OF_##of, column},
static const struct field {
	const char *name;
	enum field_kind kind;
	enum field_of of;
	const char *column;
} fields[] = {RECORD_FIELDS(FIELD_ROW)};

/* Columns that are asked for beside those of the fields. */
enum { COLUMN_ID, COLUMN_CLUSTER, COLUMN_USER, COLUMNS_OWN };
#define COLUMNS (COLUMNS_OWN + RECORD_FIELD_COUNT)

static const char *column_of(size_t i)
{
	static const char *const own[COLUMNS_OWN] = {"JobIDRaw", "Cluster", "User"};
	if (i < COLUMNS_OWN)
		return own[i];
	return i - COLUMNS_OWN == RECORD_FIELD_name ? "Cluster"
						    : fields[i - COLUMNS_OWN].column; /* a name is asked for alone */
}

/* A line: a job, or (with a point in its id) a step. */
struct row {
	const char *columns[COLUMNS];
};

struct account {
	struct buf text, names;
	VEC(struct row) rows;
	VEC(struct row) named; /* id and name only */
};

/* ---- sacct ---- */

static void run(int to, char *const *words)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	setenv("SLURM_TIME_FORMAT", "%s", 1);
	if (dup2(null, 0) < 0 || dup2(to, 1) < 0 || dup2(null, 2) < 0)
		_exit(127);
	execvp(words[0], words);
	_exit(127);
}

static int read_all(int fd, const struct account_wait *wait, struct buf *to)
{
	int64_t until = now_ms() + PATIENCE_MS;
	for (;;) {
		struct pollfd p = {fd, POLLIN, 0};
		int64_t left = until - now_ms();
		int got = left > 0 ? poll(&p, 1, (int)(left < GO_ON_MS ? left : GO_ON_MS)) : 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0 && left > GO_ON_MS) {
			if (wait != NULL)
				wait->go_on(wait->context);
			continue;
		}
		if (got <= 0)
			return got < 0 ? -errno : -ETIMEDOUT;
		uint8_t *room = buf_reserve(to, 65536);
		if (room == NULL || to->len_bytes > BYTES_MOST)
			return -E2BIG;
		ssize_t n = read(fd, room, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		to->len_bytes += (size_t)n;
	}
}

static int ask(const char *jobs, const char *columns, bool jobs_only, const struct account_wait *wait,
	       struct buf *ret_text, struct error *e)
{
	char format[512], separator[] = {'-', '-', 'd', 'e', 'l', 'i', 'm', 'i', 't', 'e', 'r', '=', SEPARATOR, '\0'};
	char *words[] = {"sacct",   "-a", "-L",	  "-D", "-n",	      "-P",
			 separator, "-o", format, "-j", (char *)jobs, jobs_only ? "-X" : NULL,
			 NULL};
	int ends[2], status = 0;
	snprintf(format, sizeof(format), "%s", columns);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return fail(e, -errno, "sacct: %s", strerror(errno));
	pid_t pid = fork();
	if (pid == 0)
		run(ends[1], words);
	close(ends[1]);
	int rc = pid > 0 ? read_all(ends[0], wait, ret_text) : -errno;
	close(ends[0]);
	if (pid > 0 && rc < 0)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	buf_u8(ret_text, 0);
	if (rc == 0 && buf_failed(ret_text))
		rc = -ENOMEM;
	if (rc < 0)
		return fail(e, rc, "sacct: %s", strerror(-rc));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return fail(e, -ENOENT, "sacct cannot be run: is it in PATH?");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0
		       ? 0
		       : fail(e, -EIO, "sacct fails: run `sacct -a` as this user to see why");
}

/* A job's number, or a step's id: digits first. */
static bool is_id(const char *text)
{
	return isdigit((unsigned char)text[0]) &&
	       strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz.+_") == strlen(text);
}

/* Cuts text into lines and columns; a line that is none of ours is passed over. */
static int split(char *text, size_t columns, struct account *a, bool named)
{
	for (char *line; (line = strsep(&text, "\n")) != NULL;) {
		struct row r = {{NULL}};
		size_t n = 0;
		for (char *at = line, *cell; n < columns && (cell = strsep(&at, (char[]){SEPARATOR, '\0'})) != NULL;)
			r.columns[n++] = cell;
		if (n == columns && is_id(r.columns[COLUMN_ID]) &&
		    (named ? vec_push(&a->named, r) : vec_push(&a->rows, r)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool join_ids(const char *const *jobs, size_t n, struct buf *to)
{
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		size_t digits = strspn(jobs[i], "0123456789");
		if (digits == 0 || digits > 18 || jobs[i][digits] != '\0')
			continue;
		buf_printf(to, "%s%s", any ? "," : "", jobs[i]);
		any = true;
	}
	buf_u8(to, 0);
	return any && !buf_failed(to);
}

int account_ask(const char *const *jobs, size_t n, const struct account_wait *wait, struct account **ret_a,
		struct error *e)
{
	_cleanup_buf_ struct buf ids = {0}, columns = {0};
	struct account *a = calloc(1, sizeof(*a));
	bool any = join_ids(jobs, n, &ids);
	int rc = a != NULL ? 0 : fail(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < COLUMNS; i++)
		buf_printf(&columns, "%s%s", i > 0 ? "," : "", column_of(i));
	buf_u8(&columns, 0);
	if (rc == 0 && any)
		rc = ask((const char *)ids.data, (const char *)columns.data, false, wait, &a->text, e);
	if (rc == 0 && any)
		rc = ask((const char *)ids.data, "JobIDRaw,JobName", true, wait, &a->names, e);
	if (rc == 0 && any &&
	    (split((char *)a->text.data, COLUMNS, a, false) < 0 || split((char *)a->names.data, 2, a, true) < 0))
		rc = fail(e, -ENOMEM, "out of memory");
	if (rc < 0)
		account_free(a);
	else
		*ret_a = a;
	return rc;
}

void account_free(struct account *a)
{
	if (a == NULL)
		return;
	vec_done(&a->rows);
	vec_done(&a->named);
	buf_done(&a->text);
	buf_done(&a->names);
	free(a);
}

/* ---- which lines ---- */

static const char *text_at(const struct row *r, enum record_field f)
{
	return r->columns[COLUMNS_OWN + f];
}

static double time_at(const struct row *r, enum record_field f)
{
	char *end;
	double t = strtod(text_at(r, f), &end);
	return end != text_at(r, f) && *end == '\0' && t > 0 ? t : NAN;
}

static double start_of(const cJSON *record)
{
	struct tm tm = {0};
	const char *end = strptime(json_text(record, "start", ""), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return end != NULL ? (double)timegm(&tm) : NAN;
}

/* The line of that id that began nearest to `start`: a job that was requeued has several. */
static const struct row *find(const struct account *a, const char *id, const char *cluster, double start)
{
	const struct row *best = NULL;
	double nearest = CLOCKS_DIFFER_S;
	for (size_t i = 0; i < a->rows.n; i++) {
		const struct row *r = &a->rows.at[i];
		if (strcmp(r->columns[COLUMN_ID], id) != 0 ||
		    (*cluster != '\0' && strcasecmp(r->columns[COLUMN_CLUSTER], cluster) != 0))
			continue;
		double off = fabs(time_at(r, RECORD_FIELD_start) - start);
		if (off <= nearest) {
			best = r;
			nearest = off;
		}
	}
	return best;
}

/* The line of the job that was there when its step began. */
static const struct row *job_of(const struct account *a, const char *job, const struct row *step)
{
	const struct row *best = NULL;
	double begin = time_at(step, RECORD_FIELD_start);
	for (size_t i = 0; i < a->rows.n; i++) {
		const struct row *r = &a->rows.at[i];
		double from = time_at(r, RECORD_FIELD_start);
		if (strcmp(r->columns[COLUMN_ID], job) != 0 ||
		    strcmp(r->columns[COLUMN_CLUSTER], step->columns[COLUMN_CLUSTER]) != 0 || !(from <= begin))
			continue;
		if (best == NULL || from > time_at(best, RECORD_FIELD_start))
			best = r;
	}
	return best;
}

/* Has slurmdbd been told all of the job, and not only of its steps? Those come first, what a job is made of some
 * seconds later, and if it ended meanwhile, perhaps never. */
static bool is_told(const struct row *job, const struct row *step)
{
	double ago = (double)time(NULL) - time_at(step, RECORD_FIELD_end);
	return ago >= (*text_at(job, RECORD_FIELD_partition) != '\0' ? SETTLED_S : UNTOLD_S);
}

/* ---- values ---- */

static void put(cJSON *record, const char *name, cJSON *value)
{
	if (!cJSON_ReplaceItemInObjectCaseSensitive(record, name, value))
		cJSON_AddItemToObject(record, name, value);
}

static void put_part(cJSON *record, const char *name, const char *text, size_t len)
{
	char part[NAME_BYTES_MOST + 1];
	if (len > NAME_BYTES_MOST)
		for (len = NAME_BYTES_MOST; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--;
	snprintf(part, sizeof(part), "%.*s", (int)len, text);
	cJSON_DeleteItemFromObjectCaseSensitive(record, name);
	json_put_text(record, name, part);
}

static void put_number(cJSON *record, const char *name, const char *text)
{
	char *end;
	double value = strtod(text, &end);
	if (end != text && (*end == '\0' || *end == ':') && value >= 0)
		put(record, name, cJSON_CreateNumber(value));
}

/* 1.5G, 4000M, 100K, and "n" or "c" behind it in older versions. A number that sacct has no unit for ("16?", of what
 * was never measured) is none. */
static void put_bytes(cJSON *record, const char *name, const char *text)
{
	static const char units[] = "KMGTPE";
	char *end;
	double value = strtod(text, &end);
	const char *unit = *end != '\0' ? strchr(units, toupper((unsigned char)*end)) : NULL;
	const char *rest = unit != NULL ? end + 1 : end;
	if (end == text || !(value >= 0) || rest[strspn(rest, "nc")] != '\0')
		return;
	put(record, name, cJSON_CreateNumber(round(unit != NULL ? ldexp(value, 10 * (int)(unit - units + 1)) : value)));
}

static void put_time(cJSON *record, const char *name, const char *text)
{
	char *end, said[32];
	time_t t = (time_t)strtoll(text, &end, 10);
	struct tm tm;
	if (end != text && *end == '\0' && t > 0 && gmtime_r(&t, &tm) != NULL &&
	    strftime(said, sizeof(said), "%Y-%m-%dT%H:%M:%SZ", &tm) > 0)
		put(record, name, cJSON_CreateString(said));
}

static void put_behind(cJSON *record, const char *name, const char *text, char sign)
{
	const char *at = strchr(text, sign);
	if (at != NULL)
		put_number(record, name, at + 1);
}

static void put_before(cJSON *record, const char *name, const char *text, char sign)
{
	const char *at = strchr(text, sign);
	if (at != NULL)
		put_part(record, name, text, (size_t)(at - text));
}

static void put_gpus(cJSON *record, const char *name, const char *text)
{
	static const char gpus[] = "gres/gpu=";
	const char *at = strstr(text, gpus);
	char digits[24] = "0";
	if (at != NULL)
		snprintf(digits, sizeof(digits), "%.*s", (int)strspn(at + sizeof(gpus) - 1, "0123456789"),
			 at + sizeof(gpus) - 1);
	if (*text != '\0')
		put_number(record, name, digits);
}

static void put_field(cJSON *record, const struct field *f, const char *text)
{
	if (f->kind == FIELD_TEXT && *text != '\0')
		put_part(record, f->name, text, strlen(text));
	else if (f->kind == FIELD_STATE && *text != '\0')
		put_part(record, f->name, text, strcspn(text, " +"));
	else if (f->kind == FIELD_COUNT || f->kind == FIELD_NUMBER || f->kind == FIELD_CODE)
		put_number(record, f->name, text);
	else if (f->kind == FIELD_SIGNAL)
		put_behind(record, f->name, text, ':');
	else if (f->kind == FIELD_BYTES)
		put_bytes(record, f->name, text);
	else if (f->kind == FIELD_TIME)
		put_time(record, f->name, text);
	else if (f->kind == FIELD_ARRAY || f->kind == FIELD_HET)
		put_before(record, f->name, text, f->kind == FIELD_ARRAY ? '_' : '+');
	else if (f->kind == FIELD_TASK || f->kind == FIELD_OFFSET)
		put_behind(record, f->name, text, f->kind == FIELD_TASK ? '_' : '+');
	else if (f->kind == FIELD_GPUS)
		put_gpus(record, f->name, text);
}

static const char *name_of(const struct account *a, const char *job)
{
	const char *name = "";
	for (size_t i = 0; i < a->named.n; i++)
		if (strcmp(a->named.at[i].columns[0], job) == 0)
			name = a->named.at[i].columns[1];
	return name;
}

/* A record cannot have been at work for longer than its step was there, whatever it says. */
static void bound_elapsed(cJSON *record, const struct row *step)
{
	double span = time_at(step, RECORD_FIELD_end) - time_at(step, RECORD_FIELD_start) + SECONDS_ARE_WHOLE_S;
	if (span < json_number(record, "elapsed_s"))
		put(record, "elapsed_s", cJSON_CreateNumber(span));
}

/* Where users are hidden, what they called their job is, too. */
static bool is_hidden(const char *user)
{
	return *user == '\0' || strncmp(user, "h:", 2) == 0;
}

enum account_fate account_join(const struct account *a, cJSON *record)
{
	char id[128];
	const char *job = json_text(record, "job_id", ""), *user = json_text(record, "user", "");
	const char *cluster = json_text(record, "cluster", "");
	snprintf(id, sizeof(id), "%.40s.%.40s", job, json_text(record, "step_id", ""));
	if (*job == '\0' || strcmp(job, "0") == 0)
		return ACCOUNT_NONE;
	const struct row *step = find(a, id, cluster, start_of(record));
	const struct row *whole = step != NULL ? job_of(a, job, step) : NULL;
	if (whole == NULL || isnan(time_at(step, RECORD_FIELD_end)) || !is_told(whole, step))
		return ACCOUNT_LATER;
	if (!is_hidden(user) && strcmp(whole->columns[COLUMN_USER], user) != 0)
		return ACCOUNT_NONE;
	for (size_t i = 0; i < RECORD_FIELD_COUNT; i++)
		if (i != RECORD_FIELD_name)
			put_field(record, &fields[i],
				  text_at(fields[i].of == OF_STEP ? step : whole, (enum record_field)i));
		else if (!is_hidden(user))
			put_field(record, &fields[i], name_of(a, job));
	bound_elapsed(record, step);
	record_put_hours(record);
	return ACCOUNT_JOINED;
}
