/* libmpi.h - how the files of MPI libraries begin: the standard's ABI; Open MPI (HPC-X: libmpi.so.40) and MPICH; what
 * has MPICH's ABI under another name (Cray, HPE). That of Intel, MVAPICH and ParTec is libmpi.so.12. */
#pragma once

#define LIBMPI_NAMES \
	{ \
		"libmpi_abi", "libmpi.so", "libmpich.so", "libmpi_ompi.so", "libmpi_gnu", "libmpi_cray", \
			"libmpi_intel", "libmpi_amd", "libmpi_nvidia", "libmpi_aocc", "libmpich_gnu", "libmpich_cray" \
	}
