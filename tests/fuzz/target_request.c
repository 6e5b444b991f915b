/* target_request.c - the argument of --mpitrace, which slurmstepd parses as root: refused with a text, or within
 * bounds. And that of `mpitrace --as`, which says who to become: refused, or the same when it is written again. */
#include "tests/fuzz/fuzz.h"

#include "base/become.h"
#include "spank/request.h"
#include "tests/fuzz/text.h"

static void try_identity(const char *text)
{
	static gid_t gids[IDENTITY_GROUPS_MAX], again_gids[IDENTITY_GROUPS_MAX];
	char written[IDENTITY_TEXT_MAX];
	struct identity who, again;
	if (!identity_parse(text, &who, gids))
		return;
	fuzz_check(who.ngids >= 0 && who.ngids <= IDENTITY_GROUPS_MAX && who.uid != (uid_t)-1);
	fuzz_check(identity_format(&who, written, sizeof(written)) > 0 && identity_parse(written, &again, again_gids));
	fuzz_check(again.uid == who.uid && again.gid == who.gid && again.ngids == who.ngids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct cursor c = cursor_over(data, len_bytes);
	struct request r;
	struct error e = {""};
	char *text = text_next(&c);
	int rc = request_parse(text, &r, &e);
	fuzz_check(rc == 0 || e.text[0] != '\0');
	if (rc == 0) {
		fuzz_check(r.stack <= REQUEST_STACK_MAX && strnlen(r.out, sizeof(r.out)) < sizeof(r.out));
		fuzz_check(strnlen(r.name, sizeof(r.name)) < sizeof(r.name) && strchr(r.name, '\n') == NULL);
		fuzz_check((unsigned)r.report <= REPORT_NONE);
	}
	try_identity(text);
	free(text);
	return 0;
}
