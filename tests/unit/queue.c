/* queue.c - what a finisher asks Slurm's commands for: who answers, fails, prints too much or hangs; the words of the
 * job it submits; and how a job ended, in scontrol's words. The commands are scripts in PATH. */
#include "collect/queue.h"
#include "tests/unit/step_files.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char place[PATH_MAX];

static void begin(void)
{
	char path[2 * PATH_MAX];
	make_dir();
	cr_assert_not_null(realpath(dir, place));
	snprintf(path, sizeof(path), "%s:%s", place, getenv("PATH"));
	setenv("PATH", path, 1);
	unsetenv("SLURM_JOB_PARTITION");
	unsetenv("SLURM_JOB_ACCOUNT");
}

TestSuite(queue, .init = begin, .fini = remove_dir, .timeout = 60);

/* A command of that name; $place is where it may leave something. */
static void command(const char *name, const char *text)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", place, name);
	FILE *f = fopen(path, "w");
	cr_assert_not_null(f);
	fprintf(f, "#!/bin/sh\nplace='%s'\n%s\n", place, text);
	fclose(f);
	cr_assert_eq(chmod(path, 0700), 0);
}

static const char *left(const char *name)
{
	static char text[4096];
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", place, name);
	FILE *f = fopen(path, "r");
	cr_assert_not_null(f, "%s", path);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

static void forget(const char *name)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "%s/%s", place, name);
	cr_assert_eq(unlink(path), 0);
}

static int ask(const char *script, char *text, size_t cap_bytes)
{
	const char *argv[] = {"asked", "one", "two words", NULL};
	command("asked", script);
	return queue_ask(argv, text, cap_bytes);
}

Test(queue, who_answers_is_heard)
{
	char text[64];
	cr_expect_eq(ask("echo \"$1, $2\"", text, sizeof(text)), 0);
	cr_expect_str_eq(text, "one, two words\n");
	cr_expect_eq(ask("", text, sizeof(text)), 0);
	cr_expect_str_eq(text, "");
	cr_expect_eq(ask("echo a; sleep 0.3; echo b", text, sizeof(text)), 0);
	cr_expect_str_eq(text, "a\nb\n");
	cr_expect_eq(ask("cat; echo its standard error >&2", text, sizeof(text)), 0, "its standard input is empty");
	cr_expect_str_eq(text, "");
}

Test(queue, who_fails_or_is_not_there_is_an_error)
{
	char text[64];
	const char *nobody[] = {"no-such-command-at-all", NULL};
	cr_expect_eq(ask("echo no; exit 3", text, sizeof(text)), -EREMOTEIO);
	cr_expect_eq(ask("kill -9 $$", text, sizeof(text)), -EREMOTEIO);
	cr_expect_eq(queue_ask(nobody, text, sizeof(text)), -EREMOTEIO);
}

