/* cmd_topology.c - `mpitrace topology`: which switches, nodes, sockets and cores the ranks of a step ran on, and what
 * is odd about it; without a step, what this machine is made of; or a map of a machine of which there is no record. */
#include "base/json.h"
#include "cli/cli.h"
#include "cli/print.h"
#include "cli/show.h"
#include "postproc/postproc.h"
#include "topology/fabric.h"
#include "topology/generate.h"
#include "topology/topology.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct options {
	const char *path, *slurm, *nodes, *capture, *generate;
	uint32_t ranks;
	bool json, all;
};

static bool parse_ranks(const char *text, uint32_t *ret_ranks)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	if (*text < '1' || *text > '9' || *end != '\0' || n > GENERATE_RANKS_MAX)
		return false;
	*ret_ranks = (uint32_t)n;
	return true;
}

static int parse(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {
		{"json", no_argument, NULL, 'j'},	   {"all", no_argument, NULL, 'a'},
		{"slurm", required_argument, NULL, 's'},   {"slurm-nodes", required_argument, NULL, 'n'},
		{"capture", required_argument, NULL, 'c'}, {"generate", required_argument, NULL, 'g'},
		{"ranks", required_argument, NULL, 'r'},   {NULL, 0, NULL, 0},
	};
	int key;
	opterr = 0;
	memset(o, 0, sizeof(*o));
	while ((key = getopt_long(argc, argv, "", names, NULL)) != -1) {
		o->json |= key == 'j';
		o->all |= key == 'a';
		o->slurm = key == 's' ? optarg : o->slurm;
		o->nodes = key == 'n' ? optarg : o->nodes;
		o->capture = key == 'c' ? optarg : o->capture;
		o->generate = key == 'g' ? optarg : o->generate;
		if (key == 'r' && !parse_ranks(optarg, &o->ranks))
			return usage_error("topology", "--ranks: give a number from 1 to 1048576");
		if (key == '?')
			return usage_error("topology", "unknown option, or its value is missing");
	}
	if ((o->generate != NULL) != (o->ranks > 0))
		return usage_error("topology", "--generate and --ranks go together");
	if (o->nodes != NULL && o->generate == NULL)
		return usage_error("topology", "--slurm-nodes goes with --generate");
	if (o->generate != NULL && (argc > optind || o->capture != NULL))
		return usage_error("topology", "--generate makes a map of its own: give no step and no --capture");
	if (argc - optind > 1)
		return usage_error("topology", "give one FILE.mpix or DIRECTORY, or nothing for this machine");
	o->path = argv[optind];
	if (o->path != NULL && o->capture != NULL)
		return usage_error("topology", "give a step or --capture, not both");
	return 0;
}

/* ---- where it comes from: each makes {"topology", "job"} ---- */

static cJSON *from_mpix(const char *path, struct error *e)
{
	struct mpix_file *f;
	if (mpix_open(path, &f, e) < 0)
		return NULL;
	cJSON *analysis = cJSON_Parse(mpix_analysis(f));
	mpix_close(f);
	if (json_item(json_item(analysis, "topology"), "nodes") != NULL)
		return analysis;
	cJSON_Delete(analysis);
	fail(e, -EBADMSG, "%s: its analysis has no nodes; analyse again", path);
	return NULL;
}

static cJSON *from_record(const char *path, struct error *e)
{
	char *paths[] = {(char *)path}, *json;
	if (postproc_topology(paths, 1, &json, e) < 0)
		return NULL;
	cJSON *root = cJSON_Parse(json);
	cJSON_free(json);
	return root;
}

static cJSON *from_step(const char *path, struct error *e)
{
	char inside[PATH_MAX];
	struct stat st;
	if (stat(path, &st) < 0) {
		fail(e, -errno, "%s: %s", path, strerror(errno));
		return NULL;
	}
	size_t len = strlen(path);
	if (!S_ISDIR(st.st_mode))
		return len > 5 && strcmp(path + len - 5, ".mpic") == 0 ? from_record(path, e) : from_mpix(path, e);
	int n = snprintf(inside, sizeof(inside), "%s/job.mpix", path);
	return n < (int)sizeof(inside) && access(inside, R_OK) == 0 ? from_mpix(inside, e) : from_record(path, e);
}

