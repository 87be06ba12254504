#pragma once
// MPI's standard ABI (MPI 5.0, libmpi_abi.so.1, as the wheel `mpich` brings it), loaded when a group first needs it.
#include <cstdint>
#include <string>

namespace shim::distributed::mpi {

using Comm = struct CommHandle*;
using Group = struct GroupHandle*;
using Request = struct RequestHandle*;
using Type = struct TypeHandle*;
using Op = struct OpHandle*;
using Count = int64_t;
struct Status {
  int source, tag, error, internal[5];
};
using Reduction = void(void* in, void* inout, Count* n, Type*);

template <class T> T handle(uintptr_t value) { return reinterpret_cast<T>(value); }
inline const Comm kWorld = handle<Comm>(0x101);
inline const Request kNoRequest = handle<Request>(0x180);
inline void* const kInPlace = reinterpret_cast<void*>(1);
constexpr int kAnySource = -1, kAnyTag = -2, kThreadMultiple = 4096;
constexpr uintptr_t kErrorsReturn = 0x143;
constexpr uintptr_t kByte = 0x247, kInt8 = 0x240, kUint8 = 0x241, kUint16 = 0x249, kInt32 = 0x250, kInt64 = 0x258,
                    kFloat = 0x210, kDouble = 0x214;
constexpr uintptr_t kSum = 0x21, kMin = 0x22, kMax = 0x23, kProduct = 0x24, kBand = 0x28, kBor = 0x29, kBxor = 0x2a;

#define SHIM_MPI(X)                                                                                                   \
  X(Init_thread, (int*, char***, int, int*))                                                                          \
  X(Initialized, (int*))                                                                                              \
  X(Query_thread, (int*))                                                                                             \
  X(Finalize, ())                                                                                                     \
  X(Comm_rank, (Comm, int*))                                                                                          \
  X(Comm_size, (Comm, int*))                                                                                          \
  X(Comm_group, (Comm, Group*))                                                                                       \
  X(Group_incl, (Group, int, const int*, Group*))                                                                     \
  X(Group_free, (Group*))                                                                                             \
  X(Comm_create_group, (Comm, Group, int, Comm*))                                                                     \
  X(Comm_free, (Comm*))                                                                                               \
  X(Comm_set_errhandler, (Comm, struct HandlerHandle*))                                                               \
  X(Op_create_c, (Reduction*, int, Op*))                                                                              \
  X(Iallreduce_c, (const void*, void*, Count, Type, Op, Comm, Request*))                                              \
  X(Ireduce_c, (const void*, void*, Count, Type, Op, int, Comm, Request*))                                            \
  X(Ibcast_c, (void*, Count, Type, int, Comm, Request*))                                                              \
  X(Iallgather_c, (const void*, Count, Type, void*, Count, Type, Comm, Request*))                                     \
  X(Igather_c, (const void*, Count, Type, void*, Count, Type, int, Comm, Request*))                                   \
  X(Iscatter_c, (const void*, Count, Type, void*, Count, Type, int, Comm, Request*))                                  \
  X(Ireduce_scatter_c, (const void*, void*, const Count*, Type, Op, Comm, Request*))                                  \
  X(Ialltoallv_c,                                                                                                     \
      (const void*, const Count*, const intptr_t*, Type, void*, const Count*, const intptr_t*, Type, Comm, Request*)) \
  X(Ibarrier, (Comm, Request*))                                                                                       \
  X(Isend_c, (const void*, Count, Type, int, int, Comm, Request*))                                                    \
  X(Irecv_c, (void*, Count, Type, int, int, Comm, Request*))                                                          \
  X(Test, (Request*, int*, Status*))                                                                                  \
  X(Cancel, (Request*))                                                                                               \
  X(Request_free, (Request*))                                                                                         \
  X(Error_string, (int, char*, int*))

struct Library {
#define SHIM_DECLARE(name, types) int(*name) types = nullptr;
  SHIM_MPI(SHIM_DECLARE)
#undef SHIM_DECLARE
  bool loaded = false;
  std::string why_not;
};

void look_at(const std::string& path);  // where the library is, before it is first asked for
const Library& library();               // loaded or not
const Library& required();              // throws where it is not there, saying what to install
void check(int error, const char* what);
Op half_reduction(bool bfloat16, uintptr_t op);  // in float32, rounded; sums, products, minima and maxima

}  // namespace shim::distributed::mpi
