/* abi.h - what MPI 5.0 fixes of its application binary interface (chapter 20, appendix A), as far as the tracer needs
 * it: types, and values of constants. The functions are those of mpi.tab; together they make the mpi.h that the tracer
 * for `libmpi_abi` is built with (generate.py, header), so no MPI that has this interface need be installed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#define MPI_ABI_VERSION 1

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Offset;
typedef int64_t MPI_Count;
typedef int MPI_Fint;

typedef struct {
	int MPI_SOURCE;
	int MPI_TAG;
	int MPI_ERROR;
	int MPI_internal[5];
} MPI_Status;

#define HANDLE(name) typedef struct MPI_ABI_##name *MPI_##name;
HANDLE(Comm)
HANDLE(Datatype)
HANDLE(Errhandler)
HANDLE(File)
HANDLE(Group)
HANDLE(Info)
HANDLE(Message)
HANDLE(Op)
HANDLE(Request)
HANDLE(Session)
HANDLE(Win)
#undef HANDLE

/* clang-format off */
#define MPI_REPLACE              ((MPI_Op)0x03c)
#define MPI_NO_OP                ((MPI_Op)0x03d)
#define MPI_COMM_NULL            ((MPI_Comm)0x100)
#define MPI_COMM_WORLD           ((MPI_Comm)0x101)
#define MPI_COMM_SELF            ((MPI_Comm)0x102)
#define MPI_GROUP_NULL           ((MPI_Group)0x108)
#define MPI_WIN_NULL             ((MPI_Win)0x110)
#define MPI_FILE_NULL            ((MPI_File)0x118)
#define MPI_SESSION_NULL         ((MPI_Session)0x120)
#define MPI_MESSAGE_NULL         ((MPI_Message)0x128)
#define MPI_MESSAGE_NO_PROC      ((MPI_Message)0x129)
#define MPI_REQUEST_NULL         ((MPI_Request)0x180)
#define MPI_DATATYPE_NULL        ((MPI_Datatype)0x200)
#define MPI_PACKED               ((MPI_Datatype)0x207)
#define MPI_SHORT                ((MPI_Datatype)0x208)
#define MPI_INT                  ((MPI_Datatype)0x209)
#define MPI_LONG                 ((MPI_Datatype)0x20a)
#define MPI_FLOAT                ((MPI_Datatype)0x210)
#define MPI_DOUBLE               ((MPI_Datatype)0x214)
#define MPI_INTEGER              ((MPI_Datatype)0x219)
#define MPI_REAL                 ((MPI_Datatype)0x21a)
#define MPI_DOUBLE_PRECISION     ((MPI_Datatype)0x21c)
#define MPI_LONG_DOUBLE          ((MPI_Datatype)0x220)
#define MPI_FLOAT_INT            ((MPI_Datatype)0x228)
#define MPI_DOUBLE_INT           ((MPI_Datatype)0x229)
#define MPI_LONG_INT             ((MPI_Datatype)0x22a)
#define MPI_SHORT_INT            ((MPI_Datatype)0x22c)
#define MPI_LONG_DOUBLE_INT      ((MPI_Datatype)0x22d)
#define MPI_BYTE                 ((MPI_Datatype)0x247)

#define MPI_ANY_SOURCE           (-1)
#define MPI_ANY_TAG              (-2)
#define MPI_APPNUM               505
#define MPI_CART                 211
#define MPI_COMBINER_F90_COMPLEX 114
#define MPI_COMBINER_F90_INTEGER 115
#define MPI_COMBINER_F90_REAL    113
#define MPI_COMBINER_NAMED       101
#define MPI_COMBINER_STRUCT      110
#define MPI_DIST_GRAPH           213
#define MPI_ERR_TRUNCATE         15
#define MPI_GRAPH                212
#define MPI_LOCK_EXCLUSIVE       301
#define MPI_LOCK_SHARED          302
#define MPI_MODE_APPEND          1
#define MPI_MODE_CREATE          2
#define MPI_MODE_DELETE_ON_CLOSE 4
#define MPI_MODE_EXCL            8
#define MPI_MODE_RDONLY          16
#define MPI_MODE_RDWR            32
#define MPI_MODE_SEQUENTIAL      64
#define MPI_MODE_UNIQUE_OPEN     128
#define MPI_MODE_WRONLY          256
#define MPI_PROC_NULL            (-3)
#define MPI_ROOT                 (-4)
#define MPI_SUCCESS              0
#define MPI_THREAD_MULTIPLE      4096
#define MPI_THREAD_SINGLE        0
#define MPI_UNDEFINED            (-32766)

#define MPI_MAX_LIBRARY_VERSION_STRING 8192
#define MPI_MAX_OBJECT_NAME      128
#define MPI_IN_PLACE             ((void *)1)
#define MPI_STATUS_IGNORE        ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE      ((MPI_Status *)0)

typedef void MPI_User_function(void *invec, void *inoutvec, int *len, MPI_Datatype *datatype);
typedef void MPI_User_function_c(void *invec, void *inoutvec, MPI_Count *len, MPI_Datatype *datatype);
typedef int MPI_Grequest_query_function(void *extra_state, MPI_Status *status);
typedef int MPI_Grequest_free_function(void *extra_state);
typedef int MPI_Grequest_cancel_function(void *extra_state, int complete);
typedef int MPI_Copy_function(MPI_Comm comm, int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Delete_function(MPI_Comm comm, int keyval, void *attribute_val, void *extra_state);
typedef int MPI_Comm_copy_attr_function(MPI_Comm comm, int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Comm_delete_attr_function(MPI_Comm comm, int keyval, void *attribute_val, void *extra_state);
typedef int MPI_Type_copy_attr_function(MPI_Datatype datatype, int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Type_delete_attr_function(MPI_Datatype datatype, int keyval, void *attribute_val, void *extra_state);
typedef int MPI_Win_copy_attr_function(MPI_Win win, int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);
typedef int MPI_Win_delete_attr_function(MPI_Win win, int keyval, void *attribute_val, void *extra_state);
typedef int MPI_Datarep_extent_function(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state);
typedef int MPI_Datarep_conversion_function(void *userbuf, MPI_Datatype datatype, int count, void *filebuf, MPI_Offset position, void *extra_state);
typedef int MPI_Datarep_conversion_function_c(void *userbuf, MPI_Datatype datatype, MPI_Count count, void *filebuf, MPI_Offset position, void *extra_state);
typedef void MPI_Comm_errhandler_function(MPI_Comm *comm, int *error_code, ...);
typedef void MPI_File_errhandler_function(MPI_File *file, int *error_code, ...);
typedef void MPI_Win_errhandler_function(MPI_Win *win, int *error_code, ...);
typedef void MPI_Session_errhandler_function(MPI_Session *session, int *error_code, ...);
typedef MPI_Comm_errhandler_function MPI_Handler_function; /* removed in 3.0 */
/* clang-format on */
