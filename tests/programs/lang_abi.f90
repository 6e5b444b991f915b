! lang_abi.f90 - lang_c.c in Fortran through the standard's ABI. No MPI of 2026 has a Fortran layer over it, so this
! program binds the C functions itself. Values are those of the ABI.
module abi
  use iso_c_binding
  implicit none
  integer(c_intptr_t), parameter :: MPI_COMM_WORLD = 257, MPI_INT = 521, MPI_SUM = 33
  integer(c_int), parameter :: MPI_ANY_SOURCE = -1
  type(c_ptr), parameter :: MPI_STATUSES_IGNORE = c_null_ptr
  interface
    integer(c_int) function MPI_Init(argc, argv) bind(C, name='MPI_Init')
      import
      type(c_ptr), value :: argc, argv
    end function
    integer(c_int) function MPI_Comm_rank(comm, rank) bind(C, name='MPI_Comm_rank')
      import
      integer(c_intptr_t), value :: comm
      integer(c_int) :: rank
    end function
    integer(c_int) function MPI_Comm_size(comm, nranks) bind(C, name='MPI_Comm_size')
      import
      integer(c_intptr_t), value :: comm
      integer(c_int) :: nranks
    end function
    integer(c_int) function MPI_Irecv(buf, count, type, source, tag, comm, request) bind(C, name='MPI_Irecv')
      import
      type(c_ptr), value :: buf
      integer(c_int), value :: count, source, tag
      integer(c_intptr_t), value :: type, comm
      integer(c_intptr_t) :: request
    end function
    integer(c_int) function MPI_Isend(buf, count, type, dest, tag, comm, request) bind(C, name='MPI_Isend')
      import
      type(c_ptr), value :: buf
      integer(c_int), value :: count, dest, tag
      integer(c_intptr_t), value :: type, comm
      integer(c_intptr_t) :: request
    end function
    integer(c_int) function MPI_Waitall(count, requests, statuses) bind(C, name='MPI_Waitall')
      import
      integer(c_int), value :: count
      integer(c_intptr_t) :: requests(*)
      type(c_ptr), value :: statuses
    end function
    integer(c_int) function MPI_Allreduce(from, to, count, type, op, comm) bind(C, name='MPI_Allreduce')
      import
      type(c_ptr), value :: from, to
      integer(c_int), value :: count
      integer(c_intptr_t), value :: type, op, comm
    end function
    integer(c_int) function MPI_Barrier(comm) bind(C, name='MPI_Barrier')
      import
      integer(c_intptr_t), value :: comm
    end function
    integer(c_int) function MPI_Finalize() bind(C, name='MPI_Finalize')
      import
    end function
  end interface
end module abi

program lang
  use abi
  implicit none
  type(c_ptr) :: in_place
  integer(c_int) :: nranks, i, total, ierr
  integer(c_int), target :: rank, got, place, inbuf(200), outbuf(200)
  integer(c_intptr_t) :: r(2)
  in_place = transfer(1_c_intptr_t, in_place)
  ierr = MPI_Init(c_null_ptr, c_null_ptr)
  ierr = MPI_Comm_rank(MPI_COMM_WORLD, rank)
  ierr = MPI_Comm_size(MPI_COMM_WORLD, nranks)
  total = 0
  do i = 0, 49
    outbuf(1) = rank
    ierr = MPI_Irecv(c_loc(inbuf), 200, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, r(1))
    ierr = MPI_Isend(c_loc(outbuf), i, MPI_INT, mod(rank + 1, nranks), 1, MPI_COMM_WORLD, r(2))
    ierr = MPI_Waitall(2, r, MPI_STATUSES_IGNORE)
    ierr = MPI_Allreduce(c_loc(rank), c_loc(got), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
    total = total + got
  end do
  place = rank
  ierr = MPI_Allreduce(in_place, c_loc(place), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
  ierr = MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) print '(A,I0,A,I0)', ' sum ', total, ' place ', place
  ierr = MPI_Finalize()
end program lang
