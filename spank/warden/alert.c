/* alert.c - see alert.h. */
#include "spank/warden/alert.h"
#include "base/command.h"
#include "spank/warden/child.h"
#include "spank/warden/spool.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

int alert_wait_ms(const struct alert *a, const struct teardown *t)
{
	bool wanted = t->step_facts->alert_seconds > 0 && !a->over && a->starts < ALERT_STARTS_MAX;
	unsigned doubled = a->failures < ALERT_DOUBLED_MAX ? a->failures : ALERT_DOUBLED_MAX;
	return wanted && a->pid == 0 ? ALERT_LOOK_MS << doubled : -1;
}

void alert_check(struct alert *a, const struct teardown *t)
{
	char after[32];
	if (alert_wait_ms(a, t) < 0 || !spool_has(t->step_fd, "ranks/waits"))
		return;
	snprintf(after, sizeof(after), "%llu", (unsigned long long)t->step_facts->alert_seconds);
	struct child c = {
		.program = t->program,
		.who = &t->step_facts->who,
		.args = {"live", t->step_facts->out, "--alert", after},
		.address_bytes = ALERT_SPACE,
		.data_bytes = ALERT_BYTES,
		.nice = true, /* the idle class gets next to nothing beside ranks that spin */
	};
	a->starts++;
	pid_t pid = child_start(&c);
	a->pid = pid > 0 ? pid : 0;
}

void alert_reap(struct alert *a)
{
	int status;
	if (a->pid == 0 || waitpid(a->pid, &status, WNOHANG) != a->pid)
		return;
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	a->over = code == EXIT_ISSUES; /* it has left one */
	a->failures = code == EXIT_DONE ? 0 : a->failures + 1;
	a->pid = 0;
}

void alert_end(struct alert *a)
{
	if (a->pid != 0)
		child_kill(a->pid);
	a->pid = 0;
}
