/* deadlock.h - ranks that wait for each other for ever. */
#pragma once

#include "postproc/stream/stream.h"

/* Before what is open at the end is given up. 0 or -ENOMEM. */
int deadlock_find(struct stream *st);
