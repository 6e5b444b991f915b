/* fleet_rows.c - see fleet_rows.h. */
#include "fleet_rows.h"

#include "fleet/estimate.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Day 20150 is Monday, 2025-03-03. */
static const char names_and_jobs[] =
	"INSERT INTO names "
	"VALUES(1,1,'ann'),(2,1,'b<b>'),(3,2,'phys'),(4,4,'/opt/halo'),(5,4,'/opt/fft'),(6,8,'load_imbalance'),"
	"(7,8,'late_sender'),(8,5,'aaaaaaaa11'),(9,6,'M 1'),(10,7,'n1'),(11,7,'n2'),(12,9,'c'),(13,6,'M "
	"2'),(14,7,'n3');"
	"INSERT INTO jobs(key, cluster, job, user, account, partition, program, build, mpi, nodes, ranks, start, "
	"elapsed_s, core_hours,"
	" useful, wait, parallel, load_balance, issue, loss_core_hours, complete, hung_core_hours, state, "
	"idle_core_hours) VALUES"
	"('c:7.0:0',12,'7',1,3,0,4,8,9,2,8,20150*86400+37200,3600,800,0.5,0.25,0.5,0.9,6,200,1,0,'COMPLETED',0),"
	"('c:8.0:0',12,'8',1,3,0,4,8,13,2,16,20151*86400,60,400,0.75,0,0.8,0.9,0,0,1,0,'CANCELLED',50),"
	"('c:9.0:0',12,'',2,0,0,5,0,0,1,4,20151*86400+60,60,100,NULL,0.5,NULL,NULL,7,50,0,50,'FAILED',0);";

static const char estimated[] =
	"DELETE FROM node_effects; DELETE FROM changes;"
	"INSERT INTO node_effects VALUES(10,0.2,0.15,0.25,9,0,20,1,33,1740996000,1740990000,1741000000,0.01,0.001,0,0),"
	"(11,0,-0.01,0.01,0,1,7,0,0,NULL,NULL,NULL,0,1,0,0),(14,0.3,-0.1,0.4,1,1,3,0,0,NULL,NULL,NULL,0,1,0,0);"
	"INSERT INTO node_jobs VALUES(10,0,1,0.3),(10,1,2,0.125);"
	"INSERT INTO links VALUES(0,'s<1',0,0,0,30,40,20,9,0.123,5,0,1740996000,1740990000,1741000000,0.01,0.001),"
	"(1,'',4,1,5,3,4,20,8,0.2,5,0,NULL,NULL,NULL,NULL,NULL);"
	"INSERT INTO link_days VALUES(0,20150,11),(0,20151,1.6),(1,20150,7); INSERT INTO link_jobs "
	"VALUES(0,0,1,2),(1,0,2,1);"
	"INSERT INTO changes VALUES(4,20151,0.8,0.6,-0.25,-0.3,-0.2,1e-7,10,20,123,20150,20152),"
	"(1,20150,0.5,0.6,0.2,0.15,0.25,0.005,5,6,-44,20150,20150);"
	"INSERT INTO change_with VALUES(4,20151,'build','b','a','build b in place of a'),(4,20151,'MPI','M 2','M 1','M "
	"2 in place of M 1');"
	"INSERT INTO set_aside VALUES('x','2100','begins in the future');";

void rows_run(struct fleet *f, const char *sql)
{
	struct error e = {""};
	cr_assert_eq(fleet_run(f, sql, &e), 0, "%s: %s", sql, e.text);
}

struct fleet rows_fleet(void)
{
	struct fleet f;
	struct error e = {""};
	cr_assert_eq(fleet_open_memory(&f, &e), 0, "%s", e.text);
	rows_run(&f, names_and_jobs);
	cr_assert_eq(fleet_estimate(&f, &e), 0, "%s", e.text);
	rows_run(&f, estimated);
	return f;
}

char *rows_page(struct fleet *f, const struct fleet_report *r, const char *name)
{
	struct error e = {""};
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	cr_assert_eq(fleet_page(f, r, name, out, &e), 0, "%s: %s", name, e.text);
	fclose(out);
	return text;
}

static bool is_tag(const char *at, const char *name)
{
	size_t len = strlen(name);
	return *at == '<' && strncmp(at + 1, name, len) == 0 &&
	       (isspace((unsigned char)at[1 + len]) || strchr(">/", at[1 + len]) != NULL);
}

