/* sig_keys.c - the factors of the signature's hash, in memory; also for who makes traces without a tracer. */
#include "pmpi/stream.h"

const uint64_t sig_keys[SIG_KEYS] = {SIG_KEY(0), SIG_KEY(1), SIG_KEY(2), SIG_KEY(3), SIG_KEY(4),
				     SIG_KEY(5), SIG_KEY(6), SIG_KEY(7), SIG_KEY(8), SIG_KEY(9)};
