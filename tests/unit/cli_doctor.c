/* cli_doctor.c - what the doctor reads of files, of Slurm's configuration, and of a node. */
#include "cli_place.h"

#include "cli/doctor.h"
#include "cli/doctor_elf.h"

#include <elf.h>
#include <unistd.h>

TestSuite(programs, .init = begin, .fini = end);

/* ---- libraries, without loading them ---- */

static size_t copy_of_own(const char *name, size_t less)
{
	char *bytes = NULL;
	size_t n = 0, cap = 0, got = 1;
	FILE *f = fopen("/proc/self/exe", "r");
	cr_assert_not_null(f);
	for (; got > 0; n += got) {
		cap = cap < n + 65536 ? 2 * cap + 65536 : cap;
		bytes = realloc(bytes, cap);
		got = fread(bytes + n, 1, 65536, f);
	}
	fclose(f);
	put(name, bytes, n > less ? n - less : 0);
	free(bytes);
	return n;
}

/* An ELF file that says it has n of them, behind its end. */
static void set_sections(const char *name, uint16_t n)
{
	Elf64_Ehdr head;
	FILE *f = fopen(below(name), "r+");
	cr_assert(f != NULL && fread(&head, sizeof(head), 1, f) == 1);
	head.e_shnum = n;
	head.e_shoff = n > 0 ? UINT64_MAX / 2 : 0;
	rewind(f);
	cr_assert_eq(fwrite(&head, sizeof(head), 1, f), 1);
	fclose(f);
}

Test(programs, a_file_that_is_cut_empty_or_something_else_is_called_that)
{
	char head[64] = "\177ELF";
	size_t n = copy_of_own("whole", 0);
	copy_of_own("cut", 1000);
	copy_of_own("short", n - 100);
	put_text("empty", "");
	put_text("text", "hello, this is no program at all, whatever it is called\n");
	put_text("script", "#!/bin/sh\n");
	put("other", head, sizeof(head));
	cr_expect_null(program_wrong(below("whole")), "%s", program_wrong(below("whole")));
	cr_expect_null(program_wrong(below("script")));
	set_sections("whole", 0);
	cr_expect_null(program_wrong(below("whole")), "without names of sections it runs: %s",
		       program_wrong(below("whole")));
	set_sections("whole", 1);
	cr_expect_str_eq(program_wrong(below("whole")), "is truncated: its headers describe more than the file holds");
	cr_expect_str_eq(program_wrong(below("cut")), "is truncated: its headers describe more than the file holds");
	cr_expect_not_null(program_wrong(below("short")));
	cr_expect_str_eq(program_wrong(below("empty")), "is empty");
	cr_expect_str_eq(program_wrong(below("text")), "is not an ELF file");
	cr_expect_str_eq(elf_wrong(below("script")), "is not an ELF file");
	cr_expect_str_eq(program_wrong(below("other")), "is for another processor");
	cr_expect_str_eq(program_wrong(below("nothing")), "cannot be opened");
	cr_expect_str_eq(program_wrong(place), "is not a regular file");
}

/* What a plugin says of itself. */
__attribute__((visibility("default"))) const int known_number[2];
const int known_number[2] = {4711, 12};

Test(programs, data_of_a_library_are_read_by_their_name)
{
	int got[3] = {9, 9, 9};
	cr_expect(elf_has("/proc/self/exe", "known_number"));
	cr_expect_not(elf_has("/proc/self/exe", "known_numbe"));
	cr_expect_not(elf_has("/proc/self/exe", "known_number_"));
	cr_expect_not(elf_has("/proc/self/exe", "fopen"), "it needs that, and does not have it");
	cr_expect(elf_data("/proc/self/exe", "known_number", got, sizeof(got)));
	cr_expect(got[0] == 4711 && got[1] == 12 && got[2] == 0, "%d %d %d", got[0], got[1], got[2]);
	cr_expect_not(elf_data(below("nothing"), "known_number", got, sizeof(got)));
	cr_expect_eq(got[0], 0);
}

