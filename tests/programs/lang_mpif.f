C     lang_mpif.f - lang_c.c with mpif.h
      program lang
      implicit none
      include 'mpif.h'
      integer rank, nranks, got, total, place, i, ierr
      integer inbuf(200), outbuf(200), r(2)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, nranks, ierr)
      total = 0
      do 10 i = 0, 49
        outbuf(1) = rank
        call MPI_IRECV(inbuf, 200, MPI_INTEGER, MPI_ANY_SOURCE, 1,
     &       MPI_COMM_WORLD, r(1), ierr)
        call MPI_ISEND(outbuf, i, MPI_INTEGER, mod(rank+1, nranks), 1,
     &       MPI_COMM_WORLD, r(2), ierr)
        call MPI_WAITALL(2, r, MPI_STATUSES_IGNORE, ierr)
        call MPI_ALLREDUCE(rank, got, 1, MPI_INTEGER, MPI_SUM,
     &       MPI_COMM_WORLD, ierr)
        total = total + got
 10   continue
      place = rank
      call MPI_ALLREDUCE(MPI_IN_PLACE, place, 1, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print '(A,I0,A,I0)', ' sum ', total, ' place ',
     &     place
      call MPI_FINALIZE(ierr)
      end