/* A node as the analysis says it: without ranks, and with its name and switches where they are expected. */
static cJSON *from_machine(const char *capture, struct error *e)
{
	cJSON *node = capture != NULL ? topo_capture(capture, e) : topo_node(e);
	if (node == NULL)
		return NULL;
	cJSON *name = cJSON_DetachItemFromObject(node, "node"), *source = cJSON_DetachItemFromObject(node, "source");
	cJSON_Delete(source);
	cJSON_AddItemToObject(node, "name", name);
	json_put(node, "nodeid", 0);
	cJSON *switches = json_object(node, "switches");
	json_array(switches, "path");
	json_array(switches, "kinds");
	json_array(node, "ranks");
	cJSON *root = cJSON_CreateObject(), *topology = json_object(root, "topology");
	cJSON_AddItemToArray(json_array(topology, "nodes"), node);
	json_array(topology, "misbindings");
	return root;
}

static cJSON *from_shape(const struct options *o, struct error *e)
{
	struct topo_shape shape;
	struct fabric *f = NULL;
	struct hardware *hw = NULL;
	cJSON *topology = NULL;
	if (topo_shape_parse(o->generate, &shape, e) == 0 && (o->slurm == NULL || fabric_read(o->slurm, &f, e) == 0) &&
	    (o->nodes == NULL || hardware_read(o->nodes, &hw, e) == 0))
		topology = topo_generate(&shape, f, hw, o->ranks, e);
	hardware_free(hw);
	fabric_free(f);
	if (topology == NULL)
		return NULL;
	cJSON *root = cJSON_CreateObject();
	cJSON_AddItemToObject(root, "topology", topology);
	return root;
}

/* ---- switches from Slurm's file ---- */

static cJSON *path_of(const struct fabric *f, const char *name)
{
	char short_name[256];
	cJSON *path = fabric_path(f, name);
	snprintf(short_name, sizeof(short_name), "%.*s", (int)strcspn(name, "."), name);
	return path != NULL ? path : fabric_path(f, short_name);
}

static int place_nodes(cJSON *topology, const char *file, struct error *e)
{
	struct fabric *f;
	cJSON *node;
	unsigned unknown = 0;
	int code = fabric_read(file, &f, e);
	if (code < 0)
		return code;
	cJSON_ArrayForEach(node, cJSON_GetObjectItemCaseSensitive(topology, "nodes"))
	{
		cJSON *path = path_of(f, json_text(node, "name", ""));
		unknown += path == NULL;
		if (path != NULL && !cJSON_ReplaceItemInObjectCaseSensitive(node, "switches", path))
			cJSON_AddItemToObject(node, "switches", path);
	}
	if (unknown > 0) {
		fprintf(stderr, "mpitrace topology: %u node%s not in ", unknown, unknown == 1 ? " is" : "s are");
		put_plain(stderr, file, PATH_MAX);
		putc('\n', stderr);
	}
	fabric_free(f);
	return 0;
}

static int bad(const struct error *e)
{
	fputs("mpitrace topology: ", stderr);
	put_plain(stderr, e->text, ERROR_TEXT_MAX);
	putc('\n', stderr);
	return EXIT_BAD_INPUT;
}

static int print_json(cJSON *topology)
{
	json_put_text(topology, "schema", "mpitrace/topology/1");
	char *text = cJSON_PrintUnformatted(topology);
	if (text != NULL)
		puts(text);
	cJSON_free(text);
	return text != NULL ? EXIT_DONE : EXIT_PARTIAL;
}

static int topology(int argc, char **argv)
{
	struct options o;
	struct error e = {""};
	char found[PATH_MAX];
	int rc = parse(&o, argc, argv);
	if (rc != 0)
		return rc;
	cJSON *root = o.generate != NULL ? from_shape(&o, &e)
		      : o.path != NULL	 ? from_step(o.path, &e)
					 : from_machine(o.capture, &e);
	if (root == NULL)
		return bad(&e);
	cJSON *t = cJSON_GetObjectItemCaseSensitive(root, "topology");
	/* Of this machine Slurm's own file tells the switches; what is recorded of a step is replaced only if asked. */
	if (o.generate != NULL)
		o.slurm = NULL; /* its nodes have their switches */
	else if (o.path == NULL && o.capture == NULL && o.slurm == NULL && fabric_find(found, sizeof(found)))
		o.slurm = found;
	if (o.slurm != NULL && place_nodes(t, o.slurm, &e) < 0)
		rc = bad(&e);
	else if (o.json)
		rc = print_json(t);
	else
		show_topology(t, json_item(root, "job"), o.all);
	cJSON_Delete(root);
	return rc;
}

const struct command cmd_topology = {
	"topology", topology, "where the ranks ran: switches, nodes, sockets, cores",
	"topology [FILE.mpix|DIRECTORY] [--json] [--all] [--slurm FILE] [--capture FILE.xml]\n"
	"       mpitrace topology --generate SHAPE --ranks N [--slurm FILE] [--slurm-nodes FILE] [--json]"};
