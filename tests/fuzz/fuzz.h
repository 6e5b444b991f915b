/* fuzz.h - what the targets share. A target is a file with LLVMFuzzerTestOneInput(): built with clang's libFuzzer it is
 * a fuzzer, with replay.c a test that reads its corpus (README.md). It checks what its reader promises and aborts when
 * that is broken; what is out of bounds or leaks, the sanitizers say. */
#pragma once

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* A file in memory that holds these bytes; its name is valid until the next call. */
const char *fuzz_file(const void *data, size_t len_bytes);

/* A .mpic from blocks in the clear: {u8 kind, process, thread, seq; u16 length; payload} each, lengths cut at the end;
 * process 255: the node. Lengths, checksums and compression are right, so that what is fuzzed lies behind them. */
void fuzz_mpic(const uint8_t *data, size_t len_bytes, struct buf *out);
/* An .mpix from chunks in the clear: u8 version, then {u8 kind, level, rank level, group, seq; u8 records; i64 start,
 * end; u16 length; payload} each. */
void fuzz_mpix(const uint8_t *data, size_t len_bytes, struct buf *out);

/* Abort unless. */
#define fuzz_check(promise) \
	do { \
		if (!(promise)) \
			__builtin_trap(); \
	} while (0)
