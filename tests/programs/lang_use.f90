! lang_use.f90 - lang_c.c with `use mpi`
program lang
  use mpi
  implicit none
  integer :: rank, nranks, got, total, place, i, ierr
  integer :: inbuf(200), outbuf(200), r(2)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  total = 0
  do i = 0, 49
    outbuf(1) = rank
    call MPI_Irecv(inbuf, 200, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, r(1), ierr)
    call MPI_Isend(outbuf, i, MPI_INTEGER, mod(rank + 1, nranks), 1, MPI_COMM_WORLD, r(2), ierr)
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE, ierr)
    call MPI_Allreduce(rank, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    total = total + got
  end do
  place = rank
  call MPI_Allreduce(MPI_IN_PLACE, place, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(A,I0,A,I0)', ' sum ', total, ' place ', place
  call MPI_Finalize(ierr)
end program lang