/* What can be written does not lie in the file where it does in memory. */
__attribute__((visibility("default"))) int known_data[2] = {13, 14};

Test(programs, data_that_can_be_written_are_found_in_the_file)
{
	int got[2];
	known_data[0] = 15;
	cr_expect(elf_data("/proc/self/exe", "known_data", got, sizeof(got)));
	cr_expect(got[0] == 13 && got[1] == 14, "%d %d", got[0], got[1]);
}

/* ---- whom a path is open to ---- */

Test(programs, the_first_directory_that_keeps_users_out_is_named)
{
	struct hindrance h = {.what = ""};
	if (geteuid() != 0)
		cr_skip_test("needs root: an ordinary user is asked for");
	cr_assert_eq(mkdir(below("a"), 0755), 0);
	put_text("a/file", "x");
	cr_assert_eq(chmod(below("a/file"), 0644), 0);
	cr_expect_not(path_hinders(below("a/file"), PATH_READ, &h), "%s", h.what);
	cr_expect(path_hinders(below("a/file"), PATH_RUN, &h));
	cr_expect_not_null(strstr(h.what, "a/file (mode 0644) cannot be run"), "%s", h.what);
	cr_assert_eq(chmod(below("a"), 0700), 0);
	cr_expect(path_hinders(below("a/file"), PATH_READ, &h));
	cr_expect_not_null(strstr(h.what, "/a (mode 0700) cannot be entered by ordinary users"), "%s", h.what);
	cr_expect_not_null(strstr(h.next, "chmod a+rx"), "%s", h.next);
	cr_assert_eq(symlink(below("a/file"), below("link")), 0);
	cr_expect(path_hinders(below("link"), PATH_READ, &h), "also behind a link");
	cr_expect(path_hinders(below("b"), PATH_READ, &h));
	cr_expect_not_null(strstr(h.what, "is not there"), "%s", h.what);
	cr_assert_eq(chmod(below("a"), 0755) + chown(below("a"), 0, 1), 0);
	cr_expect(path_hinders(below("a/b"), PATH_READ, &h));
	cr_expect_not(h.some, "no group has what is not there");
	cr_expect_str_eq(h.next, "", "and no mode mends it");
}

Test(programs, what_others_could_exchange_is_named)
{
	struct hindrance h;
	cr_assert_eq(mkdir(below("a"), 0755), 0);
	put_text("a/file", "x");
	cr_assert_eq(chmod(below("a/file"), 0644), 0);
	cr_expect_not(path_is_writable(below("a/file"), &h));
	cr_assert_eq(chmod(below("a/file"), 0646), 0);
	cr_expect(path_is_writable(below("a/file"), &h));
	cr_assert_eq(chmod(below("a/file"), 0644), 0);
	cr_assert_eq(chmod(below("a"), 0757), 0);
	cr_expect(path_is_writable(below("a/file"), &h));
	cr_expect_not_null(strstr(h.what, "who could replace what is in it"), "%s", h.what);
	cr_assert_eq(chmod(below("a"), 01777), 0);
	cr_expect_not(path_is_writable(below("a/file"), &h), "a sticky one lets nobody exchange what is another's");
}

/* ---- Slurm's configuration ---- */

static struct plugstack stack_of(const char *text)
{
	static struct plugstack p;
	setenv("SLURM_CONF", below("slurm.conf"), 1);
	put_text("slurm.conf", "ClusterName=c\n");
	put_text("plugstack.conf", text);
	plugstack_read(&p);
	return p;
}