/* Behind the tag at `at`; what a script or style holds is none of the text. */
static const char *behind(const char *at)
{
	static const char *const hidden[] = {"script", "style", "title"};
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (is_tag(at, hidden[i])) {
			char end[20];
			snprintf(end, sizeof(end), "</%s>", hidden[i]);
			const char *closed = strstr(at, end);
			return closed != NULL ? closed + strlen(end) : at + strlen(at);
		}
	const char *end = strchr(at, '>');
	return end != NULL ? end + 1 : at + strlen(at);
}

/* How many bytes of the page are one of the text, and which. */
static size_t letter(const char *at, char *ret_c)
{
	static const char *const said[][2] = {{"&lt;", "<"},	{"&gt;", ">"},	   {"&amp;", "&"},
					      {"&quot;", "\""}, {"\xc2\xa0", " "}, {"\xe2\x80\xaf", " "}};
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		if (strncmp(at, said[i][0], strlen(said[i][0])) == 0) {
			*ret_c = *said[i][1];
			return strlen(said[i][0]);
		}
	*ret_c = isspace((unsigned char)*at) ? ' ' : *at;
	return 1;
}

char *rows_text(const char *page)
{
	char *text = calloc(1, strlen(page) + 2), c;
	size_t n = 0;
	for (const char *at = page; *at != '\0';) {
		c = *at != '<' ? '\0' : is_tag(at, "td") || is_tag(at, "th") ? '|' : is_tag(at, "tr") ? '/' : ' ';
		bool inside = *at == '<' && (is_tag(at, "b") || is_tag(at, "/b") || is_tag(at, "a") ||
					     is_tag(at, "/a") || is_tag(at, "span") || is_tag(at, "/span"));
		at += c == '\0' ? letter(at, &c) : (size_t)(behind(at) - at);
		if (!inside && (c != ' ' || (n > 0 && text[n - 1] != ' ' && text[n - 1] != '|')))
			text[n++] = c;
	}
	return text;
}

void rows_hold(const char *text, const char *const *wanted)
{
	const char *at = text, *shown = strstr(text, "<main>") != NULL ? strstr(text, "<main>") : text;
	for (; *wanted != NULL; wanted++) {
		const char *found = strstr(at, *wanted);
		cr_assert_not_null(found, "\"%s\" is not behind what came before it:\n%s", *wanted, shown);
		at = found + strlen(*wanted);
	}
}

static size_t name_of(const char *at, char name[32])
{
	size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789!");
	snprintf(name, 32, "%.*s", (int)len, at);
	return len;
}

#define DEPTH 64

void rows_sound(const char *page)
{
	static const char *const empty[] = {"!doctype", "meta", "br", "input"};
	char open[DEPTH][32], name[32];
	size_t depth = 0, cells = 0, head = 0;
	for (const char *at = strchr(page, '<'); at != NULL && *at != '\0'; at = strchr(behind(at), '<')) {
		bool closes = at[1] == '/', alone = false;
		name_of(at + 1 + closes, name);
		for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
			alone |= strcmp(name, empty[i]) == 0;
		const char *end = strchr(at, '>');
		cr_assert_not_null(end);
		alone |= end[-1] == '/' || strcmp(name, "script") == 0 || strcmp(name, "style") == 0 ||
			 strcmp(name, "title") == 0;
		if (closes) {
			cr_assert(depth > 0 && strcmp(open[depth - 1], name) == 0, "</%s> closes <%s>: %.80s", name,
				  depth > 0 ? open[depth - 1] : "", at);
			depth--;
		} else if (!alone) {
			cr_assert_lt(depth, DEPTH);
			snprintf(open[depth++], 32, "%s", name);
		}
		if (!closes && (strcmp(name, "td") == 0 || strcmp(name, "th") == 0))
			cells++;
		if (closes && strcmp(name, "tr") == 0) {
			head = head == 0 ? cells : head;
			cr_expect_eq(cells, head, "%zu cells below %zu: %.200s", cells, head,
				     at - (at - page > 160 ? 160 : at - page));
			cells = 0;
		}
		head = strcmp(name, "table") == 0 ? 0 : head;
	}
	cr_expect_eq(depth, 0, "<%s> is not closed", depth > 0 ? open[depth - 1] : "");
}

void rows_expect(struct fleet *f, const struct fleet_report *r, const char *name, const char *const *texts,
		 const char *const *raw)
{
	char *page = rows_page(f, r, name), *text = rows_text(page);
	rows_sound(page);
	rows_hold(text, texts);
	if (raw != NULL)
		rows_hold(page, raw);
	free(page);
	free(text);
}
