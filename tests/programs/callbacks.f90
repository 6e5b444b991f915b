! callbacks.f90 - a reduction function in Fortran that calls MPI. Prints how many calls of it did.
subroutine add(in, inout, n, datatype)
  use mpi
  implicit none
  integer :: n, datatype, in(n), inout(n), rank, error, nothing(5), calls
  common /counted/ calls
  inout = inout + in
  nothing = 0
  call MPI_Send(nothing, 5, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
  call MPI_Comm_rank(MPI_COMM_SELF, rank, error)
  calls = calls + 2
end subroutine

program callbacks
  use mpi
  implicit none
  external :: add
  integer :: error, op, sent(4), got(4), i, all, calls
  common /counted/ calls
  calls = 0
  call MPI_Init(error)
  call MPI_Op_create(add, .true., op, error)
  sent = 1
  do i = 1, 10
    call MPI_Allreduce(sent, got, 4, MPI_INTEGER, op, MPI_COMM_WORLD, error)
  end do
  call MPI_Reduce(calls, all, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, i, error)
  if (i == 0) print '(i0)', all
  call MPI_Op_free(op, error)
  call MPI_Finalize(error)
end program
