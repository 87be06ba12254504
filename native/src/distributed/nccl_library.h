#pragma once
// NCCL, loaded when a group first needs it: our own declarations of what its versions since 2.18 have in common.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/driver.h"

namespace shim::distributed::nccl {

using Result = int;
using Comm = struct CommImpl*;
using Type = int;
using Op = int;
struct UniqueId {
  char bytes[128];
};

constexpr Result kSuccess = 0, kInProgress = 7;
constexpr int kNoColor = -1, kScalarOnHost = 1, kScalarOnDevice = 0, kOldest = 21801;
enum Types : Type { kInt8, kUint8, kInt32, kUint32, kInt64, kUint64, kFloat16, kFloat32, kFloat64, kBfloat16 };
enum Ops : Op { kSum, kProduct, kMax, kMin, kAverage };

// X(member, symbol, argument types): all give a Result.
#define SHIM_NCCL(X)                                                                                 \
  X(version, ncclGetVersion, (int*))                                                                 \
  X(unique_id, ncclGetUniqueId, (UniqueId*))                                                         \
  X(init_rank, ncclCommInitRank, (Comm*, int, UniqueId, int))                                        \
  X(split, ncclCommSplit, (Comm, int, int, Comm*, void*))                                            \
  X(destroy, ncclCommDestroy, (Comm))                                                                \
  X(abort, ncclCommAbort, (Comm))                                                                    \
  X(async_error, ncclCommGetAsyncError, (Comm, Result*))                                             \
  X(group_start, ncclGroupStart, ())                                                                 \
  X(group_end, ncclGroupEnd, ())                                                                     \
  X(make_scaled_sum, ncclRedOpCreatePreMulSum, (Op*, void*, Type, int, Comm))                        \
  X(drop_op, ncclRedOpDestroy, (Op, Comm))                                                           \
  X(all_reduce, ncclAllReduce, (const void*, void*, size_t, Type, Op, Comm, cuda::CUstream))         \
  X(reduce, ncclReduce, (const void*, void*, size_t, Type, Op, int, Comm, cuda::CUstream))           \
  X(broadcast, ncclBroadcast, (const void*, void*, size_t, Type, int, Comm, cuda::CUstream))         \
  X(all_gather, ncclAllGather, (const void*, void*, size_t, Type, Comm, cuda::CUstream))             \
  X(reduce_scatter, ncclReduceScatter, (const void*, void*, size_t, Type, Op, Comm, cuda::CUstream)) \
  X(send, ncclSend, (const void*, size_t, Type, int, Comm, cuda::CUstream))                          \
  X(receive, ncclRecv, (void*, size_t, Type, int, Comm, cuda::CUstream))

struct Library {
#define SHIM_DECLARE(member, symbol, types) Result(*member) types = nullptr;
  SHIM_NCCL(SHIM_DECLARE)
#undef SHIM_DECLARE
  const char* (*error_text)(Result) = nullptr;
  const char* (*last_error)(Comm) = nullptr;
  int version_number = 0;  // 22809: 2.28.9
  bool loaded = false;
  std::string path, why_not;
};

const Library& library();   // loads on the first call; loaded or not
const Library& required();  // throws where it is not there, saying what to install
void check(Result, const char* what, Comm = nullptr);

}  // namespace shim::distributed::nccl
