/* replay.c - "replay": how well the run can be replayed, and what messages take in it (postproc/replay/).
 * In: events, messages and waits as they are in the .mpix.  Out: a->replay, which issues are asked about. */
#include "postproc/analysis.h"
#include "postproc/export.h"
#include "postproc/replay/replay.h"

#define EVENTS_MAX 500000u /* of longer runs intervals: each issue's gain takes a fifth of a second at most */

static int make_replay(void *context, struct mpix_file *f)
{
	struct analysis *a = context;
	return replay_create(&f, 1, EVENTS_MAX, &a->replay, a->e);
}

/* What calls do not tell of a record that is not whole: from the first rank's MPI_Init to the last rank's end. */
static int64_t lived_ns(const struct analysis *a)
{
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, from, to;
	for (uint32_t r = 0; r < a->step->nranks && !a->complete; r++) {
		if (a->step->ranks[r] == NULL)
			continue;
		rank_region(a->step->ranks[r], &from, &to);
		if (from == TIME_ABSENT)
			continue;
		first_ns = from < first_ns ? from : first_ns;
		last_ns = to > last_ns ? to : last_ns;
	}
	return last_ns > first_ns ? last_ns - first_ns : 0;
}

int analysis_replay(struct analysis *a)
{
	struct replay_change none = REPLAY_AS_IT_WAS;
	struct replay_result r;
	if (a->export == NULL)
		return 0;
	int code = export_peek(a->export, make_replay, a, a->e);
	if (code == 0) {
		replay_lasted(a->replay, lived_ns(a));
		code = replay_predict(a->replay, &none, &r);
	}
	if (code == 0 && !(r.calls_s > 0)) { /* nothing is there to replay: no gain is known, and none is 0 */
		replay_destroy(a->replay);
		a->replay = NULL;
		return 0;
	}
	if (code < 0)
		return code;
	cJSON *to = json_object(a->root, "replay");
	json_put(to, "recorded_s", r.recorded_s);
	json_put(to, "calls_s", r.calls_s);
	json_put(to, "replayed_s", r.replayed_s);
	json_put(to, "error", r.error);
	json_put(to, "covered", r.covered);
	json_put(to, "given_up", (double)r.given_up);
	json_put(to, "polls_kept", r.polls);
	replay_put_model(a->replay, json_object(to, "model"));
	return 0;
}
