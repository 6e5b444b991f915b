/* late.c - who waits for whom, from a trace: the reader's example.
 * cc late.c $(pkg-config --cflags --libs mpix) && ./a.out job.mpix */
#include <mpix.h>

#include <stdio.h>
#include <stdlib.h>

static int add(void *context, const struct mpix_wait *wait)
{
	int64_t *waited_ns = context; /* by state */
	waited_ns[wait->state] += wait->ns;
	return 0;
}

static int print(void *context, const struct mpix_link *link)
{
	int *left = context;
	const struct mpix_message *m = &link->message;
	printf("%u -> %u: %llu bytes\n", m->src, m->dst, (unsigned long long)m->bytes);
	return --*left == 0; /* anything but 0 ends the reading */
}

int main(int argc, char **argv)
{
	static int64_t waited_ns[256];
	int left = 5;
	struct mpix_file *f;
	struct error e;
	if (argc != 2 || mpix_open(argv[1], &f, &e) < 0) {
		fprintf(stderr, "%s\n", argc == 2 ? e.text : "usage: late FILE.mpix");
		return 1;
	}
	int rc = mpix_each_wait(f, INT64_MIN, INT64_MAX, add, waited_ns, &e);
	if (rc == 0)
		rc = mpix_each_message(f, INT64_MIN, INT64_MAX, print, &left, &e);
	if (rc < 0)
		fprintf(stderr, "%s\n", e.text);
	printf("%u ranks, late senders cost %.6f s\n", mpix_info(f)->ranks, (double)waited_ns[1] * 1e-9);
	mpix_close(f);
	return rc < 0;
}
