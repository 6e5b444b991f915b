/* death.c - a rank that ended without MPI_Finalize takes the others with it: which one was first, how, in which call,
 * and who waited for it since when. */
#include "postproc/issues/issues.h"
#include "postproc/read/exits.h"
#include "base/units.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#define DEATH_SEVERITY 1.0

/* ---- how ---- */

static const struct {
	int number;
	const char *name, *next;
} signals[] = {
	{SIGSEGV, "segmentation fault",
	 "Run it in a debugger or look at the core file (ulimit -c unlimited); compiled with -fsanitize=address it "
	 "says which "
	 "access that was."},
	{SIGBUS, "bus error",
	 "Run it in a debugger; a memory-mapped file that was cut, or a full /dev/shm, does this as well."},
	{SIGFPE, "arithmetic error", "Run it in a debugger: a division by zero of integers, most often."},
	{SIGILL, "illegal instruction", "Compile for the processor of these nodes (-march)."},
	{SIGABRT, "abort",
	 "Read its standard error: an assertion, a failed allocation or MPI itself ended the program."},
	{SIGKILL, "killed",
	 "See whether memory ran out (sacct -o MaxRSS, dmesg), or whether the job was cancelled or over its time."},
	{SIGTERM, "terminated", "See whether the job was cancelled or over its time limit (sacct -o State)."},
	{SIGXCPU, "processor time limit", "Ask for more time, or write checkpoints."},
	{SIGALRM, "alarm", "The program set itself a time limit: see what it waited for."},
	{SIGPIPE, "broken pipe", "See who closed the pipe or the socket that it wrote to."},
	{SIGINT, "interrupted", "Somebody pressed Ctrl-C, or the job was cancelled."},
};

static const struct open_sig *open_of(const struct process *p)
{
	return p != NULL && p->open.n > 0 && !p->aborted ? &p->open.at[0] : NULL;
}

static const char *next_step(const struct process *p)
{
	if (p->have_exit && WIFSIGNALED(p->exit_status))
		for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
			if (signals[i].number == WTERMSIG(p->exit_status))
				return signals[i].next;
	if (p->have_exit && WIFEXITED(p->exit_status) && WEXITSTATUS(p->exit_status) == 0)
		return "Look for a return from main, exit() or STOP behind the call named here.";
	if (p->have_exit && WIFEXITED(p->exit_status) && open_of(p) != NULL)
		return "Read standard error: out of a call the library ends a rank after an error, or when its "
		       "launcher is "
		       "gone.";
	return "Read what it wrote to standard error, and look at the call named here.";
}

static void describe_end(const struct process *p, char *text, size_t size)
{
	const char *name = NULL;
	int signal_number = p->have_exit && WIFSIGNALED(p->exit_status) ? WTERMSIG(p->exit_status) : 0;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		name = signals[i].number == signal_number ? signals[i].name : name;
	if (p->aborted)
		snprintf(text, size, "called MPI_Abort");
	else if (signal_number != 0 && name != NULL)
		snprintf(text, size, "was killed by signal %d (%s)", signal_number, name);
	else if (signal_number != 0)
		snprintf(text, size, "was killed by signal %d", signal_number);
	else if (p->have_exit)
		snprintf(text, size, "exited with code %d %s MPI_Finalize", WEXITSTATUS(p->exit_status),
			 p->finalized ? "after" : "without");
	else
		snprintf(text, size, "ended without MPI_Finalize (how is not recorded)");
}

/* ---- where ---- */

/* ", in MPI_Send in main (x.c:3)": the call it never came back from; or behind which it computed. */
static uint32_t describe_place(const struct step *s, const struct process *p, char *text, size_t size)
{
	const struct open_sig *o = open_of(p);
	uint32_t last = p->threads.n > 0 ? p->threads.at[0].last_sig : 0;
	const struct sig *sig = o != NULL ? &p->sigs.at[o->sig] : last > 0 ? &p->sigs.at[last - 1] : NULL;
	char site[256];
	text[0] = '\0';
	if (sig == NULL || p->finalized)
		return NONE;
	const char *how = o != NULL ? ", in " : p->aborted ? ", " : ", outside of MPI, after ";
	site_text(s, sig->site, site, sizeof(site));
	snprintf(text, size, "%s%s", how, site[0] != '\0' ? site + strlen(" at ") : sig_op(s, sig));
	return sig->site;
}

/* ---- who waited ---- */

struct waiters {
	uint32_t n, site;
	const struct sig *sig; /* of the call that most of them are in */
	int64_t since_ns;      /* the first of all; TIME_ABSENT: not known */
};

/* So the wait-for graph says. */
static bool is_waiting(const struct process *p, const struct process *dead)
{
	const struct open_sig *o = open_of(p);
	return p != dead && o != NULL && o->waits;
}

/* The call that most are in, by majority vote (Boyer, Moore). */
static struct waiters find_waiters(const struct step *s, const struct process *dead)
{
	struct waiters w = {.site = NONE, .since_ns = TIME_ABSENT};
	uint32_t votes = 0;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		if (p == NULL || !is_waiting(p, dead))
			continue;
		const struct open_sig *o = open_of(p);
		const struct sig *sig = &p->sigs.at[o->sig];
		w.n++;
		if (o->enter_ns != TIME_ABSENT && (w.since_ns == TIME_ABSENT || o->enter_ns < w.since_ns))
			w.since_ns = o->enter_ns;
		if (votes == 0) {
			w.sig = sig;
			w.site = sig->site;
		}
		votes += w.sig->op == sig->op && w.site == sig->site ? 1 : votes > 0 ? -1u : 0;
	}
	return w;
}