/* It and what it has started are ended. */
Test(queue, who_hangs_is_left_after_three_seconds)
{
	char text[64];
	struct timespec from, to;
	clock_gettime(CLOCK_MONOTONIC, &from);
	cr_expect_eq(ask("sleep 1000 & echo $! >$place/pid; echo a; wait", text, sizeof(text)), -ETIME);
	clock_gettime(CLOCK_MONOTONIC, &to);
	cr_expect_geq(to.tv_sec - from.tv_sec, 2);
	pid_t pid = atoi(left("pid"));
	for (int i = 0; i < 500 && kill(pid, 0) == 0; i++) /* until somebody has waited for it */
		usleep(10000);
	char state[64];
	snprintf(state, sizeof(state), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(state, "r");
	char letter = 'Z';
	if (f != NULL && fscanf(f, "%*d (%*[^)]) %c", &letter) != 1)
		letter = '?';
	cr_expect_eq(letter, 'Z', "%c", letter);
	if (f != NULL)
		fclose(f);
}

Test(queue, who_prints_more_than_there_is_room_for_is_not_believed)
{
	char text[16];
	cr_expect_eq(ask("echo 0123456789", text, sizeof(text)), 0);
	cr_expect_eq(ask("echo 0123456789012345; sleep 1000", text, sizeof(text)), -ETIME);
	cr_expect_str_eq(text, "012345678901234");
}

/* ---- a job ---- */

#define PRINTS_ITS_WORDS "for w; do echo \"[$w]\"; done >$place/words\n"

static int submit(const char *out, char job[QUEUE_JOB_MAX], struct error *e)
{
	e->text[0] = '\0';
	return queue_submit(out, 1, job, e);
}

static bool has_word(const char *word)
{
	char line[PATH_MAX + 64];
	snprintf(line, sizeof(line), "[%s]\n", word);
	return strstr(left("words"), line) != NULL;
}

Test(queue, a_job_runs_where_its_results_are_and_is_not_traced_itself)
{
	char job[QUEUE_JOB_MAX], out[PATH_MAX + 64], word[2 * PATH_MAX];
	struct error e;
	snprintf(out, sizeof(out), "%s/it's; $(results)", place);
	mkdir(out, 0700);
	command("sbatch", PRINTS_ITS_WORDS "echo '4711;cluster'");
	cr_expect_eq(submit(out, job, &e), 0);
	cr_expect_str_eq(job, "4711");
	snprintf(word, sizeof(word), "--chdir=%s", out);
	cr_expect(has_word(word) && has_word("--mpitrace=off") && has_word("--export=NONE") && has_word("--parsable"));
	cr_expect_null(strstr(left("words"), "--partition="));
	cr_expect_null(strstr(left("words"), "--account="));
	const char *wrap = strstr(left("words"), "[--wrap=exec '");
	cr_assert_not_null(wrap);
	cr_expect_not_null(strstr(wrap, "' finish \"$PWD\" --wait 60 --processes 1]"), "%s", wrap);
	cr_expect(has_word("--ntasks=1") && has_word("--mem=1G"));
	cr_expect_null(strstr(wrap, "results"), "no name of the user's is in its script");
}

Test(queue, a_job_goes_where_the_job_around_us_may_run)
{
	char job[QUEUE_JOB_MAX];
	struct error e;
	setenv("SLURM_JOB_PARTITION", "long", 1);
	setenv("SLURM_JOB_ACCOUNT", "physics", 1);
	command("sbatch", PRINTS_ITS_WORDS "echo 12");
	cr_expect_eq(submit(place, job, &e), 0);
	cr_expect_str_eq(job, "12");
	cr_expect(has_word("--partition=long") && has_word("--account=physics"));
}

Test(queue, a_job_has_a_task_for_each_process)
{
	char job[QUEUE_JOB_MAX];
	struct error e;
	command("sbatch", PRINTS_ITS_WORDS "echo 12");
	cr_expect_eq(queue_submit(place, 3, job, &e), 0);
	cr_expect(has_word("--ntasks=3") && has_word("--mem-per-cpu=1G"));
	cr_expect_not_null(strstr(left("words"), " --processes 3]"));
}

Test(queue, a_job_that_is_not_taken_is_an_error_that_says_so)
{
	char job[QUEUE_JOB_MAX];
	struct error e;
	command("sbatch", "exit 1");
	cr_expect_eq(submit(place, job, &e), -EREMOTEIO);
	cr_expect_str_eq(e.text, "sbatch does not take a job for it");
	command("sbatch", "echo sbatch: no number");
	cr_expect_eq(submit(place, job, &e), -EREMOTEIO);
	command("sbatch", "sleep 1000");
	cr_expect_eq(submit(place, job, &e), -ETIME);
	cr_expect_str_eq(e.text, "sbatch does not answer");
	cr_expect_eq(submit("/nonexistent", job, &e), -ENOENT);
	cr_expect_not_null(strstr(e.text, "/nonexistent: "));
}

/* ---- how one ended ---- */

static bool outcome(const char *state, const char *reason, char ret_state[32])
{
	char script[256];
	snprintf(script, sizeof(script), "echo \"JobId=$4 JobName=x JobState=%s Reason=%s Dependency=(null)\"", state,
		 reason);
	command("scontrol", script);
	return queue_outcome("7", 0, false, ret_state);
}

Test(queue, a_job_that_did_not_end_well_is_told_in_slurms_word)
{
	char state[32];
	cr_expect(outcome("FAILED", "NonZeroExitCode", state));
	cr_expect_str_eq(state, "FAILED");
	cr_expect(outcome("OUT_OF_MEMORY", "OutOfMemory", state));
	cr_expect_str_eq(state, "OUT_OF_MEMORY");
	cr_expect(outcome("COMPLETING", "TimeLimit", state), "its nodes are being freed");
	cr_expect_str_eq(state, "TIMEOUT");
	cr_expect(!outcome("COMPLETED", "None", state));
	cr_expect(!outcome("RUNNING", "None", state));
	command("scontrol", "exit 1");
	cr_expect(!queue_outcome("7", 0, false, state));
}

Test(queue, who_is_patient_asks_again_while_it_runs)
{
	char state[32];
	command("scontrol", "if [ -e $place/asked ]; then state=CANCELLED; else state=COMPLETING; fi; : >$place/asked\n"
			    "echo \" JobState=$state Reason=None\"");
	cr_expect(!queue_outcome("7", 0, false, state));
	forget("asked");
	cr_expect(queue_outcome("7", 0, true, state));
	cr_expect_str_eq(state, "CANCELLED");
}

/* What is said then of the job is of another run. */
Test(queue, a_run_that_was_requeued_is_told_whatever_became_of_the_next)
{
	char state[32];
	command("scontrol", "echo 'JobId=7 JobState=CANCELLED Reason=None Requeue=1 Restarts=2 BatchFlag=1'");
	cr_expect(queue_outcome("7", 1, false, state));
	cr_expect_str_eq(state, "REQUEUED");
	cr_expect(queue_outcome("7", 2, false, state));
	cr_expect_str_eq(state, "CANCELLED");
	command("scontrol", "echo 'JobId=7 JobState=PENDING Reason=BeginTime Requeue=1 Restarts=1 BatchFlag=1'");
	cr_expect(queue_outcome("7", 0, false, state));
	cr_expect_str_eq(state, "REQUEUED");
	cr_expect(!queue_outcome("7", 1, false, state));
}