Test(programs, the_plugin_is_found_with_its_arguments)
{
	struct plugstack p = stack_of("# ours\n\noptional /usr/lib/other.so x\n"
				      "optional\t/opt/lib/mpitrace.so spool=/var/x report_seconds=9 # and so on\n");
	cr_expect(p.there);
	cr_expect_eq(p.times, 1);
	cr_expect_str_eq(p.plugin, "/opt/lib/mpitrace.so");
	cr_expect_str_eq(p.config.spool, "/var/x");
	cr_expect_eq(p.config.report_seconds, 9);
	cr_expect_eq(p.wrong.level, VERDICT_OK, "%s", p.wrong.what);
	cr_expect_not(p.before_pyxis || p.spool_by_host);
	cr_expect(stack_of("optional /opt/mpitrace.so spool=/var/%n report_seconds=9\n").spool_by_host);
	cr_expect_not(stack_of("optional /opt/mpitrace.so report_seconds=9 libdir=/opt/%n\n").spool_by_host);
}

Test(programs, what_is_wrong_with_it_is_said_with_file_and_line)
{
	static const struct {
		const char *text, *said;
		enum verdict_level level;
	} cases[] = {
		{"required /opt/mpitrace.so\n", ":1: required: a failing plugin would stop jobs", VERDICT_BAD},
		{"\noptional /opt/mpitrace.so spol=/x\n", ":2: \"spol=/x\" is unknown and ignored", VERDICT_WARN},
		{"optional /opt/mpitrace.so spool_fs=disk\n", ":1: \"spool_fs=disk\" has no valid value", VERDICT_WARN},
		{"optonal /opt/mpitrace.so\n", "\"optonal\" is not optional, required or include", VERDICT_BAD},
		{"optonal /opt/x.so\n", "\"optonal\" is not optional", VERDICT_WARN},
		{"optional\n", ":1: the path is missing", VERDICT_WARN},
		{"optional /opt/libmpitrace.so\n", "names no plugin of mpitrace", VERDICT_BAD},
		{"include plugstack.conf\n", "files include each other without end", VERDICT_BAD},
		{"include missing.conf\n", "include missing.conf: there is no such file", VERDICT_WARN},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct plugstack p = stack_of(cases[i].text);
		cr_expect_eq(p.wrong.level, cases[i].level, "case %zu: %s", i, p.wrong.what);
		cr_expect_not_null(strstr(p.wrong.what, cases[i].said), "case %zu: %s", i, p.wrong.what);
	}
	cr_expect_eq(stack_of("include none.d/*.conf\n").wrong.level, VERDICT_OK, "a pattern may match nothing");
	cr_assert_eq(mkdir(below("more.d"), 0755), 0);
	struct plugstack p = stack_of("include more.d\n");
	cr_expect_eq(p.wrong.level, VERDICT_BAD);
	cr_expect_not_null(strstr(p.wrong.what, "more.d is not a regular file"), "%s", p.wrong.what);
}

Test(programs, the_worst_of_what_is_wrong_stays)
{
	struct plugstack p = stack_of("optional\nrequired /opt/mpitrace.so\noptional\n");
	cr_expect_eq(p.wrong.level, VERDICT_BAD);
	cr_expect_not_null(strstr(p.wrong.what, ":2:"), "%s", p.wrong.what);
}

Test(programs, a_container_plugin_behind_it_is_noticed)
{
	cr_expect(stack_of("optional /opt/mpitrace.so\noptional /opt/spank_pyxis.so\n").before_pyxis);
	cr_expect_not(stack_of("optional /opt/spank_pyxis.so\noptional /opt/mpitrace.so\n").before_pyxis);
}

Test(programs, includes_are_read_from_beside_the_file_that_has_them)
{
	cr_assert_eq(mkdir(below("more.d"), 0755), 0);
	put_text("more.d/a.conf", "optional /opt/mpitrace.so spool=/first\n");
	put_text("more.d/b.conf", "optional /opt/mpitrace.so spool=/second\n");
	struct plugstack p = stack_of("include more.d/*.conf\n");
	cr_expect_eq(p.wrong.level, VERDICT_OK, "%s", p.wrong.what);
	cr_expect_eq(p.times, 2);
	cr_expect_str_eq(p.config.spool, "/first", "the first counts");
}

