// `shim_torch._impl.native._core.cuda_*` of device memory: figures, the cache of blocks, and the functions CuPy allocates with.
#include "cuda/block_cache.h"
#include "python/cuda_function.h"

namespace shim {
namespace {

using namespace cuda;

bool there() { return driver().loaded; }

PyObject* stats(int device) {
  MemoryStats s = memory_stats(device);
  return Py_BuildValue("(KKKK)", s.used, s.reserved, s.used_high, s.reserved_high);
}

void put(PyObject* dict, const std::string& key, int64_t value) {
  PyObject* v = PyLong_FromLongLong(value);
  if (!v || PyDict_SetItemString(dict, key.c_str(), v) < 0) {
    Py_XDECREF(v);
    throw PythonError();
  }
  Py_DECREF(v);
}

// PyTorch's names: "allocated_bytes.small_pool.peak" ...
PyObject* statistics(int device) {
  static const char* const figures[] = {"allocation", "segment", "active", "inactive_split", "allocated_bytes",
      "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes"};
  static const char* const pools[] = {"all", "small_pool", "large_pool"};
  const Statistics s = there() ? block_cache(device).statistics() : Statistics{};
  PyObject* dict = PyDict_New();
  if (!dict) return nullptr;
  try {
    for (size_t f = 0; f < kFigures; ++f)
      for (size_t p = 0; p < 3; ++p) {
        const std::string name = std::string(figures[f]) + "." + pools[p] + ".";
        const Count& c = s.counts[f][p];
        put(dict, name + "current", c.current);
        put(dict, name + "peak", c.peak);
        put(dict, name + "allocated", c.allocated);
        put(dict, name + "freed", c.freed);
      }
    put(dict, "num_alloc_retries", s.retries);
    put(dict, "num_ooms", s.out_of_memory);
    put(dict, "num_sync_all_streams", s.synchronizations);
    put(dict, "num_device_alloc", s.device_allocations);
    put(dict, "num_device_free", s.device_frees);
  } catch (...) {
    Py_DECREF(dict);
    throw;
  }
  return dict;
}

PyObject* pieces_of(const BlockCache::Segment& s) {
  static const char* const states[] = {"inactive", "active_allocated", "active_pending_free"};
  PyObject* list = PyList_New(0);
  for (auto& p : s.pieces) {
    PyObject* o = list ? Py_BuildValue("{s:K,s:n,s:n,s:s}", "address", p.data, "size", Py_ssize_t(p.size),
                             "requested_size", Py_ssize_t(p.requested), "state", states[p.state])
                       : nullptr;
    if (!o || PyList_Append(list, o) < 0) Py_CLEAR(list);
    Py_XDECREF(o);
  }
  return list;
}

// One dict a segment, as torch.cuda.memory_snapshot() gives it.
PyObject* snapshot(int device) {
  PyObject* all = PyList_New(0);
  if (!all || !there()) return all;
  for (auto& s : block_cache(device).snapshot()) {
    Py_ssize_t used = 0, active = 0, asked = 0;
    for (auto& p : s.pieces) {
      if (p.state == 1) used += Py_ssize_t(p.size), asked += Py_ssize_t(p.requested);
      if (p.state) active += Py_ssize_t(p.size);
    }
    PyObject* blocks = pieces_of(s);
    PyObject* o =
        blocks ? Py_BuildValue("{s:i,s:K,s:n,s:n,s:n,s:n,s:K,s:s,s:O,s:N}", "device", device, "address", s.data,
                     "total_size", Py_ssize_t(s.size), "allocated_size", used, "active_size", active, "requested_size",
                     asked, "stream", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(s.stream)),
                     "segment_type", s.large ? "large" : "small", "is_graph_pool", s.of_graphs ? Py_True : Py_False,
                     "blocks", blocks)
               : nullptr;
    if (!o || PyList_Append(all, o) < 0) Py_CLEAR(all);
    Py_XDECREF(o);
    if (!all) return nullptr;
  }
  return all;
}

PyObject* mem_info(int device) {
  const Driver& d = require("torch.cuda.mem_get_info");
  const OnDevice current{device};
  size_t free_bytes = 0, total = 0;
  check(d.mem_info(&free_bytes, &total), "cuMemGetInfo");
  return Py_BuildValue("(nn)", Py_ssize_t(free_bytes), Py_ssize_t(total));
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
    ordered<&record_stream_of>("cuda_record_stream"), {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cuda_memory(PyObject* module) { return PyModule_AddFunctions(module, cuda_memory_functions); }

}  // namespace shim
