/* unwind.c - see unwind.h. The index, .eh_frame_hdr, survives stripping (Linux Standard Base, Core, 10.6.2):
 *
 *   version:8 = 1 | eh_frame_ptr encoding:8 | count encoding:8 | table encoding:8
 *   eh_frame_ptr:32, count:32, then count entries { function start:32, its unwind entry:32 }, ascending
 *
 * Both are relative to the index's own address. Other encodings exist; no linker in use writes them. */
#include "postproc/lines/unwind.h"
#include "base/cursor.h"

#include <gelf.h>
#include <stdbool.h>

#define ENCODING_UDATA4 0x03
#define ENCODING_DATAREL_SDATA4 0x3b
#define ENCODING_PCREL_SDATA4 0x1b

static bool find_index(Elf *elf, GElf_Phdr *ret_header)
{
	size_t n = 0;
	if (elf == NULL || elf_getphdrnum(elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, ret_header) != NULL && ret_header->p_type == PT_GNU_EH_FRAME)
			return true;
	return false;
}

static bool read_head(struct cursor *c, uint32_t *ret_count)
{
	uint8_t version, pointer, count, table;
	uint32_t unused;
	return rd_u8(c, &version) == 0 && rd_u8(c, &pointer) == 0 && rd_u8(c, &count) == 0 && rd_u8(c, &table) == 0 &&
	       version == 1 && pointer == ENCODING_PCREL_SDATA4 && count == ENCODING_UDATA4 &&
	       table == ENCODING_DATAREL_SDATA4 && rd_u32(c, &unused) == 0 && rd_u32(c, ret_count) == 0;
}

uint64_t unwind_start(Elf *elf, uint64_t address)
{
	GElf_Phdr header;
	uint32_t count, start, unused;
	uint64_t best = 0;
	if (!find_index(elf, &header))
		return 0;
	Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_BYTE);
	if (data == NULL || data->d_buf == NULL)
		return 0;
	struct cursor c = cursor_over(data->d_buf, data->d_size);
	if (!read_head(&c, &count))
		return 0;
	while (count-- > 0 && rd_u32(&c, &start) == 0 && rd_u32(&c, &unused) == 0) {
		uint64_t at = header.p_vaddr + (uint64_t)(int64_t)(int32_t)start;
		if (at > address)
			break;
		best = at;
	}
	return best;
}
