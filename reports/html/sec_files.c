/* sec_files.c - the files that were opened by MPI, what went to and from them, and in what pieces.
 * In: files, io.  Out: two tables: files, most time first, and classes of calls. */
#include "base/path.h"
#include "reports/html/section.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 16
#define CLASSES_MAX 16

static void write_way(struct page *p, double calls, double bytes)
{
	if (!(calls > 0)) {
		put(p, "<td class=\"n\"></td><td class=\"n\"></td>");
		return;
	}
	put(p, "<td class=\"n\">%s</td><td class=\"n\">%s</td>", fmt_bytes(bytes).s, fmt_bytes(bytes / calls).s);
}

static void write_file(struct page *p, const cJSON *file)
{
	const char *name = json_text(file, "name", "");
	double reads = fmax(json_number(file, "reads"), 0), writes = fmax(json_number(file, "writes"), 0);
	put(p, "<tr><th scope=\"row\">");
	put_text(p, *basename_of(name) != '\0' ? basename_of(name) : "unnamed", NAME_CHARS);
	put(p, "<br><small class=\"soft\">");
	put_text(p, name, NAME_CHARS);
	put(p, "</small></th><td class=\"n\">%s</td><td class=\"n\">%s</td>", fmt_count(reads + writes).s,
	    reads + writes > 0 ? fmt_share(json_number(file, "collective") / (reads + writes)).s : "");
	write_way(p, writes, json_number(file, "bytes_written"));
	write_way(p, reads, json_number(file, "bytes_read"));
	put(p, "<td class=\"n\">%s</td></tr>\n", fmt_time(json_number(file, "time_s")).s);
}

static const struct {
	const char *class, *name;
} classes[] = {
	{"open_close", "open, close"},
	{"read", "read"},
	{"write", "write"},
	{"collective_read", "collective read"},
	{"collective_write", "collective write"},
	{"nonblocking", "nonblocking (the start)"},
	{"other", "views, sizes, sync, seek"},
};

static const char *class_name(const char *class)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (strcmp(class, classes[i].class) == 0)
			return classes[i].name;
	return class;
}

static void write_class(struct page *p, const cJSON *row)
{
	double bytes = fmax(json_number(row, "bytes"), 0), rate = json_number(row, "bytes_per_s");
	double wait_s = json_number(row, "wait_s");
	put(p, "<tr><th scope=\"row\">");
	put_text(p, class_name(json_text(row, "class", "unnamed")), NAME_CHARS);
	put(p, "</th><td class=\"n\">%s</td><td class=\"n\">%s</td>", fmt_count(fmax(json_number(row, "calls"), 0)).s,
	    bytes > 0 ? fmt_bytes(bytes).s : "");
	put(p, "<td class=\"n\">%s%s</td>", rate > 0 ? fmt_bytes(rate).s : "", rate > 0 ? "/s" : "");
	put(p, "<td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n", fmt_time(fmax(json_number(row, "time_s"), 0)).s,
	    wait_s > 0 ? fmt_time(wait_s).s : "");
}

static void write_classes(struct page *p)
{
	const cJSON *io = json_item(p->model->root, "io");
	if (json_count(io, "classes") == 0)
		return;
	put(p, "<div class=\"scroll\" tabindex=\"0\"><table><caption>Calls on files by class; bytes a second are of "
	       "one rank while it is "
	       "in such a call</caption>\n<thead><tr><th scope=\"col\">class</th>"
	       "<th scope=\"col\" class=\"n\">calls</th><th scope=\"col\" class=\"n\">bytes</th>"
	       "<th scope=\"col\" class=\"n\">a second</th><th scope=\"col\" class=\"n\">time</th>"
	       "<th scope=\"col\" class=\"n\">of it waiting for the last rank</th></tr></thead>\n<tbody>\n");
	size_t left = CLASSES_MAX;
	for (const cJSON *row = json_first(io, "classes"); row != NULL && left-- > 0; row = row->next)
		write_class(p, row);
	put(p, "</tbody></table></div>\n");
}

static void write_files(struct page *p)
{
	size_t n;
	const cJSON **file = json_objects_by(p->model->root, "files", "time_s", &n);
	size_t shown = n < FILES_MAX ? n : FILES_MAX;
	put(p, "<div class=\"scroll\" tabindex=\"0\"><table><caption>Files, most time first</caption>\n<thead><tr><th "
	       "scope=\"col\">file</th>"
	       "<th scope=\"col\" class=\"n\">calls</th><th scope=\"col\" class=\"n\">collective</th>"
	       "<th scope=\"col\" class=\"n\">written</th><th scope=\"col\" class=\"n\">a call</th>"
	       "<th scope=\"col\" class=\"n\">read</th><th scope=\"col\" class=\"n\">a call</th>"
	       "<th scope=\"col\" class=\"n\">time</th></tr></thead>\n<tbody>\n");
	for (size_t i = 0; i < shown; i++)
		write_file(p, file[i]);
	put(p, "</tbody></table></div>\n");
	put_left_out(p, n - shown, "more file");
	put_not_kept(p, json_number(p->model->root, "files_left_out"), "file");
	write_classes(p);
	free(file);
}

static void result(struct page *p)
{
	double written = 0, read = 0;
	for (const cJSON *f = json_first(p->model->root, "files"); f != NULL; f = f->next) {
		written += fmax(json_number(f, "bytes_written"), 0);
		read += fmax(json_number(f, "bytes_read"), 0);
	}
	put(p, "%s written, %s read", fmt_bytes(written).s, fmt_bytes(read).s);
}

static bool has_files(const struct model *m)
{
	return json_count(m->root, "files") > 0;
}

const struct section section_files = {
	.id = "files",
	.title = "Files",
	.how = "What went through MPI-IO, all ranks together; an opening is a row. Parallel file systems want few "
	       "large calls: "
	       "collective ones (\xe2\x80\xa6_all) let the library join the small pieces of many ranks.",
	.has = has_files,
	.result = result,
	.write = write_files,
};
