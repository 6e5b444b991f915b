! lang_f08.f90 - lang_c.c with `use mpi_f08`
program lang
  use mpi_f08
  implicit none
  integer :: rank, nranks, got, total, place, i
  integer :: inbuf(200), outbuf(200)
  type(MPI_Request) :: r(2)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks)
  total = 0
  do i = 0, 49
    outbuf(1) = rank
    call MPI_Irecv(inbuf, 200, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, r(1))
    call MPI_Isend(outbuf, i, MPI_INTEGER, mod(rank + 1, nranks), 1, MPI_COMM_WORLD, r(2))
    call MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
    call MPI_Allreduce(rank, got, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    total = total + got
  end do
  place = rank
  call MPI_Allreduce(MPI_IN_PLACE, place, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) print '(A,I0,A,I0)', ' sum ', total, ' place ', place
  call MPI_Finalize()
end program lang
