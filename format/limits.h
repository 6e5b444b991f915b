/* limits.h - every length, count and depth that a file may claim has its cap here. */
#pragma once

#define MPIC_BLOCK_RAW_MAX (64u << 20)	  /* inflated bytes of one block */
#define MPIC_BLOCK_PACKED_MAX (64u << 20) /* packed bytes of one block */
#define MPIC_INFLATE_RATIO_MAX 1032u	  /* deflate cannot do better: RFC 1951 via zlib's documentation */
#define MPIC_BLOCK_WORDS_MAX (1u << 20)	  /* extra words of the events of one block, and their numbers */
#define MPIC_SIG_WORDS_MAX 60000u	  /* words of one signature */
#define MPIC_DEF_BYTES_MAX (1u << 20)	  /* one definition record */
#define MPIC_NAME_MAX 4096u
#define MPIC_META_KEYS_MAX 256u	      /* of two METAs of one process or node */
#define MPIC_PROCESSES_MAX (1u << 16) /* processes in one .mpic */
#define MPIC_THREADS_MAX 4096u	      /* threads of one process */
#define MPIC_TAIL_BYTES 4096u	      /* that are read to find the END block */
#define MPIC_SAMPLE_WORDS_MAX 64u     /* of the signature of a call that is open */
#define MPIC_BLOCKS_MAX (1u << 26)    /* blocks in one .mpic */
#define MPIC_SIGS_MAX (1u << 20)      /* signatures of one thread */
#define MPIC_COMM_SIZE_MAX (1u << 24) /* ranks of one communicator */
#define RANKS_MAX (1u << 20)

#define LAYOUT_BYTES_MAX (1u << 20)    /* a step's layout file */
#define LAYOUT_ARGV_MAX (1u << 18)     /* of its command line; a longer one is cut, with "..." as its last argument */
#define EXITS_BYTES_MAX (8u << 20)     /* what launchers note of how processes ended */
#define UNTRACED_BYTES_MAX (64u << 10) /* what the front notes of processes that run untraced */
#define UNTRACED_UNSAID_MAX (1u << 20) /* processes that are counted of those without room to say why */
#define LAYOUT_GIDS_MAX 256	       /* supplementary groups that are kept */

#define MPIX_CHUNKS_MAX (1u << 22)	   /* entries of the index of one .mpix */
#define MPIX_CHUNK_RAW_MAX (64u << 20)	   /* inflated bytes of one chunk */
#define MPIX_ANALYSIS_RAW_MAX (512u << 20) /* inflated bytes of the analysis */
#define MPIX_STACKS_MAX 65536u		   /* different callers of calls, in the analysis */
#define MPIX_OPS_MAX 65536u		   /* names of operations */
#define MPIX_OP_NAME_MAX 255u		   /* bytes of one of them */
#define MPIX_SEGMENTS_MAX (1u << 20)	   /* segments of one event chunk of version 1 */
#define MPIX_LANES_MAX (1u << 22)	   /* threads of all ranks */
#define MPIX_GROUP_SIGS_MAX (1u << 23)	   /* signatures of one rank group */
#define MPIX_SAMPLES_MAX 2048u		   /* of one file: more become fewer */
#define MPIX_SAMPLES_BYTES_MAX (64u << 20) /* of all of them, before they are packed */
#define MPIX_KNOTS_MAX (1u << 21)	   /* of one clock */
#define MPIX_CHUNK_RECORDS_MAX (1u << 22)  /* events or messages of one chunk */
#define MPIX_RUNTIME_MAX_NS (1ll << 53)	   /* 104 days: what a JavaScript number holds exactly */

#define FABRIC_BYTES_MAX (16u << 20) /* a topology.conf or topology.yaml */
#define FABRIC_UNITS_MAX (1u << 16)  /* switches, blocks or rings in it */
#define FABRIC_NODES_MAX (1u << 18)  /* names of nodes in it, each time it is named */
#define FABRIC_DEPTH_MAX 32u	     /* switches above each other */
#define FABRIC_SIZES_MAX 16u	     /* sizes of blocks */
