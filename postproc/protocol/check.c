/* check.c - see check.h. What rules say depends on ranks and source lines only, so it is found out once for all
 * messages between two calls. */
#include "postproc/protocol/check.h"

#include "base/index.h"
#include "base/vec.h"
#include "postproc/protocol/traffic.h"

#define KINDS_MAX (1u << 18) /* that are remembered */

/* Messages that rules cannot tell apart. */
struct kind {
	struct spec_message ends;
	uint64_t matches, violations, messages;
};

struct result {
	struct spec_message ends;
	uint64_t send_event, recv_event, matches, violations;
	enum spec_colour colour;
};

struct rule_count {
	uint64_t matched, violated;
};

struct check {
	const struct spec *spec;
	unsigned level;
	int64_t processes;
	VEC(int64_t) lines; /* by call site */
	VEC(struct kind) kinds;
	struct index by_ends;
	VEC(struct result) bad, good;
	VEC(struct rule_count) rules;
	uint64_t messages, colours[SPEC_COLOURS], unknown_lines;
	double unreceived; /* sends: no message in the trace, so rules are not asked */
};

/* ---- source lines ---- */

static int find_lines(struct check *c, const cJSON *analysis)
{
	size_t at = 0, n = json_count(analysis, "callsites");
	for (size_t i = 0; i < n; i++)
		if (vec_push(&c->lines, SPEC_NO_LINE) < 0)
			return -ENOMEM;
	for (const cJSON *x = json_first(analysis, "callsites"); x != NULL; x = x->next) {
		double id = json_number_or(x, "id", (double)at++), line = json_number_or(x, "line", SPEC_NO_LINE);
		if (id >= 0 && id < (double)n && line > 0)
			c->lines.at[(size_t)id] = (int64_t)line;
	}
	return 0;
}

static int64_t line_of(const struct check *c, uint32_t callsite)
{
	return callsite < c->lines.n ? c->lines.at[callsite] : SPEC_NO_LINE;
}

/* ---- rules ---- */

static bool has_ends(const void *context, uint32_t at)
{
	const struct check *c = context;
	return memcmp(&c->kinds.at[at].ends, &c->kinds.at[c->kinds.n].ends, sizeof(struct spec_message)) == 0;
}

static int apply_rules(const struct check *c, struct kind *k, struct error *e)
{
	for (size_t i = 0; i < c->rules.n; i++) {
		enum spec_verdict v;
		int code = spec_evaluate(c->spec, i, &k->ends, c->processes, &v, e);
		if (code < 0)
			return code;
		k->matches += v == SPEC_MATCH;
		k->violations += v == SPEC_VIOLATION;
	}
	return 0;
}

/* What the rules said of all messages so far is added to their counts, and forgotten. */
static int count_rules(struct check *c, struct error *e)
{
	for (size_t k = 0; k < c->kinds.n; k++)
		for (size_t i = 0; i < c->rules.n; i++) {
			enum spec_verdict v;
			int code = spec_evaluate(c->spec, i, &c->kinds.at[k].ends, c->processes, &v, e);
			if (code < 0)
				return code;
			c->rules.at[i].matched += v == SPEC_MATCH ? c->kinds.at[k].messages : 0;
			c->rules.at[i].violated += v == SPEC_VIOLATION ? c->kinds.at[k].messages : 0;
		}
	c->kinds.n = 0;
	index_done(&c->by_ends);
	return 0;
}

static int find_kind(struct check *c, const struct spec_message *ends, struct kind **ret_kind, struct error *e)
{
	uint64_t hash = index_hash(INDEX_SEED, ends, sizeof(*ends));
	if (c->kinds.n == KINDS_MAX) {
		int code = count_rules(c, e);
		if (code < 0)
			return code;
	}
	if (vec_grow(&c->kinds.at, &c->kinds.cap, c->kinds.n + 1, sizeof(*c->kinds.at)) < 0)
		return -ENOMEM;
	c->kinds.at[c->kinds.n] = (struct kind){.ends = *ends}; /* has_ends() looks for it */
	uint32_t at = index_find(&c->by_ends, hash, has_ends, c);
	if (at == INDEX_NONE) {
		at = (uint32_t)c->kinds.n;
		int code = apply_rules(c, &c->kinds.at[at], e);
		if (code < 0)
			return code;
		if (index_add(&c->by_ends, hash, at) < 0)
			return -ENOMEM;
		c->kinds.n++;
	}
	*ret_kind = &c->kinds.at[at];
	return 0;
}

/* ---- messages ---- */

static int check_end(void *context, struct traffic_message *m, bool sends, struct error *e)
{
	struct check *c = context;
	struct kind *k;
	(void)sends;
	if (m->send_event == TRAFFIC_NOT_YET || m->recv_event == TRAFFIC_NOT_YET)
		return 0;
	struct spec_message ends = {m->src, line_of(c, m->send_callsite), m->dst, line_of(c, m->recv_callsite)};
	int code = find_kind(c, &ends, &k, e);
	if (code < 0)
		return code;
	enum spec_colour colour = spec_colour(c->level, k->matches, k->violations);
	struct result r = {ends, m->send_event, m->recv_event, k->matches, k->violations, colour};
	bool bad = colour == SPEC_RED || colour == SPEC_ORANGE;
	k->messages++;
	c->messages++;
	c->colours[colour]++;
	c->unknown_lines += ends.src_line == SPEC_NO_LINE || ends.dst_line == SPEC_NO_LINE;
	if (bad)
		return c->bad.n < CHECK_RESULTS_MAX ? vec_push(&c->bad, r) : 0;
	return c->good.n < CHECK_RESULTS_MAX ? vec_push(&c->good, r) : 0;
}

