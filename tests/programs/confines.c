/* confines.c - a program that forbids itself, when MPI is up, system calls that it never makes: whoever makes one ends
 * it. Arguments: how it says so (prctl; libseccomp's way: seccomp(2) after no_new_privs; early: those before MPI_Init),
 * how many messages of sizes that never come again, whether a thread comes later. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DENIED(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (n), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void give_up_privileges(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
		perror("prctl");
		exit(3);
	}
}

static void confine(int by_prctl)
{
	static struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		DENIED(SYS_fallocate),
		DENIED(SYS_ftruncate),
		DENIED(SYS_pwrite64),
		DENIED(SYS_mincore),
		DENIED(SYS_tgkill),
		DENIED(SYS_getdents64),
		DENIED(SYS_fchmod),
		DENIED(SYS_mremap),
		DENIED(SYS_prlimit64),
		DENIED(SYS_prctl),
		/* where the shared files of a step are opened again, and what stands in for closed streams */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_PATH | O_NOFOLLOW, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23 /* MADV_POPULATE_WRITE */, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};
	if ((by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0)
		      : (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) != 0) {
		perror("seccomp");
		exit(3);
	}
}

static char out[1 << 16], in[1 << 16];

static long talk(int n)
{
	long sum = 0;
	for (int i = 0; i < n; i++) {
		MPI_Sendrecv(out, 1 + i % 60000, MPI_BYTE, 0, i % 1000, in, sizeof(in), MPI_BYTE, 0, i % 1000,
			     MPI_COMM_SELF, MPI_STATUS_IGNORE);
		MPI_Sendrecv(out, 1 + i % 60000, MPI_BYTE, 0, i % 1000, in, sizeof(in), MPI_BYTE, 0, i % 1000,
			     MPI_COMM_SELF, MPI_STATUS_IGNORE);
		sum += in[i % 60000] + 1;
	}
	return sum;
}

static void *later(void *sum)
{
	*(long *)sum = talk(100);
	return NULL;
}

int main(int argc, char **argv)
{
	int level, status = 0, early = strcmp(argv[1], "early") == 0;
	long sum, more = 0;
	if (early)
		give_up_privileges();
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!early)
		give_up_privileges();
	confine(strcmp(argv[1], "prctl") == 0);
	sum = talk(atoi(argv[2]));
	if (argc > 3) {
		pthread_t thread;
		pthread_create(&thread, NULL, later, &more);
		pthread_join(thread, NULL);
	}
	if (argc > 4 && fork() == 0)
		_exit(7);
	if (argc > 4)
		wait(&status);
	printf("%ld %ld %d\n", sum, more, WEXITSTATUS(status));
	fflush(stdout);
	MPI_Finalize();
	return 0;
}
