/* mpic_defs.h - how a definition record begins, for who writes one: {type u32, length u32, head, tail, padding to 8
 * bytes}, little-endian. Read by mpic_next_def(), which trusts no length in them. */
#pragma once

#include <stdint.h>

struct mpic_sig_head { /* tail: nwords u64 */
	uint32_t id, nwords;
};

struct mpic_datatype_head { /* tail: name */
	uint32_t id, zero;
	uint64_t size_bytes, hash, elements; /* struct typesig */
};

struct mpic_comm_head { /* tail: nruns + nremote struct mpic_rank_run */
	uint32_t id, parent;
	uint64_t global_id;
	uint32_t created_by, size;
	int32_t my_rank;
	uint32_t inter, nruns, nremote;
};

struct mpic_module_head { /* tail: build id, path */
	uint64_t begin, end, bias;
	uint32_t build_id_len, path_len;
};

struct mpic_object_head { /* WINDOW: tail is bytes u64; FILE: its name */
	uint32_t id, comm;
	uint64_t global_id;
	uint32_t created_by, mode; /* enum mpic_file_mode; windows: 0 */
};

struct mpic_topology_head { /* tail: nin + nout i32 ranks */
	uint32_t comm, nin, nout, zero;
};

/* All others (operations, names): id u32; tail: name. */
