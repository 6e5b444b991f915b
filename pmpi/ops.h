/* ops.h - the operations of the MPI library this tracer is built for (generated per library). */
#pragma once

#include OPS_HEADER
