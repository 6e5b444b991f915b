/* spec.c - protocol specifications: what they mean, where mistakes are shown, and that nothing in them is too much. */
#include "postproc/protocol/spec.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES 5

static struct error last;

static struct spec *parse(const char *text)
{
	struct spec *s = NULL;
	cr_assert_eq(spec_parse("p", text, strlen(text), &s, &last), 0, "%s", last.text);
	return s;
}

static enum spec_verdict judge_with(const char *text, struct spec_message m)
{
	struct spec *s = parse(text);
	enum spec_verdict v;
	cr_assert_eq(spec_evaluate(s, 0, &m, PROCESSES, &v, &last), 0, "%s: %s", text, last.text);
	spec_free(s);
	return v;
}

static enum spec_verdict judge(const char *text, int64_t src, int64_t dst)
{
	return judge_with(text, (struct spec_message){src, 10 + src, dst, 20 + dst});
}

static enum spec_colour colour(const char *text, unsigned level, int64_t src, int64_t dst)
{
	struct spec *s = parse(text);
	struct spec_message m = {src, 1, dst, 1};
	uint64_t matches = 0, violations = 0;
	for (size_t i = 0; i < spec_rules(s); i++) {
		enum spec_verdict v;
		cr_assert_eq(spec_evaluate(s, i, &m, PROCESSES, &v, &last), 0);
		matches += v == SPEC_MATCH;
		violations += v == SPEC_VIOLATION;
	}
	spec_free(s);
	return spec_colour(level, matches, violations);
}

/* Value of an expression of numbers, by what P(0,...) must be. */
static bool holds(const char *expression)
{
	char text[512];
	snprintf(text, sizeof(text), "P(i,)->P(m,):: forall i: %s;", expression);
	return judge(text, 0, 1) == SPEC_MATCH;
}

Test(spec, the_example_of_five_processes_has_its_colours_at_all_levels)
{
	static const char text[] = "P(i,*)->P(m,*)::forall i:i!=4, forall m:m==4; P(3,*)->P(4,*); P(0,*)->P(1,*);";
	for (unsigned level = 0; level < 4; level++) {
		cr_assert_eq(colour(text, level, 0, 1), level == 0 ? SPEC_GREEN : SPEC_ORANGE);
		cr_assert_eq(colour(text, level, 3, 4), level == 3 ? SPEC_ORANGE : SPEC_GREEN);
		cr_assert_eq(colour(text, level, 1, 2), level == 0 ? SPEC_RED : SPEC_ORANGE);
		cr_assert_eq(colour(text, level, 2, 4), SPEC_GREEN);
		cr_assert_eq(colour(text, level, 4, 0), level < 2 ? SPEC_BLUE : SPEC_ORANGE, "no rule applies");
	}
	for (int src = 0; src < 4; src++)
		for (int dst = 0; dst < 4; dst++)
			cr_assert(colour(text, 0, src, dst) == SPEC_RED || (src == 0 && dst == 1));
}

Test(spec, levels_are_a_table)
{
	static const enum spec_colour table[4][5] = {
		/* A,L = 0,0 0,1 1,0 2,0 1,1 */
		{SPEC_BLUE, SPEC_RED, SPEC_GREEN, SPEC_GREEN, SPEC_GREEN},
		{SPEC_BLUE, SPEC_ORANGE, SPEC_GREEN, SPEC_GREEN, SPEC_ORANGE},
		{SPEC_ORANGE, SPEC_ORANGE, SPEC_GREEN, SPEC_GREEN, SPEC_ORANGE},
		{SPEC_ORANGE, SPEC_ORANGE, SPEC_GREEN, SPEC_ORANGE, SPEC_ORANGE},
	};
	for (unsigned level = 0; level < 4; level++) {
		cr_assert_eq(spec_colour(level, 0, 0), table[level][0]);
		cr_assert_eq(spec_colour(level, 0, 1), table[level][1]);
		cr_assert_eq(spec_colour(level, 1, 0), table[level][2]);
		cr_assert_eq(spec_colour(level, 2, 0), table[level][3]);
		cr_assert_eq(spec_colour(level, 1, 1), table[level][4]);
	}
}

