/* publish_forget.c - records of one user are removed wherever they went, those of all others stay; and a file that is
 * appended to holds whole batches, whatever lies there. */
#include "publishing.h"

#include "fleet/publish/forget.h"

#include "base/command.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(publish_forget, .init = begin, .fini = end, .timeout = 60);

static void use(const char *kind, answering_say say)
{
	use_for(kind, say, 1);
}

static void take(const char *id, const char *user)
{
	take_record(id, user, "");
}

static void waits(int64_t waiting, int64_t done)
{
	struct state_counts c;
	cr_assert_eq(state_counts(&s, d, &c, NULL), 0);
	cr_expect(c.waiting == waiting && c.done == done, "%lld wait, %lld are done", (long long)c.waiting,
		  (long long)c.done);
}

/* Its lines hold these, in this order, and there are no others. */
static void expect_lines(const char *const *ids)
{
	char line[400], id[40];
	size_t n = 0;
	FILE *in = fopen(out_path, "r");
	cr_assert_not_null(in);
	for (; fgets(line, sizeof(line), in) != NULL; n++) {
		cr_assert_not_null(ids[n], "one more: %s", line);
		snprintf(id, sizeof(id), "\"id\":\"%s\"", ids[n]);
		cr_expect_not_null(strstr(line, id), "%s is not in %s", id, line);
		cr_expect_eq(line[strlen(line) - 1], '\n');
	}
	cr_expect_null(ids[n]);
	fclose(in);
}

/* ---- a file ---- */

static void append_text(const char *text)
{
	FILE *out = fopen(out_path, "a");
	cr_assert_geq(fputs(text, out), 0);
	fclose(out);
}

