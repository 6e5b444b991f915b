! fortran_many.f90 - 2,000 requests of every rank in one Waitall without statuses, half of them from any source
program many
  use mpi
  implicit none
  integer, parameter :: n = 1000
  integer :: rank, nranks, level, i, ierr, left, source
  integer :: r(2 * n), inbuf(n), outbuf(n)
  integer(8) :: total
  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  left = mod(rank + nranks - 1, nranks)
  do i = 1, n
    source = left
    if (mod(i, 2) == 0) source = MPI_ANY_SOURCE
    call MPI_Irecv(inbuf(i), 1, MPI_INTEGER, source, i, MPI_COMM_WORLD, r(i), ierr)
  end do
  do i = 1, n
    outbuf(i) = rank * n + i
    call MPI_Isend(outbuf(i), 1, MPI_INTEGER, mod(rank + 1, nranks), i, MPI_COMM_WORLD, r(n + i), ierr)
  end do
  call MPI_Waitall(2 * n, r, MPI_STATUSES_IGNORE, ierr)
  total = 0
  do i = 1, n
    if (inbuf(i) /= left * n + i) total = total + 1000000
    if (r(i) /= MPI_REQUEST_NULL) total = total + 1000000
    total = total + inbuf(i)
  end do
  call MPI_Reduce(int(total), i, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(A,I0)', ' total ', i
  call MPI_Finalize(ierr)
end program many