Test(spec, a_sender_that_differs_is_silence_and_a_receiver_that_differs_a_violation)
{
	cr_assert_eq(judge("P(0,*)->P(1,*);", 0, 1), SPEC_MATCH);
	cr_assert_eq(judge("P(0,*)->P(1,*);", 2, 1), SPEC_SILENT);
	cr_assert_eq(judge("P(0,*)->P(1,*);", 0, 2), SPEC_VIOLATION);
	cr_assert_eq(judge("P(,)->P(,);", 3, 2), SPEC_MATCH);
	cr_assert_eq(judge("P(i,*)->P(i+1,*);", 1, 2), SPEC_MATCH);
	cr_assert_eq(judge("P(i,*)->P((i+1)%n,*);", 4, 0), SPEC_MATCH);
	cr_assert_eq(judge("P(i,*)->P((i+1)%n,*);", 4, 1), SPEC_VIOLATION);
	cr_assert_eq(judge("P(n-1,*)->P(i,*);", 3, 0), SPEC_SILENT);
	cr_assert_eq(judge("P(n-1,*)->P(i,*);", 4, 0), SPEC_MATCH);
	cr_assert_eq(judge("P(i,*)->P(i,*);", 2, 2), SPEC_MATCH);
	cr_assert_eq(judge("P(i,*)->P(i,*);", 2, 3), SPEC_VIOLATION);
	cr_assert_eq(judge("P(i,i)->P(,);", 2, 3), SPEC_SILENT);
	cr_assert_eq(judge("P(m,*)->P(m+1,k)::forall k:k==22;", 1, 2), SPEC_MATCH);
	cr_assert_eq(judge("P(0,10)->P(1,21);", 0, 1), SPEC_MATCH);
	cr_assert_eq(judge("P(0,11)->P(1,21);", 0, 1), SPEC_SILENT);
	cr_assert_eq(judge("P(0,10)->P(1,22);", 0, 1), SPEC_VIOLATION);
}

Test(spec, quantifiers_of_the_sender_decide_whether_it_applies)
{
	cr_assert_eq(judge("P(i,*)->P(m,*)::forall i:i<2; forall m:m>i;", 1, 2), SPEC_MATCH);
	cr_assert_eq(judge("P(i,*)->P(m,*)::forall i:i<2; forall m:m>i;", 1, 0), SPEC_VIOLATION);
	cr_assert_eq(judge("P(i,*)->P(m,*)::forall i:i<2; forall m:m>i;", 3, 0), SPEC_SILENT);
	cr_assert_eq(judge("P(i,*)->P(m,*)::\xe2\x88\x80 i:i<2, \xe2\x88\x80 m:m>i;", 3, 0), SPEC_SILENT);
	cr_assert_eq(judge("# first\nP(i,*) # who\n ->P(m,*)\n::forall\tm:m>i # then\n;# last", 1, 2), SPEC_MATCH);
	cr_assert_eq(judge("P(i,*)->P(m,*)::forall m:i<2;", 3, 0), SPEC_VIOLATION, "m is the receiver's");
}

Test(spec, no_rule_matches_by_a_line_that_is_not_known)
{
	const struct spec_message neither = {0, SPEC_NO_LINE, 1, SPEC_NO_LINE}, sender = {0, 10, 1, SPEC_NO_LINE},
				  receiver = {0, SPEC_NO_LINE, 1, 21};
	static const char *const of_sender[] = {
		"l == 0 - 1", "l != 3",	    "l < 100",		"(l == 3) == 0", "l == 3 || 1",
		"l - l == 0", "0 * l == 0", "1 / (l + 1) >= 0", "(l || 1) && 1", "(l != l) == 0 || 1"};
	for (size_t i = 0; i < sizeof(of_sender) / sizeof(*of_sender); i++) {
		char text[128];
		snprintf(text, sizeof(text), "P(0,l)->P(1,m)::forall l: %s;", of_sender[i]);
		cr_assert_eq(judge_with(text, neither), SPEC_SILENT, "%s", text);
		cr_assert_eq(judge_with(text, receiver), SPEC_SILENT, "%s", text);
		snprintf(text, sizeof(text), "P(0,m)->P(1,l)::forall l: %s;", of_sender[i]);
		cr_assert_eq(judge_with(text, neither), SPEC_VIOLATION, "%s", text);
		cr_assert_eq(judge_with(text, sender), SPEC_VIOLATION, "%s", text);
	}
	cr_assert_eq(judge_with("P(0,l)->P(1,l);", neither), SPEC_VIOLATION,
		     "two lines that are not known are not one");
	cr_assert_eq(judge_with("P(0,l)->P(1,l);", sender), SPEC_VIOLATION);
	cr_assert_eq(judge_with("P(0,0-1)->P(1,*);", neither), SPEC_SILENT);
	cr_assert_eq(judge_with("P(0,l)->P(1,m);", neither), SPEC_MATCH, "nothing is said of them");
	cr_assert_eq(judge_with("P(i,l)->P(1,m)::forall l: i == 0 || l == 7;", neither), SPEC_MATCH, "not looked at");
}