Test(programs, a_line_that_slurm_cuts_is_told)
{
	static char text[5000];
	snprintf(text, sizeof(text), "optional /opt/mpitrace.so spool=/%04094d\n", 0);
	struct plugstack p = stack_of(text);
	cr_expect_eq(p.wrong.level, VERDICT_BAD);
	cr_expect_not_null(strstr(p.wrong.what, "Slurm cuts it in two"), "%s", p.wrong.what);
}

Test(programs, a_key_of_slurms_configuration_is_found_through_includes)
{
	char value[64] = "";
	setenv("SLURM_CONF", below("slurm.conf"), 1);
	put_text("slurm.conf", "clustername = here # ours\nInclude more.conf\nPlugStackConfigs=/no\n");
	put_text("more.conf", "PlugStackConfig=/etc/x.conf\n");
	cr_expect(slurm_conf_value("ClusterName", value, sizeof(value)));
	cr_expect_str_eq(value, "here");
	cr_expect(slurm_conf_value("PlugStackConfig", value, sizeof(value)));
	cr_expect_str_eq(value, "/etc/x.conf");
	cr_expect_not(slurm_conf_value("Cluster", value, sizeof(value)));
}

/* ---- what a node has ---- */

TestSuite(node, .init = begin, .fini = end);

bool tracer_elsewhere(const struct plugstack *p, struct verdict *v) /* another check, of the tracer */
{
	(void)p, (void)v;
	return false;
}

/* With a plugin of these arguments, in which @ is the place, and SlurmdSpoolDir below it. */
static struct verdict node_says(check_fn *check, const char *slurmd, const char *arguments)
{
	char text[1024];
	struct verdict v = {.what = ""};
	size_t n = (size_t)snprintf(text, sizeof(text), "optional /opt/mpitrace.so ");
	for (const char *c = arguments; *c != '\0'; c++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, *c == '@' ? "%s" : "%.1s", *c == '@' ? place : c);
	snprintf(text + n, sizeof(text) - n, "\n");
	stack_of(text);
	snprintf(text, sizeof(text), "ClusterName=c\nSlurmdSpoolDir=%s/%s\n", place, slurmd);
	put_text("slurm.conf", text);
	check(&v);
	return v;
}

static void expect_beside_slurmd(const char *slurmd, const char *expanded)
{
	char expected[512];
	struct verdict v = node_says(check_room, slurmd, "spool=@ spool_fs=none");
	snprintf(expected, sizeof(expected), "%s is on the file system of SlurmdSpoolDir (%s/%s)", place, place,
		 expanded);
	cr_expect_not_null(strstr(v.what, expected), "%s: %s", slurmd, v.what);
	cr_expect_eq(v.level, VERDICT_BAD);
}

Test(node, a_spool_beside_slurmds_is_told_with_the_name_of_the_host)
{
	char host[256] = "", path[300];
	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = '\0';
	snprintf(path, sizeof(path), "%s/x", host);
	expect_beside_slurmd("%n/x", path);
	expect_beside_slurmd("%h/x", path);
	expect_beside_slurmd("h/%x%", "h/%x%");
	cr_expect_eq(node_says(check_room, "x", "spool=@ spool_fs=none spool_shared=yes").level, VERDICT_WARN);
	cr_expect_eq(node_says(check_room, "x", "spool=@ spool_fs=tmpfs").level, VERDICT_OK);
	cr_expect_eq(node_says(check_room, "x", "spool=/proc/x spool_fs=none").level, VERDICT_OK,
		     "another file system");
}

