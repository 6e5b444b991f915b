/* counts_io.c DIRECTORY [old] - MPI-IO in all forms (old: but nonblocking collectives), with known counts and
 * known bytes in each of two files. Any number of ranks. The file grows by 8 ints a rank and call; reads beyond
 * its end find less than they ask for. */
#include "truth.h"

#define INTS 8
#define BYTES (INTS * (long)sizeof(int))

static int rank, size, old;
static int out[64], in[64];
static long written, read_;

static void wrote(void)
{
	written += BYTES;
}
static void found(void)
{
	read_ += BYTES;
}

/* Places in the file: call number k of this rank. */
static MPI_Offset place(int k)
{
	return (MPI_Offset)(k * size + rank) * BYTES;
}

static void writes(MPI_File f)
{
	MPI_Status st;
	MPI_Request r[4];
	CALL(MPI_File_write_at, f, place(0), out, INTS, MPI_INT, MPI_STATUS_IGNORE), wrote();
	CALL(MPI_File_write_at_all, f, place(1), out, INTS, MPI_INT, &st), wrote();
	CALL(MPI_File_seek, f, place(2), MPI_SEEK_SET);
	CALL(MPI_File_write, f, out, INTS, MPI_INT, &st), wrote();
	CALL(MPI_File_seek, f, place(3), MPI_SEEK_SET);
	CALL(MPI_File_write_all, f, out, INTS, MPI_INT, MPI_STATUS_IGNORE), wrote();
	CALL(MPI_File_iwrite_at, f, place(4), out, INTS, MPI_INT, &r[0]), wrote();
	CALL(MPI_File_seek, f, place(5), MPI_SEEK_SET);
	CALL(MPI_File_iwrite, f, out, INTS, MPI_INT, &r[1]), wrote();
	CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
	if (!old) {
		CALL(MPI_File_iwrite_at_all, f, place(6), out, INTS, MPI_INT, &r[0]), wrote();
		CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
		CALL(MPI_File_seek, f, place(7), MPI_SEEK_SET);
		CALL(MPI_File_iwrite_all, f, out, INTS, MPI_INT, &r[0]), wrote();
		CALL(MPI_Wait, &r[0], &st);
	}
	CALL(MPI_File_write_at_all_begin, f, place(8), out, INTS, MPI_INT);
	CALL(MPI_File_write_at_all_end, f, out, &st), wrote();
	CALL(MPI_File_seek, f, place(9), MPI_SEEK_SET);
	CALL(MPI_File_write_all_begin, f, out, INTS, MPI_INT);
	CALL(MPI_File_write_all_end, f, out, MPI_STATUS_IGNORE), wrote();
	CALL(MPI_File_sync, f);
	CALL(MPI_Barrier, MPI_COMM_WORLD);
}