/* What others spent in those calls until it died. */
static double waited_s(const struct step *s, const struct process *dead)
{
	double ns = 0;
	for (uint32_t r = 0; r < s->nranks; r++) {
		const struct process *p = s->ranks[r];
		if (p != NULL && is_waiting(p, dead) && open_of(p)->enter_ns != TIME_ABSENT &&
		    dead->end_ns != TIME_ABSENT && open_of(p)->enter_ns < dead->end_ns)
			ns += (double)(dead->end_ns - open_of(p)->enter_ns);
	}
	return ns / 1e9;
}

static void describe_waiters(const struct step *s, const struct waiters *w, char *text, size_t size)
{
	char since[32], site[256];
	text[0] = '\0';
	if (w->n == 0)
		return;
	site_text(s, w->site, site, sizeof(site));
	int n = snprintf(text, size, " %u other rank%s %s waiting%s%s", w->n, w->n == 1 ? "" : "s",
			 w->n == 1 ? "was" : "were", site[0] != '\0' ? site : " in ",
			 site[0] != '\0' ? "" : sig_op(s, w->sig));
	if (w->since_ns != TIME_ABSENT && n > 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, "%s since %s after the start.", w->n == 1 ? "" : ", the first",
			 duration_text((double)w->since_ns / 1e9, since));
	else if (n > 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, ".");
}

/* "3 of 4 did not reach MPI_Finalize": in it a rank has done its work. */
static void describe_early(const struct analysis *a, uint32_t early, char *text, size_t size)
{
	uint32_t before = 0;
	for (uint32_t r = 0; r < a->step->nranks; r++)
		before += a->step->ranks[r] != NULL && exits_before_finalize(a->step->ranks[r]);
	snprintf(text, size, "%s of %s did not %s MPI_Finalize", fmt_count(before > 0 ? before : early).s,
		 fmt_count(a->ranks_seen).s, before > 0 ? "reach" : "come out of");
}

/* " So did 7 more ranks." */
static void describe_alike(const struct step *s, uint32_t first, char *text, size_t size)
{
	const struct process *dead = s->ranks[first], *p;
	uint32_t n = 0;
	for (uint32_t r = 0; r < s->nranks; r++)
		n += r != first && (p = s->ranks[r]) != NULL && exits_by_itself(p) && exits_by_itself(dead) &&
		     p->aborted == dead->aborted && p->exit_status == dead->exit_status;
	text[0] = '\0';
	if (n > 0)
		snprintf(text, size, " %s %u more rank%s.", n + 1 == s->nranks ? "So did all others," : "So did", n,
			 n == 1 ? "" : "s");
}

static void name_dead(const struct step *s, uint32_t first, struct issue *f)
{
	issue_add_rank(f, first);
	for (uint32_t r = 0; r < s->nranks; r++)
		if (s->ranks[r] != NULL && exits_by_itself(s->ranks[r]))
			issue_add_rank(f, r);
}

/* Ours came to their end, and it is the step that failed. */
static void describe_elsewhere(const struct analysis *a, struct issue *f)
{
	const struct process *dead = exits_elsewhere(a->step);
	char how[96];
	f->found = dead != NULL && outcome_is_failure(&a->step->outcome) && a->ranks_seen == a->step->nranks;
	if (!f->found)
		return;
	f->value = 1;
	describe_end(dead, how, sizeof(how));
	snprintf(f->what, sizeof(f->what), "Rank %u of another MPI_COMM_WORLD %s.", dead->rank, how);
	snprintf(f->why, sizeof(f->why), "All ranks of this one reached MPI_Finalize, and the step failed.");
	snprintf(f->next, sizeof(f->next), "%s", next_step(dead));
}

void issue_death(const struct analysis *a, struct issue *f)
{
	const struct step *s = a->step;
	uint32_t early, first = exits_first(s, &early);
	char how[96], place[300], alike[64], others[300], hung[128], without[128], when[32] = "";
	f->metric = "ranks that ended without MPI_Finalize";
	f->value = early;
	f->threshold = 1;
	f->severity = DEATH_SEVERITY;
	f->found = first != NONE && early > 0;
	if (early == 0)
		describe_elsewhere(a, f);
	if (first == NONE || early == 0)
		return;
	const struct process *dead = s->ranks[first];
	struct waiters w = find_waiters(s, dead);
	hung_text(s, hung);
	name_dead(s, first, f);
	describe_end(dead, how, sizeof(how));
	issue_add_site(f, describe_place(s, dead, place, sizeof(place)));
	issue_add_site(f, w.site);
	describe_waiters(s, &w, others, sizeof(others));
	f->loss_s = waited_s(s, dead);
	if (hung[0] != '\0')
		issue_charge_hung(a, f);
	f->from_ns = w.since_ns != TIME_ABSENT ? w.since_ns : dead->end_ns != TIME_ABSENT ? dead->end_ns : 0;
	f->to_ns = dead->end_ns != TIME_ABSENT ? dead->end_ns : 0;
	if (dead->end_ns != TIME_ABSENT && (dead->have_exit || dead->aborted))
		duration_text((double)dead->end_ns / 1e9, when);
	describe_alike(s, first, alike, sizeof(alike));
	describe_early(a, early, without, sizeof(without));
	int n = snprintf(f->what, sizeof(f->what), "Rank %u %s%s%s%s.%s%s", first, how, when[0] != '\0' ? " at " : "",
			 when, place, alike, others);
	if (n > 0 && (size_t)n < sizeof(f->what))
		snprintf(f->what + n, sizeof(f->what) - (size_t)n, "%s", hung);
	snprintf(f->why, sizeof(f->why), "MPI ends all ranks when one dies: %s. Times end there.", without);
	snprintf(f->next, sizeof(f->next), "%s", next_step(dead));
}
