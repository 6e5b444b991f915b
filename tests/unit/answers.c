/* answers.c - who delays whom, is it the network, would more nodes help: true of each kind of run, and "not known"
 * where one run cannot tell. */
#include "reports/text/answers.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

enum { DELAYS, NETWORK, MORE };

/* Two ranks of 10 s each; the rest is what a case is about. */
#define RANKS \
	"\"per_rank\":[{\"rank\":0,\"useful_s\":8,\"mpi_s\":2,\"wait_s\":0.5},{\"rank\":1,\"useful_s\":4,\"mpi_s\":6," \
	"\"wait_s\":5}]"
#define CROWDED \
	"\"per_rank\":[{\"rank\":0,\"useful_s\":8,\"mpi_s\":2,\"processor_wait_s\":3},{\"rank\":1,\"useful_s\":4," \
	"\"mpi_s\":6,\"processor_wait_s\":3}]"
#define ONE_NODE "\"job\":{\"nodes\":[\"n1\"]}"
#define TWO_NODES "\"job\":{\"nodes\":[\"n1\",\"n2\"]}"
#define EVEN(communication) "\"efficiency\":{\"load_balance\":0.95,\"communication\":" #communication "}"

struct answer_case {
	char json[512], want[ANSWER_TEXT];
	int of;
};

ParameterizedTestParameters(answers, are_true)
{
	static struct answer_case cases[] = {
		{"{" RANKS ",\"delays\":{\"waits_s\":5.5,\"per_rank\":[{\"rank\":0,\"direct_s\":4,\"indirect_s\":0.95},"
		 "{\"rank\":1,\"direct_s\":0.5}]}}",
		 "Rank 0 causes 90 % of the waiting of 5.50 s (total over ranks); rank 1 waits longest, 5.00 s.",
		 DELAYS},
		{"{" RANKS ",\"delays\":{\"waits_s\":5.5,\"per_rank\":[{\"rank\":0,\"direct_s\":2.2},{\"rank\":1,"
		 "\"direct_s\":1}]}}",
		 "No rank alone: of the waiting of 5.50 s (total over ranks) rank 0 causes most, 40 %; rank 1 waits "
		 "longest, 5.00 s.",
		 DELAYS},
		{"{" RANKS ",\"delays\":{\"waits_s\":0.1,\"per_rank\":[{\"rank\":0,\"direct_s\":0.1}]}}",
		 "Hardly any rank: waiting for others took 0.5 % of the ranks' time.", DELAYS},
		{"{" RANKS "}", "Not known: it takes single calls, which are not recorded.", DELAYS},
		{"{" RANKS "," ONE_NODE ",\"efficiency\":{\"transfer\":0.9}}",
		 "No: all ranks are on one node, so no message went through a network. If moving the data took no "
		 "time, "
		 "the run would be 10 % shorter, by replay.",
		 NETWORK},
		/* of whom nothing is there was on another */
		{"{" RANKS "," ONE_NODE ",\"coverage\":{\"ranks_seen\":2,\"ranks_expected\":4},\"efficiency\":{"
		 "\"transfer\":0.97}}",
		 "Hardly. If moving the data took no time, the run would be 3.0 % shorter, by replay.", NETWORK},
		{"{" RANKS "," TWO_NODES ",\"efficiency\":{\"transfer\":0.97}}",
		 "Hardly. If moving the data took no time, the run would be 3.0 % shorter, by replay.", NETWORK},
		{"{" RANKS "," TWO_NODES ",\"efficiency\":{\"transfer\":0.6}}",
		 "Yes. If moving the data took no time, the run would be 40 % shorter, by replay.", NETWORK},
		{"{" RANKS "," TWO_NODES ",\"efficiency\":{\"transfer\":null,\"note\":\"clocks differ\"}}",
		 "For at most 12 % of the ranks' time, MPI's without waiting for others. No more is known: clocks "
		 "differ.",
		 NETWORK},
		/* a rank that has no core is late as one whose message is slow */
		{"{" CROWDED "," TWO_NODES ",\"efficiency\":{\"transfer\":0.3}}",
		 "Not known. How long moving the data takes is not known: ranks had no free core for 30 % of their "
		 "time, "
		 "which "
		 "a replay cannot tell from slow transfers.",
		 NETWORK},
		{"{" CROWDED "," EVEN(0.5) ",\"issues\":[{\"issue\":\"oversubscription\"}]}",
		 "Probably, with as many ranks as now: they share processors, and had no free core for 30 % of their "
		 "time.",
		 MORE},
		{"{" CROWDED "," EVEN(0.5) ",\"issues\":[{\"issue\":\"busy_processors\"}]}",
		 "Free cores would help first: ranks had none for 30 % of their time, although there are enough for "
		 "them.",
		 MORE},
		{"{" RANKS "," EVEN(0.9) "}",
		 "Probably. Twice the ranks would make the run 1.82 times as fast if the busiest one then computes "
		 "half as "
		 "long and its time in MPI stays. A run on more ranks tells: mpitrace diff.",
		 MORE},
		{"{" RANKS "," EVEN(0.1) "}",
		 "Hardly. Twice the ranks would make the run 1.05 times as fast if the busiest one then computes half "
		 "as "
		 "long and its time in MPI stays. A run on more ranks tells: mpitrace diff.",
		 MORE},
		{"{" RANKS ",\"efficiency\":{\"load_balance\":0.5,\"communication\":0.9}}",
		 "Make the work even first: the busiest rank computes 2.00 times as long as the mean. Twice the ranks "
		 "would "
		 "make the run 1.82 times as fast if the busiest one then computes half as long and its time in MPI "
		 "stays. "
		 "A run on more ranks tells: mpitrace diff.",
		 MORE},
		{"{" RANKS "," EVEN(0.9) ",\"issues\":[{\"issue\":\"deadlock\"}]}",
		 "Not known: this run did not reach its end.", MORE},
		{"{\"per_rank\":[{\"rank\":0,\"useful_s\":1,\"mpi_s\":1}]," EVEN(0.9) "}",
		 "Not known: one rank says nothing of more.", MORE},
	};
	return cr_make_param_array(struct answer_case, cases, sizeof(cases) / sizeof(cases[0]));
}

ParameterizedTest(struct answer_case *c, answers, are_true)
{
	struct answer answers[ANSWERS];
	cJSON *analysis = cJSON_Parse(c->json);
	cr_assert_not_null(analysis, "%s", c->json);
	answers_of(analysis, fmt_plain, answers);
	cr_expect_str_eq(answers[c->of].text, c->want, "%s:\n%s\n%s", c->json, answers[c->of].text, c->want);
	cJSON_Delete(analysis);
}

Test(answers, of_nothing_are_nothing)
{
	struct answer answers[ANSWERS];
	answers_of(NULL, fmt_plain, answers);
	for (int i = 0; i < ANSWERS; i++)
		cr_expect_str_empty(answers[i].text);
}