Test(node, reports_that_are_not_made_yet_are_counted)
{
	char name[32];
	cr_expect_str_eq(node_says(check_late, "x", "spool=@").what, "0 reports on this node are not made yet");
	cr_assert_eq(mkdir(below("late"), 0755), 0);
	for (int i = 0; i < 21; i++) {
		struct verdict v = node_says(check_late, "x", "spool=@");
		cr_expect_eq(v.level, VERDICT_OK, "%d: %s", i, v.what);
		cr_expect_eq(atoi(v.what), i, "%s", v.what);
		snprintf(name, sizeof(name), "late/%d", i);
		put_text(name, "");
	}
	cr_expect_eq(node_says(check_late, "x", "spool=@").level, VERDICT_WARN);
	put_text("other", "");
	struct verdict v = node_says(check_late, "x", "spool=@/other");
	cr_expect_not_null(strstr(v.what, "only root can see: "), "%s", v.what);
}

Test(node, programs_that_root_starts_are_roots_and_nobody_elses)
{
	if (geteuid() != 0)
		cr_skip_test("needs root: files of others");
	static const char arguments[] = "bindir=@ libexecdir=@";
	copy_of_own("mpitrace", 0);
	copy_of_own("mpitrace-warden", 0);
	cr_assert_eq(chmod(below("mpitrace"), 0755) + chmod(below("mpitrace-warden"), 0755), 0);
	cr_expect_eq(node_says(check_programs, "x", arguments).level, VERDICT_OK, "%s",
		     node_says(check_programs, "x", arguments).what);
	cr_assert_eq(chown(below("mpitrace-warden"), 65534, 0), 0);
	struct verdict v = node_says(check_programs, "x", arguments);
	cr_expect_eq(v.level, VERDICT_BAD);
	cr_expect_not_null(strstr(v.what, "mpitrace-warden is not root's"), "%s", v.what);
	cr_assert_eq(chown(below("mpitrace-warden"), 0, 0) + chmod(below("mpitrace-warden"), 0757), 0);
	v = node_says(check_programs, "x", arguments);
	cr_expect_eq(v.level, VERDICT_BAD);
	cr_expect_not_null(strstr(v.what, "root runs"), "%s", v.what);
	cr_assert_eq(chmod(below("mpitrace-warden"), 0644), 0);
	cr_expect_not_null(strstr(node_says(check_programs, "x", arguments).what, "cannot be run"));
	cr_assert_eq(unlink(below("mpitrace")), 0);
	v = node_says(check_programs, "x", arguments);
	cr_expect_not_null(strstr(v.what, "mpitrace is not there: steps run untraced here"), "%s", v.what);
}

/* Eight files deep, of which each has the next one. */
Test(programs, a_key_of_slurms_configuration_is_found_eight_files_deep)
{
	char value[64], name[16], text[32];
	setenv("SLURM_CONF", below("0.conf"), 1);
	for (int deep = 7; deep < 9; deep++) {
		for (int i = 0; i < deep; i++) {
			snprintf(name, sizeof(name), "%d.conf", i);
			snprintf(text, sizeof(text), "Include %d.conf\n", i + 1);
			put_text(name, text);
		}
		snprintf(name, sizeof(name), "%d.conf", deep);
		put_text(name, "ClusterName=deep\n");
		cr_expect_eq(slurm_conf_value("ClusterName", value, sizeof(value)), deep < 8, "%d", deep);
	}
}

/* A node without Slurm has neither; where slurm.conf is elsewhere, this one counts. */
Test(programs, plugstack_is_looked_for_beside_slurms_configuration)
{
	struct plugstack p;
	setenv("SLURM_CONF", below("slurm.conf"), 1);
	plugstack_read(&p);
	cr_expect(!p.there && p.path[0] == '\0', "%s", p.path);
	put_text("slurm.conf", "ClusterName=c\n");
	plugstack_read(&p);
	cr_expect_not(p.there);
	cr_expect_str_eq(p.path, below("plugstack.conf"), "where one is to be written: %s", p.path);
	put_text("plugstack.conf", "optional /opt/mpitrace.so\n");
	unlink(below("slurm.conf"));
	plugstack_read(&p);
	cr_expect(p.there && p.times == 1);
}
