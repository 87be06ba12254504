// `shim_torch._impl.native._core.cuda_*` of device memory: figures, the cache of blocks, and the functions CuPy allocates with.
#include "cuda/block_cache.h"
#include "cuda/driver_objects.h"
#include "python/cuda_function.h"

namespace shim {
namespace {

using namespace cuda;

bool there() { return driver().loaded; }

std::tuple<int64_t, int64_t, int64_t, int64_t> stats(int device) {
  const MemoryStats s = memory_stats(device);
  return {s.used, s.reserved, s.used_high, s.reserved_high};
}

// PyTorch's names: "allocated_bytes.small_pool.peak" ...
std::map<std::string, int64_t> statistics(int device) {
  static const char* const figures[] = {"allocation", "segment", "active", "inactive_split", "allocated_bytes",
      "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes"};
  static const char* const pools[] = {"all", "small_pool", "large_pool"};
  const Statistics s = there() ? block_cache(device).statistics() : Statistics{};
  std::map<std::string, int64_t> all = {{"num_alloc_retries", s.retries}, {"num_ooms", s.out_of_memory},
      {"num_sync_all_streams", s.synchronizations}, {"num_device_alloc", s.device_allocations},
      {"num_device_free", s.device_frees}};
  for (size_t f = 0; f < kFigures; ++f)
    for (size_t p = 0; p < 3; ++p) {
      const std::string name = std::string(figures[f]) + "." + pools[p] + ".";
      const Count& c = s.counts[f][p];
      all[name + "current"] = c.current;
      all[name + "peak"] = c.peak;
      all[name + "allocated"] = c.allocated;
      all[name + "freed"] = c.freed;
    }
  return all;
}

constexpr const char* kStates[] = {"inactive", "active_allocated", "active_pending_free"};

PyObject* pieces_of(const BlockCache::Segment& s) {
  return module_call::list_of(s.pieces, [](auto& p) {
    return Py_BuildValue("{s:K,s:n,s:n,s:s}", "address", p.data, "size", Py_ssize_t(p.size), "requested_size",
        Py_ssize_t(p.requested), "state", kStates[p.state]);
  });
}

// One dict a segment, as torch.cuda.memory_snapshot() gives it.
PyObject* snapshot(int device) {
  if (!there()) return PyList_New(0);
  return module_call::list_of(block_cache(device).snapshot(), [&](auto& s) {
    Py_ssize_t used = 0, active = 0, asked = 0;
    for (auto& p : s.pieces) {
      if (p.state == 1) used += Py_ssize_t(p.size), asked += Py_ssize_t(p.requested);
      if (p.state) active += Py_ssize_t(p.size);
    }
    return Py_BuildValue("{s:i,s:K,s:n,s:n,s:n,s:n,s:K,s:s,s:O,s:N}", "device", device, "address", s.data, "total_size",
        Py_ssize_t(s.size), "allocated_size", used, "active_size", active, "requested_size", asked, "stream",
        static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(s.stream)), "segment_type",
        s.large ? "large" : "small", "is_graph_pool", s.of_graphs ? Py_True : Py_False, "blocks", pieces_of(s));
  });
}

void empty_cache(int device) {
  if (there()) block_cache(device).empty();
}

void reset(int device, bool peaks, bool totals) {
  if (there()) block_cache(device).reset(peaks, totals);
}

void limit(int device, int64_t bytes) {  // below 0: none
  require("torch.cuda.set_per_process_memory_fraction");
  block_cache(device).limit(bytes < 0 ? ~size_t(0) : size_t(bytes));
}

// CuPy's CFunctionAllocator takes them as integers: void*(void*, size_t, int) and void(void*, void*, int).
auto allocation_functions() { return std::tuple{&allocate_named, &free_named}; }

bool record_stream_of(const Tensor& t, CUstream stream, int device) {  // false: the memory is not this allocator's
  return record_stream(*t->storage(), t->data(), stream, device);
}

PyMethodDef cuda_memory_functions[] = {ordered<&stats>("cuda_memory_stats"),
    ordered<&statistics>("cuda_memory_statistics"), ordered<&snapshot>("cuda_memory_snapshot"),
    ordered<&mem_info>("cuda_mem_info"), ordered<&empty_cache>("cuda_empty_cache"), ordered<&reset>("cuda_reset_stats"),
    ordered<&limit>("cuda_memory_limit"), function<&allocation_functions>("cuda_allocation_functions"),
    ordered<&record_stream_of>("cuda_record_stream"), {}};

}  // namespace

int bind_cuda_memory(PyObject* module) { return PyModule_AddFunctions(module, cuda_memory_functions); }

}  // namespace shim
