/* base.c - the helpers keep their promises. */
#include "base/buf.h"
#include "base/crc32c.h"
#include "base/cursor.h"

#include <criterion/criterion.h>

Test(crc32c, gives_the_check_value_of_rfc_3720)
{
	cr_assert_eq(crc32c(0, "123456789", 9), 0xe3069283u);
	cr_assert_eq(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
}

Test(cursor, never_reads_past_the_end)
{
	uint8_t bytes[3] = {1, 2, 3};
	struct cursor c = cursor_over(bytes, sizeof(bytes));
	uint32_t word;
	uint16_t half;
	cr_assert_eq(rd_u32(&c, &word), -EBADMSG);
	cr_assert_eq(rd_u16(&c, &half), 0);
	cr_assert_eq(half, 0x0201);
	cr_assert_eq(rd_u16(&c, &half), -EBADMSG);
}

Test(cursor, reads_back_every_varint_that_buf_writes)
{
	for (unsigned bit = 0; bit < 64; bit++) {
		_cleanup_buf_ struct buf b = {0};
		uint64_t value = 1ull << bit, got = 0;
		buf_varint(&b, value);
		buf_varint(&b, value - 1);
		struct cursor c = cursor_over(b.data, b.len_bytes);
		cr_assert_eq(rd_varint(&c, &got), 0);
		cr_assert_eq(got, value);
		cr_assert_eq(rd_varint(&c, &got), 0);
		cr_assert_eq(got, value - 1);
	}
}

Test(cursor, refuses_a_varint_that_does_not_fit_64_bits)
{
	uint8_t bytes[10] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
	struct cursor c = cursor_over(bytes, sizeof(bytes));
	uint64_t got;
	cr_assert_eq(rd_varint(&c, &got), -EBADMSG);
}
