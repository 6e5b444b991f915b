/* target_mpic.c - any bytes as a .mpic: found to be none, or read block by block. */
#include "tests/fuzz/fuzz.h"

#include "format/mpic.h"

#include <fcntl.h>
#include <unistd.h>

static void look_at_end(const char *path)
{
	_cleanup_buf_ struct buf json = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	fuzz_check(fd >= 0);
	mpic_read_end(fd, &json, NULL);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	_cleanup_buf_ struct buf payload = {0};
	const char *path = fuzz_file(data, len_bytes);
	struct mpic_file f;
	look_at_end(path);
	if (mpic_open(path, &f, NULL) < 0)
		return 0;
	uint64_t whole = 0;
	for (size_t i = 0; i < f.nblocks; i++) {
		mpic_read(&f, &f.blocks[i], &payload, NULL);
		whole += f.blocks[i].packed_len_bytes;
	}
	fuzz_check(f.nblocks > 0 && whole + f.damaged_bytes < f.len_bytes);
	mpic_close(&f);
	return 0;
}
