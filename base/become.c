/* become.c - see become.h. Sources: setresuid(2), ptrace(2) "Ptrace access mode checking", prctl(2), seccomp(2). */
#include "base/become.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_for_good(uid_t uid, gid_t gid)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;
	if (getresuid(&ruid, &euid, &suid) != 0 || getresgid(&rgid, &egid, &sgid) != 0)
		return false;
	if (ruid != uid || euid != uid || suid != uid || rgid != gid || egid != gid || sgid != gid)
		return false;
	return setresuid(0, 0, 0) != 0; /* must fail */
}

static bool is_in(gid_t gid, const gid_t *gids, int n)
{
	for (int i = 0; i < n; i++)
		if (gids[i] == gid)
			return true;
	return false;
}

/* The kernel sorts them, and some systems add or leave out the group itself. */
static bool has_just_groups(const struct identity *who)
{
	gid_t now[IDENTITY_GROUPS_MAX + 1];
	int n = getgroups(IDENTITY_GROUPS_MAX + 1, now);
	if (n < 0)
		return false;
	for (int i = 0; i < n; i++)
		if (now[i] != who->gid && !is_in(now[i], who->gids, who->ngids))
			return false;
	for (int i = 0; i < who->ngids; i++)
		if (who->gids[i] != who->gid && !is_in(who->gids[i], now, n))
			return false;
	return true;
}

bool become(const struct identity *who)
{
	if (who->uid == 0 || who->uid == (uid_t)-1)
		return false;
	if (setgroups((size_t)who->ngids, who->gids) != 0 || setresgid(who->gid, who->gid, who->gid) != 0 ||
	    setresuid(who->uid, who->uid, who->uid) != 0)
		return false;
	return is_for_good(who->uid, who->gid) && has_just_groups(who) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

bool become_closed(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
}

static const uint32_t denied[] = {
	SYS_execve,
	SYS_execveat,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_socket,
	SYS_socketpair,
	SYS_bpf,
	SYS_userfaultfd,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_memfd_create,
	SYS_io_uring_setup,
	SYS_shmget,
	SYS_mount,
	SYS_unshare,
	SYS_setns,
	SYS_chroot,
	SYS_mq_open,
	SYS_open_by_handle_at,
	SYS_pidfd_getfd,
	SYS_setsid,
	SYS_setpgid,
};
#ifdef __aarch64__ /* has the one of them only */
#define THIS_PROCESSOR AUDIT_ARCH_AARCH64
static const uint32_t denied_alone[] = {SYS_clone};
#else
#define THIS_PROCESSOR AUDIT_ARCH_X86_64
static const uint32_t denied_alone[] = {SYS_fork, SYS_vfork, SYS_clone};
#endif
static const uint32_t denied_counters[] = {SYS_perf_event_open};

#define DENIED (sizeof(denied) / sizeof(denied[0]))
#define DENIED_ALONE (sizeof(denied_alone) / sizeof(denied_alone[0]))
#define DENIED_COUNTERS (sizeof(denied_counters) / sizeof(denied_counters[0]))

/* Two statements: refused with this error number, if it is that call. */
static size_t refuse(struct sock_filter *program, size_t n, uint32_t call, uint32_t error)
{
	program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
	program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
	return n;
}

static size_t refuse_all(struct sock_filter *program, size_t n, const uint32_t *calls, size_t ncalls)
{
	for (size_t i = 0; i < ncalls; i++)
		n = refuse(program, n, calls[i], EPERM);
	return n;
}

bool become_confined(unsigned may)
{
	struct sock_filter program[2 * (DENIED + DENIED_ALONE + DENIED_COUNTERS) + 16];
	size_t n = 0;
	program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_PROCESSOR, 1, 0);
	program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1); /* x32 */
	program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	n = refuse_all(program, n, denied, DENIED);
	if ((may & CONFINED_THREADS) == 0)
		n = refuse_all(program, n, denied_alone, DENIED_ALONE);
	if ((may & CONFINED_COUNTERS) == 0)
		n = refuse_all(program, n, denied_counters, DENIED_COUNTERS);
	n = refuse(program, n, SYS_clone3,
		   ENOSYS); /* its arguments can not be seen; the C library falls back to clone */
	program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog whole = {.len = (unsigned short)n, .filter = program};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole, 0, 0) == 0;
}

int identity_format(const struct identity *who, char *ret_text, size_t cap_bytes)
{
	int n = snprintf(ret_text, cap_bytes, "%u:%u:", who->uid, who->gid);
	for (int i = 0; i < who->ngids && n >= 0 && (size_t)n < cap_bytes; i++)
		n += snprintf(ret_text + n, cap_bytes - (size_t)n, "%s%u", i > 0 ? "," : "", who->gids[i]);
	return n >= 0 && (size_t)n < cap_bytes ? n : -1;
}

/* A number that ends at `end`; *at then stands behind it. */
static bool take_number(const char **at, const char *ends, uint32_t *ret_value)
{
	char *end;
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	unsigned long value = strtoul(*at, &end, 10);
	bool at_end = *end == '\0' || *end == ends[0] || *end == ends[1];
	*ret_value = (uint32_t)value;
	*at = end + (*end != '\0');
	return errno == 0 && value < UINT32_MAX && at_end;
}

bool identity_parse(const char *text, struct identity *ret_who, gid_t ret_gids[IDENTITY_GROUPS_MAX])
{
	struct identity who = {.gids = ret_gids};
	if (!take_number(&text, "::", &who.uid) || !take_number(&text, "::", &who.gid))
		return false;
	while (*text != '\0')
		if (who.ngids == IDENTITY_GROUPS_MAX || !take_number(&text, ",,", &ret_gids[who.ngids++]))
			return false;
	*ret_who = who;
	return true;
}

void become_limited(int resource, uint64_t value)
{
	struct rlimit r = {value, value};
	setrlimit((__rlimit_resource_t)resource, &r);
}
