/* recorders.h - all recorders that calls.tab may name. */
#pragma once

#include "pmpi/fast.h"
#include "pmpi/record.h"
#include "pmpi/record_coll.h"
#include "pmpi/record_handles.h"
#include "pmpi/record_io.h"
#include "pmpi/record_partitioned.h"
#include "pmpi/record_rma.h"