Test(spec, operators_bind_as_in_c)
{
	static const char *const true_ones[] = {
		"1+2*3==7",
		"(1+2)*3==9",
		"10-4-3==3",
		"100/10/5==2",
		"7%4*2==6",
		"2*7%4==2",
		"1<2==1",
		"1==1&&2==2",
		"0&&1||1",
		"1||1&&0",
		"3>2&&2>=2&&1<=1&&1!=2",
		"(0||2)==1",
		"(5&&7)==1",
		"1+1<3==1",
		"0==0-0",
		"i==0||10/i==2",
		"n==5",
		"0-5/2==0-2",
		"(0-5)%3==0-2",
		"9223372036854775807>0",
	};
	for (size_t i = 0; i < sizeof(true_ones) / sizeof(*true_ones); i++)
		cr_assert(holds(true_ones[i]), "%s", true_ones[i]);
	cr_assert_not(holds("0||0"));
	cr_assert_not(holds("1&&0"));
	cr_assert_not(holds("1-1"));
	cr_assert_not(holds("(1||1)&&0"));
}

static void wrong(const char *text, const char *where, const char *what)
{
	struct spec *s = NULL;
	cr_assert_lt(spec_parse("p", text, strlen(text), &s, &last), 0, "%s is taken", text);
	cr_assert(strncmp(last.text, where, strlen(where)) == 0, "%s: not at %s", last.text, where);
	cr_assert_not_null(strstr(last.text, what), "%s: not \"%s\"", last.text, what);
}

Test(spec, mistakes_are_shown_with_line_column_and_a_caret)
{
	wrong("P(0,*)->P(1,*);\nP(0 *)->P(1,*);", "p:2:6: ", "expected a number");
	cr_assert_not_null(strstr(last.text, "\n  P(0 *)->P(1,*);\n       ^"), "%s", last.text);
	wrong("P(0,*)->P(1,*)", "p:1:15: ", "text ends");
	wrong("P(0,*)>P(1,*);", "p:1:7: ", "\"->\"");
	wrong("Q(0,*)->P(1,*);", "p:1:1: ", "P(rank,line)");
	wrong("P(0)->P(1,*);", "p:1:4: ", "\",\"");
	wrong("P(0,*)->P(1,*) P(1,*)->P(2,*);", "p:1:16: ", "\";\"");
	wrong("P(0,*)->P(k+1,*);", "p:1:11: ", "k is not known");
	wrong("P(i,*)->P(m,*)::forall q:q>1;", "p:1:24: ", "q is not known");
	wrong("P(i,*)->P(m,*)::forall n:n>1;", "p:1:24: ", "number of processes");
	wrong("P(i,*)->P(m,*)::i>1;", "p:1:17: ", "forall");
	wrong("P(i,*)->P(m,*)::forall i>1;", "p:1:25: ", "\":\"");
	wrong("P(m+1,*)->P(m,*);", "p:1:3: ", "receiver");
	wrong("P(0,*)->P(1,*)::forall \xe2\x88\x80:1;", "p:1:24: ", "name after forall");
	wrong("P(\xe2\x88\x80,*)->P(1,*);", "p:1:3: ", "number");
	wrong("P(0,*)->P(1,*); $", "p:1:17: ", "means nothing");
	wrong("P(-1,*)->P(1,*);", "p:1:3: ", "number");
	wrong("P(i,*)->P(m,*)::forall i:1=2;", "p:1:27: ", "means nothing");
	wrong("P(0x1,*)->P(1,*);", "p:1:4: ", "letter");
	wrong("", "p: ", "no rule");
	wrong("# nothing\n", "p: ", "no rule");
}

static char *repeated(const char *before, const char *piece, size_t n, const char *after)
{
	size_t size = strlen(before) + n * strlen(piece) + strlen(after) + 1, at = strlen(before);
	char *text = malloc(size);
	memcpy(text, before, at);
	for (size_t i = 0; i < n; i++, at += strlen(piece))
		memcpy(text + at, piece, strlen(piece));
	memcpy(text + at, after, strlen(after) + 1);
	return text;
}