Test(publish_forget, a_file_has_each_record_once_and_not_what_a_killed_run_left)
{
	char text[256];
	struct stat st;
	umask(0);
	use("file", NULL);
	for (char id[2] = "a"; id[0] <= 'd'; id[0]++)
		take(id, "u");
	send_it();
	waits(0, 4);
	append_text("{\"half");
	take("e", "u");
	send_it();
	expect_lines((const char *const[]){"a", "b", "c", "d", "e", NULL});
	cr_assert_eq(stat(out_path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0640);
	cr_expect_eq(publish_reach(d, l, text), 0);
	cr_expect_str_eq(text, "can be written");
}

Test(publish_forget, a_file_that_was_moved_away_is_begun_anew_and_another_is_taken_as_it_is)
{
	use("file", NULL);
	take("a", "u");
	send_it();
	cr_assert_eq(rename(out_path, path_of("old")), 0);
	append_text("{\"id\":\"theirs\"}\n");
	take("b", "u");
	send_it();
	expect_lines((const char *const[]){"theirs", "b", NULL});
	cr_assert_eq(truncate(out_path, 0), 0);
	take("c", "u");
	send_it();
	expect_lines((const char *const[]){"c", NULL});
}

Test(publish_forget, nothing_is_written_through_a_link_or_into_what_is_no_file)
{
	char text[256];
	use("file", NULL);
	take("a", "u");
	cr_assert_eq(symlink("elsewhere", out_path), 0);
	send_it();
	waits(1, 0);
	cr_expect_eq(publish_reach(d, l, text), -ELOOP);
	cr_expect_eq(access(path_of("elsewhere"), F_OK), -1);
	cr_assert_eq(unlink(out_path), 0);
	cr_assert_eq(mkfifo(out_path, 0600), 0);
	int reader = open(out_path, O_RDONLY | O_NONBLOCK);
	send_it();
	waits(1, 0);
	close(reader);
	cr_assert_eq(unlink(out_path), 0);
	send_it();
	waits(0, 1);
}

/* ---- what is said of who is forgotten ---- */

static int forget(const char *user, const char *wanted)
{
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	int rc = publish_forget_there(&s, d, l, user, out);
	fclose(out);
	cr_expect_str_eq(text, wanted, "%s", text);
	free(text);
	return rc;
}

Test(publish_forget, lines_of_a_file_go_and_its_rights_stay)
{
	struct stat st;
	use("file", NULL);
	take("a", "ann");
	take("b", "bob");
	take("c", "ann");
	take("d", "annie");
	send_it();
	cr_assert_eq(chmod(out_path, 0604), 0);
	append_text("{\"half");
	cr_expect_eq(forget("ann", "d: 2 records removed\n"), EXIT_DONE);
	expect_lines((const char *const[]){"b", "d", NULL});
	cr_assert_eq(stat(out_path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0604);
	cr_expect_eq(access(path_of("out.new"), F_OK), -1);
	cr_expect_eq(forget("ann", "d: 0 records removed\n"), EXIT_DONE);
	cr_expect_eq(access(path_of("out.new"), F_OK), -1);
	take("e", "bob");
	send_it();
	expect_lines((const char *const[]){"b", "d", "e", NULL});
}

Test(publish_forget, a_file_that_is_none_is_said)
{
	char wanted[200];
	use("file", NULL);
	cr_assert_eq(symlink("elsewhere", out_path), 0);
	snprintf(wanted, sizeof(wanted),
		 "d: %s: Too many levels of symbolic links; run this again when it can be reached\n", out_path);
	cr_expect_eq(forget("ann", wanted), EXIT_LATER);
}

/* Of elasticsearch: how many there are, then removed, then asked until there are none. */
static int left[] = {3, 1, 0};
static int asked;

static const char *search(int n, const char *head, const char *body, const char **ret_body)
{
	static char answer[60];
	(void)n, (void)body;
	if (strstr(head, "_delete_by_query") != NULL)
		return "200 OK";
	snprintf(answer, sizeof(answer), "{\"hits\":{\"total\":%d}}", left[asked < 2 ? asked : 2]);
	asked++;
	*ret_body = answer;
	return "200 OK";
}

Test(publish_forget, a_server_is_asked_told_and_asked_again)
{
	use("elasticsearch", search);
	cr_expect_eq(forget("ann", "d: 3 records removed\n"), EXIT_DONE);
	cr_assert_eq(server.n, 4);
	cr_expect_not_null(strstr(server.heads[0], "POST /i/_search"), "%s", server.heads[0]);
	cr_expect_not_null(strstr(server.heads[0], "Content-Type: application/json"));
	cr_expect_not_null(strstr(server.heads[1], "POST /i/_delete_by_query"));
	cr_expect_not_null(strstr(server.bodies[1], "ann"));
	cr_expect_eq(forget("ann", "d: 0 records removed\n"), EXIT_DONE);
	cr_expect_eq(server.n, 5, "who has none is not told");
}

Test(publish_forget, a_server_that_does_not_remove_them_is_said)
{
	use("elasticsearch", search);
	left[2] = 2;
	cr_expect_eq(forget("ann", "d: still there: 2 records; run this again\n"), EXIT_LATER);
}

static const char *nonsense(int n, const char *head, const char *body, const char **ret_body)
{
	(void)n, (void)head, (void)body;
	*ret_body = "what";
	return "200 OK";
}

static const char *no(int n, const char *head, const char *body, const char **ret_body)
{
	(void)n, (void)head, (void)body, (void)ret_body;
	return "403 No";
}

Test(publish_forget, an_answer_that_is_not_understood_is_no_answer)
{
	use("elasticsearch", nonsense);
	cr_expect_eq(
		forget("ann",
		       "d: its answer is not understood: status 200: what; run this again when it can be reached\n"),
		EXIT_LATER);
	server.say = no;
	cr_expect_eq(forget("ann", "d: status 403: ; run this again when it can be reached\n"), EXIT_LATER);
}

static const char *tells_nothing(int n, const char *head, const char *body, const char **ret_body)
{
	(void)n, (void)body, (void)ret_body;
	return strstr(head, "_delete_by_query") != NULL ? "200 OK" : "403 No";
}

Test(publish_forget, one_that_does_not_say_how_many_is_told_nothing)
{
	use("elasticsearch", tells_nothing);
	cr_expect_eq(forget("ann", "d: status 403: ; run this again when it can be reached\n"), EXIT_LATER);
	cr_expect_eq(server.n, 1);
}

Test(publish_forget, one_that_cannot_be_asked_is_told)
{
	use("influxdb", nonsense);
	cr_expect_eq(forget("ann", "d: was told to remove them, and agreed\n"), EXIT_DONE);
	cr_expect_eq(server.n, 1);
	server.say = no;
	cr_expect_eq(forget("ann", "d: status 403: ; run this again when it can be reached\n"), EXIT_LATER);
}

Test(publish_forget, sums_have_nobodys_name_and_who_runs_a_webhook_must_remove_them)
{
	use("pushgateway", NULL);
	cr_expect_eq(forget("ann", "d: has sums, and no user's name\n"), EXIT_DONE);
	link_destroy(d, l);
	d->kind = publish_kind_find("webhook");
	l = link_create(d);
	cr_expect_eq(forget("ann", "d: who runs it must remove them: a webhook cannot be told\n"), EXIT_PARTIAL);
	cr_expect_eq(server.n, 0);
}

/* ---- what was laid out ---- */

static void lay(const char *name, const char *text)
{
	FILE *out = fopen(path_of(name), "w");
	cr_assert_geq(fputs(text, out), 0);
	fclose(out);
}

Test(publish_forget, letters_of_theirs_go_and_no_other_files)
{
	use("pushgateway", NULL);
	d->dead_letters = place;
	lay("a.json", "{\"record\":{\"user\":\"ann\"}}");
	lay("b.json", "{\"record\":{\"user\":\"bob\"}}");
	lay("c.json", "{\"user\":\"ann\"}");
	lay("d.json", "no");
	forget("ann", "d: has sums, and no user's name\n");
	cr_expect_eq(access(path_of("a.json"), F_OK), -1);
	for (char name[] = "b.json"; name[0] <= 'd'; name[0]++)
		cr_expect_eq(access(path_of(name), F_OK), 0, "%s", name);
	char nowhere[128];
	snprintf(nowhere, sizeof(nowhere), "%s", path_of("nowhere"));
	d->dead_letters = nowhere;
	cr_expect_eq(forget("ann", "d: has sums, and no user's name\n"), EXIT_DONE, "no directory, no letters");
	d->dead_letters = "/dev/null";
	cr_expect_eq(forget("ann", "d: /dev/null: Not a directory; run this again when it can be reached\n"),
		     EXIT_LATER);
}

/* ---- the state ---- */

Test(publish_forget, the_state_knows_nothing_of_them_any_more)
{
	struct error e = {""};
	use("file", NULL);
	take("a", "ann");
	take("b", "bob");
	send_it();
	take("c", "ann");
	take("d", "bob");
	take("e", "x ann");
	cr_assert_eq(publish_forget_here(&s, "ann", &e), 0, "%s", e.text);
	waits(2, 2);
	send_it();
	expect_lines((const char *const[]){"a", "b", "d", "e", NULL});
	take("b", "bob");
	take("a", "ann"); /* nobody knows it now */
	send_it();
	expect_lines((const char *const[]){"a", "b", "d", "e", "a", NULL});
}