static int ignore_part(void *context, const struct mpix_collective_part *part, struct error *e)
{
	(void)context, (void)part, (void)e;
	return 0;
}

/* ---- JSON ---- */

static void put_line(cJSON *row, const char *name, int64_t line)
{
	json_put_null_or(row, name, line == SPEC_NO_LINE ? __builtin_nan("") : (double)line);
}

static int put_result(const struct check *c, cJSON *list, const struct result *r, struct error *e)
{
	cJSON *row = json_row(list);
	json_put(row, "src", (double)r->ends.src);
	json_put(row, "dst", (double)r->ends.dst);
	json_put(row, "send_event", (double)r->send_event);
	json_put(row, "recv_event", (double)r->recv_event);
	put_line(row, "send_line", r->ends.src_line);
	put_line(row, "recv_line", r->ends.dst_line);
	json_put(row, "a", (double)r->matches);
	json_put(row, "l", (double)r->violations);
	json_put_text(row, "colour", spec_colour_name(r->colour));
	cJSON *lines = json_array(row, "lines");
	for (size_t i = 0; i < c->rules.n; i++) {
		enum spec_verdict v;
		int code = spec_evaluate(c->spec, i, &r->ends, c->processes, &v, e);
		if (code < 0)
			return code;
		if (v == SPEC_SILENT)
			continue;
		cJSON *line = json_row(lines);
		json_put(line, "line", spec_rule_line(c->spec, i));
		json_put_text(line, "verdict", v == SPEC_MATCH ? "match" : "violation");
	}
	return 0;
}

static void put_rules(const struct check *c, cJSON *o)
{
	cJSON *list = json_array(o, "lines");
	for (size_t i = 0; i < c->rules.n; i++) {
		char text[SPEC_SHOWN_BYTES + 1];
		cJSON *row = json_row(list);
		spec_rule_shown(c->spec, i, text);
		json_put(row, "line", spec_rule_line(c->spec, i));
		json_put_text(row, "text", text);
		json_put(row, "applied", (double)(c->rules.at[i].matched + c->rules.at[i].violated));
		json_put(row, "matched", (double)c->rules.at[i].matched);
		json_put(row, "violated", (double)c->rules.at[i].violated);
	}
}

static int put_all(const struct check *c, cJSON *o, struct error *e)
{
	size_t room = CHECK_RESULTS_MAX - c->bad.n, good = c->good.n < room ? c->good.n : room;
	int code = 0;
	json_put_text(o, "schema", "mpitrace/check/1");
	json_put(o, "level", c->level);
	json_put(o, "messages", (double)c->messages);
	json_put(o, "unreceived", c->unreceived);
	cJSON *colours = json_object(o, "colours");
	for (int i = 0; i < SPEC_COLOURS; i++)
		json_put(colours, spec_colour_name((enum spec_colour)i), (double)c->colours[i]);
	json_put(o, "unknown_lines", (double)c->unknown_lines);
	cJSON *list = json_array(o, "results");
	for (size_t i = 0; i < c->bad.n && code == 0; i++)
		code = put_result(c, list, &c->bad.at[i], e);
	for (size_t i = 0; i < good && code == 0; i++)
		code = put_result(c, list, &c->good.at[i], e);
	json_put(o, "results_left_out", (double)(c->messages - c->bad.n - good));
	put_rules(c, o);
	return code;
}

static int check_all(struct check *c, struct mpix_file *f, const char *path, const cJSON *analysis, cJSON *o,
		     struct error *e)
{
	struct traffic_visitor visitor = {c, check_end, ignore_part};
	if (find_lines(c, analysis) < 0 || vec_reach(&c->rules, spec_rules(c->spec) - 1) < 0)
		return -ENOMEM;
	const cJSON *unmatched = json_item(json_item(analysis, "coverage"), "unmatched");
	c->unreceived = json_number_or(unmatched, "sends", 0) + json_number_or(unmatched, "sends_open", 0);
	int code = traffic_read(f, path, &visitor, e);
	if (code == 0)
		code = count_rules(c, e);
	return code == 0 ? put_all(c, o, e) : code;
}

int check_trace(struct mpix_file *f, const char *path, const cJSON *analysis, const struct spec *spec, unsigned level,
		cJSON **ret_result, bool *ret_conforms, struct error *e)
{
	struct check c = {.spec = spec, .level = level, .processes = mpix_info(f)->ranks};
	cJSON *o = cJSON_CreateObject();
	e->text[0] = 0;
	int code = o == NULL ? -ENOMEM : check_all(&c, f, path, analysis, o, e);
	if (code == -ENOMEM && e->text[0] == 0)
		fail(e, code, "%s: out of memory", path);
	vec_done(&c.lines);
	vec_done(&c.kinds);
	vec_done(&c.bad);
	vec_done(&c.good);
	vec_done(&c.rules);
	index_done(&c.by_ends);
	if (code < 0) {
		cJSON_Delete(o);
		return code;
	}
	*ret_conforms = c.colours[SPEC_RED] + c.colours[SPEC_ORANGE] == 0;
	*ret_result = o;
	return 0;
}
