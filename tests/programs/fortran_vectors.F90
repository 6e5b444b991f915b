! fortran_vectors.F90 - collectives with a size for each peer, and what else MPI's Fortran layer asks MPI about by itself:
! the program calls MPI_Comm_size twice and MPI_Cartdim_get once.
program vectors
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_Comm) :: cart
#else
  use mpi
  implicit none
  integer :: cart
#endif
  integer, parameter :: rounds = 10, most = 64
  integer :: rank, n, i, k, ierr, dims, place
  integer :: counts(most), where(most), mine(most), all(most), coords(1)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
  counts = 1
  do k = 1, most
    where(k) = k - 1
    mine(k) = rank
  end do
  do i = 1, rounds
    call MPI_Gatherv(mine, 1, MPI_INTEGER, all, counts, where, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call MPI_Scatterv(all, counts, where, MPI_INTEGER, mine, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call MPI_Allgatherv(mine, 1, MPI_INTEGER, all, counts, where, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call MPI_Alltoallv(mine, counts, where, MPI_INTEGER, all, counts, where, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call MPI_Reduce_scatter(all, mine, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  end do
  call MPI_Cart_create(MPI_COMM_WORLD, 1, (/n/), (/.true./), .false., cart, ierr)
  call MPI_Cartdim_get(cart, dims, ierr)
  coords(1) = 0
  do i = 1, rounds
    call MPI_Cart_rank(cart, coords, place, ierr)
  end do
  call MPI_Comm_size(cart, n, ierr)
  if (rank == 0) print '(A,I0,A,I0)', 'ranks ', n, ' sum ', mine(1)
  call MPI_Finalize(ierr)
end program
