! fortran_sections.f90 - sections of arrays as buffers, for which a library may make datatypes by itself: the program makes
! one, by MPI_Type_create_hvector, MPI_Type_commit and MPI_Type_free.
program sections
  use mpi_f08
  implicit none
  integer, parameter :: rounds = 5
  type(MPI_Datatype) :: column
  integer :: rank, n, i, mine(21), other(21)

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, n)
  call MPI_Type_create_hvector(7, 1, 12_MPI_ADDRESS_KIND, MPI_INTEGER, column)
  call MPI_Type_commit(column)
  mine = rank
  other = 0
  do i = 1, rounds
    call MPI_Sendrecv(mine(1:21:2), 11, MPI_INTEGER, mod(rank + 1, n), 1, other(1:21:2), 11, MPI_INTEGER, &
                      mod(rank + n - 1, n), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Bcast(mine(1:21:3), 7, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call MPI_Sendrecv(mine, 1, column, mod(rank + 1, n), 2, other, 1, column, mod(rank + n - 1, n), 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
  end do
  call MPI_Type_free(column)
  if (rank == 0) print '(A,I0,A,I0)', 'ranks ', n, ' sum ', sum(other)
  call MPI_Finalize()
end program
