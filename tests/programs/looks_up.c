/* looks_up.c - what dlsym() finds, from threads, in early and late constructors: the same with and without a tracer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The program's own stands before libc's: RTLD_NEXT is another. */
int atoi(const char *text)
{
	int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "atoi");
	return next != NULL && next != atoi ? 1000 + next(text) : -1;
}

static int early;

__attribute__((constructor(101))) static void before_others(void)
{
	early = dlsym(RTLD_DEFAULT, "malloc") != NULL;
}

static void *in_a_thread(void *unused)
{
	(void)unused;
	return dlsym(RTLD_DEFAULT, "no_such_function") == NULL ? dlerror() : NULL;
}

int main(void)
{
	pthread_t thread;
	void *error = NULL, *m = dlopen("libm.so.6", RTLD_NOW);
	Dl_info info;
	printf("early %d atoi %d\n", early, atoi("7"));
	pthread_create(&thread, NULL, in_a_thread, NULL);
	pthread_join(thread, &error);
	printf("thread %d, here %d\n", error != NULL, dlerror() != NULL);
	printf("cos %d, nothing %d, ", dlsym(m, "cos") != NULL, dlsym(m, "M") != NULL);
	printf("%s\n", dlerror() != NULL ? "an error" : "none");
	printf("MPI %d\n", dlsym(m, "MPI_Init") != NULL);
	printf("dlvsym %d\n", dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_2.2.5") != NULL);
	printf("strtod %d\n", dladdr(dlsym(RTLD_NEXT, "strtod"), &info) != 0 && strstr(info.dli_fname, "libc") != NULL);
	return 0;
}
