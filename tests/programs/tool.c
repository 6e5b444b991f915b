/* tool.c - a profiling library as people link or preload them. Counts the program's calls, has a communicator of its
 * own, adds up with it in MPI_Finalize and prints. -DNAME="a"; what else it is, is chosen when it is compiled:
 *   (nothing)    as mpiP: wraps MPI_X, goes on to PMPI_X, and has helpers between them
 *   -DFORTRAN    as IPM: wraps Fortran's names as well
 *   -DBY_NEXT    goes on to the next MPI_X instead, so several of them see each call
 *   -DBY_HANDLE  looks MPI_X up in the MPI library
 *   -DBY_NAME    makes its own calls by MPI_X, as the program does
 *   -DFEW        wraps the collectives only
 *   -DBARE       goes on from a stack of its own, switched to by hand; the page behind it may not be read
 * Linked into the executable itself as well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef BARE
#include <sys/mman.h>
#endif

enum { ISEND, WAITALL, ALLREDUCE, BARRIER, CONTROL, FORTRAN_ALLREDUCE, FORTRAN_BARRIER, COUNTS };

static int counts[COUNTS], inside;
static MPI_Comm own = MPI_COMM_NULL;

#if defined(BY_NEXT)
#define ON(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#elif defined(BY_HANDLE)
static void *library(void)
{
#ifdef OPEN_MPI
	return dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);
#else
	return dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD);
#endif
}
#define ON(name) ((__typeof__(&name))dlsym(library(), #name))
#else
#define ON(name) P##name
#endif

#ifdef BY_NAME
#define OWN(name) name
#else
#define OWN(name) P##name
#endif

static void count(int what)
{
	counts[what] += inside == 0;
}

static __attribute__((noinline)) void begin(void)
{
	inside++;
	OWN(MPI_Comm_dup)(MPI_COMM_WORLD, &own);
	OWN(MPI_Barrier)(own);
	inside--;
}

static __attribute__((noinline)) void add_up(void)
{
	int rank, size, one = 0, all = 0, *table;
	if (own == MPI_COMM_NULL) /* Fortran's MPI_Finalize, and then C's */
		return;
	inside++;
	OWN(MPI_Comm_rank)(own, &rank);
	OWN(MPI_Comm_size)(own, &size);
	table = calloc((size_t)size * COUNTS, sizeof(int));
	OWN(MPI_Gather)(counts, COUNTS, MPI_INT, table, COUNTS, MPI_INT, 0, own);
	OWN(MPI_Allreduce)(&one, &all, 1, MPI_INT, MPI_SUM, own);
	for (int i = 0; rank == 0 && i < size; i++) { /* a line at once: others print, too */
		char line[COUNTS * 12 + 1] = "";
		for (int k = 0; k < COUNTS; k++)
			snprintf(line + strlen(line), sizeof(line) - strlen(line), " %d", table[i * COUNTS + k]);
		printf("tool %s:%s\n", NAME, line);
	}
	free(table);
	OWN(MPI_Comm_free)(&own);
	inside--;
}

int MPI_Init(int *argc, char ***argv)
{
	int rc = ON(MPI_Init)(argc, argv);
	begin();
	return rc;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int rc = ON(MPI_Init_thread)(argc, argv, required, provided);
	begin();
	return rc;
}

int MPI_Finalize(void)
{
	add_up();
	return ON(MPI_Finalize)();
}

static __attribute__((noinline)) int allreduce_for(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op,
						   MPI_Comm comm)
{
	count(ALLREDUCE);
	int rc = ON(MPI_Allreduce)(from, to, n, type, op, comm);
	return rc;
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int rc = allreduce_for(from, to, n, type, op, comm);
	return rc;
}

#ifdef BARE
#define STACK_BYTES (256u << 10)

static MPI_Comm of_barrier;

static __attribute__((noinline)) void barrier_there(void)
{
	volatile int rc = PMPI_Barrier(of_barrier);
	(void)rc;
}

/* What the compiler wrote of this frame is wrong meanwhile. */
static __attribute__((noinline, optimize("O2", "omit-frame-pointer"))) void by_hand(char *end)
{
	__asm__ volatile("movq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tcall *%1\n\tmovq %%rbx, %%rsp" ::"r"(end),
			 "r"(barrier_there)
			 : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}

int MPI_Barrier(MPI_Comm comm)
{
	static char *stack;
	if (stack == NULL) {
		stack = mmap(NULL, STACK_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(stack + STACK_BYTES, 4096, PROT_NONE);
	}
	count(BARRIER);
	of_barrier = comm;
	by_hand(stack + STACK_BYTES);
	return MPI_SUCCESS;
}
#else
int MPI_Barrier(MPI_Comm comm)
{
	int flag;
	count(BARRIER);
	inside++;
	OWN(MPI_Initialized)(&flag);
	inside--;
	return ON(MPI_Barrier)(comm);
}
#endif

#ifndef FEW
int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
	count(ISEND);
	return ON(MPI_Isend)(data, n, type, to, tag, comm, request);
}

int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
	count(WAITALL);
	return ON(MPI_Waitall)(n, requests, statuses);
}

/* What a level means, and what comes behind it, is the tool's: here an int and a double. */
int MPI_Pcontrol(const int level, ...)
{
	va_list args;
	va_start(args, level);
	if (level == 77) {
		int i = va_arg(args, int);
		double d = va_arg(args, double);
		printf("tool %s: control %d %g\n", NAME, i, d);
	}
	va_end(args);
	count(CONTROL);
	return ON(MPI_Pcontrol)(1);
}
#endif

#ifdef FORTRAN
void pmpi_init_(void *);
void pmpi_finalize_(void *);
void pmpi_allreduce_(void *, void *, void *, void *, void *, void *, void *);
void pmpi_barrier_(void *, void *);

void mpi_init_(void *error)
{
	pmpi_init_(error);
	if (own == MPI_COMM_NULL)
		begin();
}

void mpi_finalize_(void *error)
{
	add_up();
	pmpi_finalize_(error);
}

void mpi_allreduce_(void *from, void *to, void *n, void *type, void *op, void *comm, void *error)
{
	count(FORTRAN_ALLREDUCE);
	pmpi_allreduce_(from, to, n, type, op, comm, error);
}

void mpi_barrier_(void *comm, void *error)
{
	count(FORTRAN_BARRIER);
	pmpi_barrier_(comm, error);
}
#endif
