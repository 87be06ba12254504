// `shim_torch._impl.native._core.cuda_*` of device memory.
#include "cuda/block_cache.h"
#include "cuda/driver_objects.h"
#include "cuda/memory_report.h"
#include "python/cuda_function.h"

namespace shim {
namespace {

using namespace cuda;

// CuPy's CFunctionAllocator takes them as integers: void*(void*, size_t, int) and void(void*, void*, int).
auto allocation_functions() { return std::tuple{&allocate_named, &free_named}; }

bool record_stream_of(const Tensor& t, CUstream stream, int device) {  // false: the memory is not this allocator's
  return record_stream(*t->storage(), t->data(), stream, device);
}

const ModulePart cuda_memory_functions{{ordered<&memory_figures>("cuda_memory_stats"),
    ordered<&memory_statistics>("cuda_memory_statistics"), ordered<&memory_snapshot>("cuda_memory_snapshot"),
    ordered<&mem_info>("cuda_mem_info"), ordered<&empty_cache>("cuda_empty_cache"),
    ordered<&reset_statistics>("cuda_reset_stats"), ordered<&limit_memory>("cuda_memory_limit"),
    function<&allocation_functions>("cuda_allocation_functions"), ordered<&record_stream_of>("cuda_record_stream")}};

}  // namespace

}  // namespace shim
