#pragma once
// cuBLASLt, loaded with dlopen: our own declarations of what libcublasLt.so.12 and .13 have in common. The sizes and numbers
// are the library's ABI, compared between both majors; `self_test` reads them back at load.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/driver.h"

namespace shim::cublaslt {

using Status = int;
using Handle = struct HandleImpl*;
constexpr Status kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15;

struct MatmulDesc {
  alignas(8) uint64_t data[32];
};  // 256 bytes
struct MatrixLayout {
  alignas(8) uint64_t data[8];
};
struct Preference {
  alignas(8) uint64_t data[8];
};
struct Algo {
  alignas(8) uint64_t data[8];
};
struct HeuristicResult {
  Algo algo;
  size_t workspace;
  Status state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(MatmulDesc) == 256 && sizeof(MatrixLayout) == 64 && sizeof(Preference) == 64 &&
              sizeof(HeuristicResult) == 96);
static_assert(offsetof(HeuristicResult, workspace) == 64 && offsetof(HeuristicResult, state) == 72);

enum DataType : int { r_32f = 0, r_64f = 1, r_16f = 2, r_16bf = 14, r_8f_e4m3 = 28, r_8f_e5m2 = 29 };
enum ComputeType : int { compute_16f = 64, compute_32f = 68, compute_64f = 70, compute_32f_fast_tf32 = 77 };
enum DescAttribute : int {
  desc_compute = 0,
  desc_scale = 1,
  desc_pointer_mode = 2,
  desc_trans_a = 3,
  desc_trans_b = 4,
  desc_epilogue = 7,
  desc_bias_pointer = 8,
  desc_bias_batch_stride = 10,
  desc_aux_pointer = 11,
  desc_aux_ld = 12,
  desc_aux_batch_stride = 13,
  desc_sm_target = 15,
  desc_a_scale_pointer = 17,
  desc_b_scale_pointer = 18,
  desc_fast_accumulate = 25,
  desc_bias_type = 26,
  desc_a_scale_mode = 31,
  desc_b_scale_mode = 32
};
enum LayoutAttribute : int {
  layout_type = 0,
  layout_rows = 2,
  layout_cols = 3,
  layout_ld = 4,
  layout_batch = 5,
  layout_stride = 6
};
enum PreferenceAttribute : int {
  preference_workspace = 1,
  preference_reductions = 3,
  preference_align_a = 5,
  preference_align_b = 6,
  preference_align_c = 7,
  preference_align_d = 8
};
enum AlgoConfig : int { algo_id = 0, algo_tile = 1, algo_swizzle = 4, algo_cluster = 8 };
enum ClusterShape : uint16_t { cluster_1x1 = 2, cluster_2x1 = 3, cluster_1x2 = 5 };
constexpr int32_t kScaleTensor = 0,
                  kScaleOuterVector = 3;  // of a float8 operand: one factor, one a row (12.9 and later)

// X(member, symbol, result, argument types)
#define SHIM_CUBLASLT(X)                                                                                               \
  X(create, cublasLtCreate, Status, (Handle*))                                                                         \
  X(version, cublasLtGetVersion, size_t, ())                                                                           \
  X(status_name, cublasLtGetStatusName, const char*, (Status))                                                         \
  X(desc_init, cublasLtMatmulDescInit_internal, Status, (MatmulDesc*, size_t, int, int))                               \
  X(desc_set, cublasLtMatmulDescSetAttribute, Status, (MatmulDesc*, int, const void*, size_t))                         \
  X(desc_get, cublasLtMatmulDescGetAttribute, Status, (const MatmulDesc*, int, void*, size_t, size_t*))                \
  X(layout_init, cublasLtMatrixLayoutInit_internal, Status, (MatrixLayout*, size_t, int, uint64_t, uint64_t, int64_t)) \
  X(layout_set, cublasLtMatrixLayoutSetAttribute, Status, (MatrixLayout*, int, const void*, size_t))                   \
  X(layout_get, cublasLtMatrixLayoutGetAttribute, Status, (const MatrixLayout*, int, void*, size_t, size_t*))          \
  X(preference_init, cublasLtMatmulPreferenceInit_internal, Status, (Preference*, size_t))                             \
  X(preference_set, cublasLtMatmulPreferenceSetAttribute, Status, (Preference*, int, const void*, size_t))             \
  X(preference_get, cublasLtMatmulPreferenceGetAttribute, Status, (const Preference*, int, void*, size_t, size_t*))    \
  X(heuristic, cublasLtMatmulAlgoGetHeuristic, Status,                                                                 \
      (Handle, const MatmulDesc*, const MatrixLayout*, const MatrixLayout*, const MatrixLayout*, const MatrixLayout*,  \
          const Preference*, int, HeuristicResult*, int*))                                                             \
  X(algo_check, cublasLtMatmulAlgoCheck, Status,                                                                       \
      (Handle, const MatmulDesc*, const MatrixLayout*, const MatrixLayout*, const MatrixLayout*, const MatrixLayout*,  \
          const Algo*, HeuristicResult*))                                                                              \
  X(algo_config, cublasLtMatmulAlgoConfigGetAttribute, Status, (const Algo*, int, void*, size_t, size_t*))             \
  X(algo_set, cublasLtMatmulAlgoConfigSetAttribute, Status, (Algo*, int, const void*, size_t))                         \
  X(matmul, cublasLtMatmul, Status,                                                                                    \
      (Handle, const MatmulDesc*, const void* alpha, const void* a, const MatrixLayout*, const void* b,                \
          const MatrixLayout*, const void* beta, const void* c, const MatrixLayout*, void* d, const MatrixLayout*,     \
          const Algo*, void* workspace, size_t, cuda::CUstream))

struct Library {
#define SHIM_MEMBER(member, symbol, result, types) result(*member) types = nullptr;
  SHIM_CUBLASLT(SHIM_MEMBER)
#undef SHIM_MEMBER
  bool loaded = false;
  bool copyable_desc = true;  // a byte copy of a descriptor is an independent descriptor
  size_t version_number = 0;  // 10000 major + 100 minor + patch
  std::string path, why;      // where it was found; why it is not loaded
};

const Library& library();                              // loads on the first call; never throws
bool load_library(const std::string& path, Library&);  // one candidate; `why` says what was wrong with it
std::string self_test(const Library&);                 // empty when the ABI is the one declared here
Handle handle(int device);  // one a device, made when first needed; null if the library has none for it

// Where a library of the CUDA toolkit may be, best first ("cublasLt", "nvrtc"); set by the binding layer.
using LibraryFinder = std::vector<std::string> (*)(const char* name);
void set_library_finder(LibraryFinder);
std::vector<std::string> library_candidates(const char* name);

}  // namespace shim::cublaslt