static void reads(MPI_File f)
{
	MPI_Status st;
	MPI_Request r[4];
	CALL(MPI_File_read_at, f, place(0), in, INTS, MPI_INT, MPI_STATUS_IGNORE), found();
	CALL(MPI_File_read_at_all, f, place(1), in, INTS, MPI_INT, &st), found();
	CALL(MPI_File_seek, f, place(2), MPI_SEEK_SET);
	CALL(MPI_File_read, f, in, INTS, MPI_INT, &st), found();
	CALL(MPI_File_seek, f, place(3), MPI_SEEK_SET);
	CALL(MPI_File_read_all, f, in, INTS, MPI_INT, MPI_STATUS_IGNORE), found();
	CALL(MPI_File_iread_at, f, place(4), in, INTS, MPI_INT, &r[0]), found();
	CALL(MPI_File_seek, f, place(5), MPI_SEEK_SET);
	CALL(MPI_File_iread, f, in + 16, INTS, MPI_INT, &r[1]), found();
	CALL(MPI_Waitall, 2, r, MPI_STATUSES_IGNORE);
	if (!old) {
		CALL(MPI_File_iread_at_all, f, place(6), in, INTS, MPI_INT, &r[0]), found();
		CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
		CALL(MPI_File_seek, f, place(7), MPI_SEEK_SET);
		CALL(MPI_File_iread_all, f, in, INTS, MPI_INT, &r[0]), found();
		CALL(MPI_Wait, &r[0], &st);
	}
	CALL(MPI_File_read_at_all_begin, f, place(8), in, INTS, MPI_INT);
	CALL(MPI_File_read_at_all_end, f, in, &st), found();
	CALL(MPI_File_seek, f, place(9), MPI_SEEK_SET);
	CALL(MPI_File_read_all_begin, f, in, INTS, MPI_INT);
	CALL(MPI_File_read_all_end, f, in, MPI_STATUS_IGNORE), found();
	/* only the last rank's last place is partly there: half of it */
	CALL(MPI_File_read_at, f, (MPI_Offset)(10 * size) * BYTES - BYTES / 2, in, INTS, MPI_INT, &st);
	read_ += BYTES / 2;
#ifndef OPEN_MPI /* 4.1.4 waits for ever for what is not in the file */
	CALL(MPI_File_iread_at, f, (MPI_Offset)(10 * size) * BYTES - BYTES / 4, in, INTS, MPI_INT, &r[0]);
	CALL(MPI_Wait, &r[0], MPI_STATUS_IGNORE);
	read_ += BYTES / 4;
#endif
}

static void shared_pointer(MPI_File f)
{
	MPI_Status st;
	MPI_Request r;
	CALL(MPI_File_write_shared, f, out, INTS, MPI_INT, &st), wrote();
	CALL(MPI_File_iwrite_shared, f, out, INTS, MPI_INT, &r), wrote();
	CALL(MPI_Wait, &r, &st);
	CALL(MPI_Barrier, MPI_COMM_WORLD);
	CALL(MPI_File_write_ordered, f, out, INTS, MPI_INT, MPI_STATUS_IGNORE), wrote();
	CALL(MPI_File_write_ordered_begin, f, out, INTS, MPI_INT);
	CALL(MPI_File_write_ordered_end, f, out, &st), wrote();
	CALL(MPI_File_sync, f);
	CALL(MPI_Barrier, MPI_COMM_WORLD);
	CALL(MPI_File_seek_shared, f, 0, MPI_SEEK_SET);
	CALL(MPI_File_read_shared, f, in, INTS, MPI_INT, &st), found();
	CALL(MPI_File_iread_shared, f, in, INTS, MPI_INT, &r), found();
	CALL(MPI_Wait, &r, &st);
	CALL(MPI_Barrier, MPI_COMM_WORLD);
	CALL(MPI_File_read_ordered, f, in, INTS, MPI_INT, MPI_STATUS_IGNORE), found();
	CALL(MPI_File_read_ordered_begin, f, in, INTS, MPI_INT);
	CALL(MPI_File_read_ordered_end, f, in, &st), found();
}

static MPI_File begin(const char *path)
{
	MPI_File f;
	written = read_ = 0;
	if (CALL(MPI_File_open, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f) !=
	    MPI_SUCCESS)
		abort();
	CALL(MPI_File_set_view, f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
	return f;
}

static void end(const char *path, MPI_File f)
{
	CALL(MPI_File_close, &f);
	truth_file(path, read_, written);
}

int main(int argc, char **argv)
{
	char path[4096];
	MPI_File f;
	CALL(MPI_Init, &argc, &argv);
	CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
	CALL(MPI_Comm_size, MPI_COMM_WORLD, &size);
	snprintf(path, sizeof(path), "%s/first", argc > 1 ? argv[1] : ".");
	old = argc > 2;
	f = begin(path);
	writes(f);
	reads(f);
	end("first", f);
	snprintf(path, sizeof(path), "%s/second", argc > 1 ? argv[1] : ".");
	f = begin(path);
	shared_pointer(f);
	end("second", f);
	CALL(MPI_Finalize);
	truth_write(rank, size);
	return 0;
}