static void limit(const char *before, const char *piece, size_t good, const char *after, size_t bad, const char *what)
{
	char *text = repeated(before, piece, good, after);
	spec_free(parse(text));
	free(text);
	text = repeated(before, piece, bad, after);
	struct spec *s;
	cr_assert_eq(spec_parse("p", text, strlen(text), &s, &last), -E2BIG, "%zu of %s", bad, piece);
	cr_assert_not_null(strstr(last.text, what), "%s", last.text);
	free(text);
}

Test(spec, what_is_too_much_says_its_limit)
{
	limit("", "P(0,*)->P(1,*);\n", SPEC_RULES_MAX, "", SPEC_RULES_MAX + 1, "rules");
	limit("P(i", "i", SPEC_NAME_MAX - 1, ",*)->P(1,*);", SPEC_NAME_MAX, "letters");
	limit("P(i,*)->P(m,*)::forall i:1", ",forall i:1", SPEC_QUANTIFIERS_MAX - 1, ";", SPEC_QUANTIFIERS_MAX,
	      "quantifiers");
	limit("P(0,*)->P(1,*);", " ", SPEC_BYTES_MAX - 15, "", SPEC_BYTES_MAX - 14, "bytes");
	wrong("P(9223372036854775808,*)->P(1,*);", "p:1:3: ", "64 bits");
	char *text = repeated("P(", "(", SPEC_DEPTH_MAX + 1, "1,*)->P(1,*);");
	wrong(text, "p:1:67: ", "parentheses");
	free(text);
	text = repeated("P(", "(", 500000, "");
	wrong(text, "p:1:67: ", "parentheses");
	free(text);
}

Test(spec, as_deep_as_allowed_is_evaluated)
{
	char *open = repeated("P(i,*)->P(m,*)::forall i:1", "||1&&1==1<1+1*(1", SPEC_DEPTH_MAX, "");
	char *text = repeated(open, ")", SPEC_DEPTH_MAX, ";");
	cr_assert_eq(judge(text, 0, 1), SPEC_MATCH);
	free(text);
	free(open);
	text = repeated("P(i,*)->P(m,*)::forall i:1", "+1", 400000, "==400001;");
	cr_assert_eq(judge(text, 0, 1), SPEC_MATCH);
	free(text);
}

Test(spec, numbers_that_do_not_fit_are_mistakes_with_a_place)
{
	static const struct {
		const char *text, *where, *what;
	} cases[] = {
		{"P(i,*)->P(m,*)::forall i:1/i>0;", "p:1:27: ", "division by zero"},
		{"P(i,*)->P(m,*)::\nforall i:1%i>0;", "p:2:11: ", "division by zero"},
		{"P(i,*)->P(m,*)::forall i:9223372036854775807+1>i;", "p:1:45: ", "64 bits"},
		{"P(i,*)->P(m,*)::forall i:(0-9223372036854775807-1)/(0-1)>i;", "p:1:51: ", "64 bits"},
		{"P(i,*)->P(m,*)::forall i:4611686018427387904*2>i;", "p:1:45: ", "64 bits"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct spec *s = parse(cases[i].text);
		struct spec_message m = {0, 1, 1, 1};
		enum spec_verdict v;
		cr_assert_eq(spec_evaluate(s, 0, &m, PROCESSES, &v, &last), -ERANGE);
		cr_assert(strncmp(last.text, cases[i].where, strlen(cases[i].where)) == 0, "%s", last.text);
		cr_assert_not_null(strstr(last.text, cases[i].what), "%s", last.text);
		spec_free(s);
	}
}

Test(spec, any_bytes_are_refused_or_taken)
{
	static const char good[] = "P(i,*)->P((i+1)%n,*)::forall i:i!=4 && (i<3||i>5); # \xe2\x88\x80\nP(3,7)->P(,);";
	char text[sizeof(good)];
	uint64_t state = 4711;
	for (int i = 0; i < 200000; i++) {
		struct spec *s = NULL;
		size_t n = sizeof(good) - 1;
		memcpy(text, good, n);
		for (int k = 0; k <= i % 5; k++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			text[(state >> 33) % n] = i % 2 ? (char)(state >> 20) : good[(state >> 20) % n];
		}
		if (i % 7 == 0)
			n = (state >> 40) % n;
		if (spec_parse("p", text, n, &s, &last) < 0) {
			cr_assert_gt(strlen(last.text), 0);
			continue;
		}
		struct spec_message m = {1, 2, 2, 3};
		enum spec_verdict v;
		for (size_t r = 0; r < spec_rules(s); r++)
			spec_evaluate(s, r, &m, PROCESSES, &v, &last);
		spec_free(s);
	}
}
