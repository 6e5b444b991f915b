/* cmd_import.c - `mpitrace import --from mprov|pyrite FILE -o FILE.mpix`: traces of other tools. */
#include "base/units.h"
#include "cli/cli.h"
#include "postproc/protocol/import.h"

#include "base/atomic_file.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

struct options {
	const char *path, *output;
	size_t format;
};

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {
		{"from", required_argument, NULL, 'f'},
		{"output", required_argument, NULL, 'o'},
		{NULL, 0, NULL, 0},
	};
	int key;
	opterr = 0;
	*o = (struct options){.format = IMPORT_FORMATS};
	while ((key = getopt_long(argc, argv, "o:", names, NULL)) != -1) {
		if (key == 'o') {
			o->output = optarg;
		} else if (key == 'f') {
			for (o->format = 0; o->format < IMPORT_FORMATS; o->format++)
				if (strcmp(import_formats[o->format].name, optarg) == 0)
					break;
			if (o->format == IMPORT_FORMATS)
				return usage_error("import", "--from %s: give mprov or pyrite", optarg);
		} else {
			return usage_error("import", "unknown option, or its value is missing");
		}
	}
	if (o->format == IMPORT_FORMATS)
		return usage_error("import", "--from is missing: name the tool that wrote the file");
	if (optind + 1 != argc)
		return usage_error("import", "give one FILE");
	if (o->output == NULL)
		return usage_error("import", "-o FILE.mpix is missing");
	o->path = argv[optind];
	return 0;
}

static int import(int argc, char **argv)
{
	struct options o;
	struct import x;
	struct error e;
	int rc = parse(&o, argc, argv);
	if (rc != 0)
		return rc;
	atomic_file_sweep(o.output); /* what one that was killed has left */
	int code = import_read(&import_formats[o.format], o.path, &x, &e);
	if (code < 0) {
		fprintf(stderr, "mpitrace import: %s\n", e.text);
		rc = EXIT_BAD_INPUT;
	} else if (import_write(&x, o.output, &e) < 0) {
		fprintf(stderr, "mpitrace import: %s\n", e.text);
		rc = EXIT_PARTIAL;
	} else {
		printf("%s: %s, %s, %s\n", o.output, fmt_many(x.nranks, "rank").s,
		       fmt_many((double)x.events, "event").s, fmt_many((double)x.links.n, "message").s);
	}
	import_done(&x);
	return rc;
}

const struct command cmd_import = {"import", import, "make an .mpix of another tool's trace",
				   "import --from mprov|pyrite FILE -o FILE.mpix"};
