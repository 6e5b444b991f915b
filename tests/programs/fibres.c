/* fibres.c [CASE] - MPI called from stacks that are not the thread's, from functions whose frames vary in size. Whoever
 * reads beyond the end of a stack here meets a page that nobody may read. Prints how many calls it made. Without CASE:
 * all but the last ones, which are for themselves. */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define PAGE 4096u
#define LARGE (64u << 10)

void mpi_barrier_(MPI_Fint *comm, MPI_Fint *error);

static volatile int calls, small = 100;
static ucontext_t back, there;

/* A frame of any size. The call is no tail call. */
APART static void roomy(size_t bytes)
{
	volatile char *room = __builtin_alloca(bytes);
	room[0] = room[bytes - 1] = 1;
	MPI_Barrier(MPI_COMM_SELF);
	calls += room[0];
}

APART static void roomy_fortran(size_t bytes)
{
	volatile char *room = __builtin_alloca(bytes);
	MPI_Fint comm = MPI_Comm_c2f(MPI_COMM_SELF), error;
	room[0] = room[bytes - 1] = 1;
	mpi_barrier_(&comm, &error);
	calls += room[0];
}

APART static void on_thread(void)
{
	roomy(LARGE);
	roomy_fortran(LARGE);
	calls++;
}

APART static void on_fibre(void)
{
	for (int i = 1; i < 4; i++) {
		roomy((size_t)(i * small));
		roomy_fortran((size_t)(i * small));
	}
}

/* Readable up to its end, and nothing behind it. */
static char *new_stack(size_t bytes)
{
	char *at = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || mprotect(at + PAGE, bytes, PROT_READ | PROT_WRITE) != 0)
		exit(2);
	return at + PAGE;
}

static void run_on(char *stack, size_t bytes, void (*function)(void))
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = bytes;
	there.uc_link = &back;
	makecontext(&there, function, 0);
	swapcontext(&back, &there);
}

static void small_one(void)
{
	char *stack = new_stack(4 * PAGE);
	on_thread();
	for (int i = 0; i < 3; i++) {
		run_on(stack, 4 * PAGE, on_fibre);
		on_thread();
	}
}

/* Its place is mapped again, smaller. */
static void remapped(void)
{
	char *stack = new_stack(64 * PAGE);
	run_on(stack, 64 * PAGE, on_thread);
	munmap(stack, 64 * PAGE);
	if (mmap(stack, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != stack)
		exit(2);
	run_on(stack, 4 * PAGE, on_fibre);
	on_thread();
}

/* A part of the stack that runs. */
static void inside(void)
{
	char stack[16 * PAGE];
	on_thread();
	run_on(stack, sizeof(stack), on_fibre);
	on_thread();
}

static void on_signal(int number)
{
	(void)number;
	on_fibre();
}

static void alternate(void)
{
	stack_t s = {.ss_sp = new_stack(8 * PAGE), .ss_size = 8 * PAGE};
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	on_thread();
	sigaltstack(&s, NULL);
	sigaction(SIGUSR1, &a, NULL);
	raise(SIGUSR1);
	on_thread();
}

/* Switched by hand to the very end of a stack. What the compiler wrote of this frame is wrong meanwhile. */
APART __attribute__((optimize("O2", "omit-frame-pointer"))) static void by_hand(char *end)
{
	__asm__ volatile("movq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tcall *%1\n\tmovq %%rbx, %%rsp" ::"r"(end),
			 "r"(on_fibre)
			 : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
	calls++;
}

static void bare(void)
{
	char *stack = new_stack(4 * PAGE);
	on_thread();
	by_hand(stack + 4 * PAGE);
	on_thread();
}

/* As a coroutine is entered: nobody called it, or as any other function. */
static volatile int is_coroutine;
static ucontext_t before;

APART static void everywhere(void)
{
	int sum;
	MPI_Allreduce(&calls, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
	calls++;
	if (is_coroutine == 1) {
		is_coroutine = 2;
		setcontext(&before);
	}
}

APART static void afterwards(void)
{
	everywhere();
	calls++;
}

static void bottom(void)
{
	char *stack = new_stack(16 * PAGE);
	is_coroutine = 0;
	getcontext(&before);
	if (is_coroutine == 0) {
		is_coroutine = 1;
		__asm__ volatile("movq %0, %%rsp\n\tpushq $0\n\tjmp *%1" ::"a"(stack + 16 * PAGE), "d"(everywhere)
				 : "memory");
		__builtin_unreachable();
	}
	afterwards();
}

static jmp_buf out;

static void jump(MPI_Comm *comm, int *code, ...)
{
	(void)comm, (void)code;
	longjmp(out, 1);
}

/* An MPI call is left for good; those to come have frames below its own. */
static void leave(void)
{
	MPI_Errhandler h;
	int b = 0;
	MPI_Comm_create_errhandler(jump, &h);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, h);
	if (setjmp(out) == 0)
		MPI_Send(&b, 1, MPI_INT, 1000000, 1, MPI_COMM_SELF);
}

static void left(void)
{
	char *stack = new_stack(4 * PAGE);
	leave();
	on_thread();
	leave();
	run_on(stack, 4 * PAGE, on_fibre);
	on_thread();
}

/* Nor can it be told from where these came. */
static void left_bare(void)
{
	char *stack = new_stack(4 * PAGE);
	leave();
	by_hand(stack + 4 * PAGE);
}

/* A library that is loaded while MPI runs calls from a stack with little room. */
static void (*work)(int);

APART static void in_plugin(void)
{
	work(2);
	calls++;
}

static void loaded(void)
{
	char *stack = new_stack(3 * PAGE);
	void *plugin = dlopen(getenv("PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	work = plugin != NULL ? (void (*)(int))dlsym(plugin, "plugin_work") : NULL;
	if (work != NULL)
		run_on(stack, 3 * PAGE, in_plugin);
}

static void *of_thread(void *nothing)
{
	small_one();
	remapped();
	bare();
	return nothing;
}

/* A thread on a stack that it was given, close to that of a fibre. */
static void threads(void)
{
	char *stack = new_stack(LARGE * 8);
	pthread_attr_t attr;
	pthread_t t[2];
	pthread_attr_init(&attr);
	pthread_create(&t[0], &attr, of_thread, NULL);
	pthread_join(t[0], NULL);
	pthread_attr_setstack(&attr, stack, LARGE * 8);
	pthread_create(&t[1], &attr, of_thread, NULL);
	pthread_join(t[1], NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"small", small_one},     {"remapped", remapped}, {"inside", inside}, {"alternate", alternate},
		     {"bare", bare},	       {"threads", threads},   {"bottom", bottom}, {"left", left},
		     {"left_bare", left_bare}, {"loaded", loaded}};
	int level;
	/* With locks MPICH does not bear that its calls are left. */
	MPI_Init_thread(&argc, &argv, argc < 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) - (argc < 2 ? 3 : 0); i++)
		if (argc < 2 || strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	printf("%d\n", calls);
	MPI_Finalize();
	return 0;
}
