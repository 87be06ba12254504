// `shim_torch._impl.native._core.cuda_*`: devices, streams, events, graphs and memory of the CUDA driver, for shim_torch.cuda.
#include "cuda/device_failure.h"
#include "cuda/driver.h"
#include "cuda/elementwise.h"
#include "cuda/nvrtc.h"
#include "cuda/reduce.h"
#include "python/int_function.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

using namespace cuda;

PyObject* count(const long long*) { return integer(device_count()); }
PyObject* why(const long long*) { return PyUnicode_FromString(driver().why.c_str()); }
PyObject* get_device(const long long*) {
  require("torch.cuda.current_device");
  return integer(cuda::current_device());
}
PyObject* put_device(const long long* a) {
  require("torch.cuda.set_device");
  cuda::set_device(int(a[0]));
  return none();
}
PyObject* driver_version(const long long*) {
  int v = 0;
  if (driver().driver_version) driver().driver_version(&v);
  return integer(v);
}

PyObject* attribute(const long long* a) {
  int value = 0;
  check(require("torch.cuda.get_device_properties").device_attribute(&value, int(a[1]), int(a[0])),
      "cuDeviceGetAttribute");
  return integer(value);
}

PyObject* device_info(const long long* a) {  // (name, total memory, uuid bytes)
  const Driver& d = require("torch.cuda.get_device_properties");
  CUdevice device = 0;
  char name[256] = {};
  size_t total = 0;
  Uuid uuid{};
  check(d.device_get(&device, int(a[0])), "cuDeviceGet");
  check(d.device_name(name, sizeof name, device), "cuDeviceGetName");
  check(d.device_total_memory(&total, device), "cuDeviceTotalMem");
  if (d.device_uuid) d.device_uuid(&uuid, device);
  return Py_BuildValue("(sny#)", name, Py_ssize_t(total), uuid.bytes, Py_ssize_t(sizeof uuid.bytes));
}

PyObject* can_access(const long long* a) {
  int yes = 0;
  check(require("torch.cuda.can_device_access_peer").can_access_peer(&yes, int(a[0]), int(a[1])),
      "cuDeviceCanAccessPeer");
  return PyBool_FromLong(yes);
}

// --- streams ------------------------------------------------------------------------------------------------------------

PyObject* get_stream(const long long* a) { return pointer(current_stream(int(a[0]))); }
PyObject* put_stream(const long long* a) {
  set_current_stream(int(a[0]), handle<CUstream>(a[1]));
  return none();
}

PyObject* make_stream(const long long* a) {  // (device, priority) -> pointer; non-blocking
  const Driver& d = require("torch.cuda.Stream");
  int before = cuda::current_device();
  cuda::set_device(int(a[0]));
  CUstream stream = nullptr;
  CUresult r = d.stream_create(&stream, 1, int(a[1]));
  cuda::set_device(before);
  check(r, "cuStreamCreateWithPriority");
  return pointer(stream);
}

PyObject* priorities(const long long*) {
  int least = 0, greatest = 0;
  ensure_context();
  check(
      require("torch.cuda.Stream.priority_range").stream_priorities(&least, &greatest), "cuCtxGetStreamPriorityRange");
  return Py_BuildValue("(ii)", least, greatest);
}

PyObject* sync_stream(const long long* a) {
  const Driver& d = require("torch.cuda.Stream.synchronize");
  ensure_context();
  CUresult r;
  {
    GilRelease nogil;
    r = d.stream_synchronize(handle<CUstream>(a[0]));
  }
  check(r, "cuStreamSynchronize");
  return none();
}

PyObject* query_stream(const long long* a) {
  ensure_context();
  CUresult r = require("torch.cuda.Stream.query").stream_query(handle<CUstream>(a[0]));
  if (r == kNotReady) Py_RETURN_FALSE;
  check(r, "cuStreamQuery");
  Py_RETURN_TRUE;
}

PyObject* wait_event(const long long* a) {
  ensure_context();
  check(require("torch.cuda.Stream.wait_event").stream_wait_event(handle<CUstream>(a[0]), handle<CUevent>(a[1]), 0),
      "cuStreamWaitEvent");
  return none();
}

PyObject* is_capturing(const long long* a) { return PyBool_FromLong(capturing(handle<CUstream>(a[0]))); }

PyObject* sync_device(const long long* a) {
  const Driver& d = require("torch.cuda.synchronize");
  int before = cuda::current_device();
  cuda::set_device(int(a[0]));
  CUresult r;
  {
    GilRelease nogil;
    r = d.ctx_synchronize();
  }
  cuda::set_device(before);
  check(r, "cuCtxSynchronize");
  return none();
}

// --- events -------------------------------------------------------------------------------------------------------------

PyObject* make_event(const long long* a) {
  CUevent event = nullptr;
  ensure_context();
  check(require("torch.cuda.Event").event_create(&event, unsigned(a[0])), "cuEventCreate");
  return pointer(event);
}

PyObject* record_event(const long long* a) {
  ensure_context();
  check(
      require("torch.cuda.Event.record").event_record(handle<CUevent>(a[0]), handle<CUstream>(a[1])), "cuEventRecord");
  return none();
}

PyObject* query_event(const long long* a) {
  CUresult r = require("torch.cuda.Event.query").event_query(handle<CUevent>(a[0]));
  if (r == kNotReady) Py_RETURN_FALSE;
  check(r, "cuEventQuery");
  Py_RETURN_TRUE;
}

PyObject* sync_event(const long long* a) {
  const Driver& d = require("torch.cuda.Event.synchronize");
  CUresult r;
  {
    GilRelease nogil;
    r = d.event_synchronize(handle<CUevent>(a[0]));
  }
  check(r, "cuEventSynchronize");
  return none();
}

PyObject* elapsed(const long long* a) {
  float ms = 0;
  check(require("torch.cuda.Event.elapsed_time").event_elapsed(&ms, handle<CUevent>(a[0]), handle<CUevent>(a[1])),
      "cuEventElapsedTime");
  return PyFloat_FromDouble(ms);
}

PyObject* drop_event(const long long* a) {
  if (driver().loaded) driver().event_destroy(handle<CUevent>(a[0]));
  return none();
}

// --- graphs -------------------------------------------------------------------------------------------------------------

PyObject* graph_begin(const long long* a) {  // (stream, mode, pool to share or 0) -> pool
  const Driver& d = require("torch.cuda.graph");
  BlockPool* pool = begin_graph_pool(cuda::current_device(), handle<BlockPool*>(a[2]));
  CUresult r = d.capture_begin(handle<CUstream>(a[0]), int(a[1]));
  if (r != 0) {
    end_graph_pool(pool);
    release_graph_pool(pool);
  }
  check(r, "cuStreamBeginCapture");
  return pointer(pool);
}

PyObject* graph_end(const long long* a) {  // (stream, pool) -> executable graph
  const Driver& d = require("torch.cuda.graph");
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  end_graph_pool(handle<BlockPool*>(a[1]));
  check(d.capture_end(handle<CUstream>(a[0]), &graph), "cuStreamEndCapture");
  CUresult r = d.graph_instantiate(&exec, graph, 0);
  d.graph_destroy(graph);
  check(r, "cuGraphInstantiate");
  return pointer(exec);
}

PyObject* graph_launch(const long long* a) {
  check(require("torch.cuda.CUDAGraph.replay").graph_launch(handle<CUgraphExec>(a[0]), handle<CUstream>(a[1])),
      "cuGraphLaunch");
  return none();
}

PyObject* graph_drop(const long long* a) {  // (exec or 0, pool or 0)
  if (driver().loaded && a[0]) driver().graph_exec_destroy(handle<CUgraphExec>(a[0]));
  if (a[1]) release_graph_pool(handle<BlockPool*>(a[1]));
  return none();
}

PyObject* copy(const long long* a) {  // (to, from, bytes, stream)
  copy_bytes(handle<void*>(a[0]), handle<void*>(a[1]), size_t(a[2]), handle<CUstream>(a[3]));
  return none();
}

// (path of libnvrtc, operator, in, result, out, inputs, flat, architecture) -> the compiler's log, "" when it compiled
PyObject* compile_pointwise(PyObject*, PyObject* args) {
  const char *path, *op;
  PyObject *in, *result, *out;
  int inputs, flat, architecture;
  if (!PyArg_ParseTuple(args, "ssOOOipi", &path, &op, &in, &result, &out, &inputs, &flat, &architecture))
    return nullptr;
  return guarded([&]() -> PyObject* {
    std::string wrong = *path ? nvrtc::use_library(path) : "";
    if (wrong.empty())
      wrong = compile_elementwise(op, dtype_of(in), dtype_of(result), dtype_of(out), inputs, flat != 0, architecture);
    return PyUnicode_FromString(wrong.c_str());
  });
}

// (path of libnvrtc, operator, in, compute, out, vector, architecture) -> the compiler's log
PyObject* compile_reduction_(PyObject*, PyObject* args) {
  const char *path, *op;
  PyObject *in, *compute, *out;
  int vector, architecture;
  if (!PyArg_ParseTuple(args, "ssOOOii", &path, &op, &in, &compute, &out, &vector, &architecture)) return nullptr;
  return guarded([&]() -> PyObject* {
    std::string wrong = *path ? nvrtc::use_library(path) : "";
    if (wrong.empty())
      wrong = compile_reduction(op, dtype_of(in), dtype_of(compute), dtype_of(out), vector, architecture);
    return PyUnicode_FromString(wrong.c_str());
  });
}

PyObject* stream_getter(PyObject*, PyObject* capsule) {  // CuPy's `intptr_t get_stream_ptr(int)`
  void* function = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
  if (!function) return nullptr;
  use_cupy_stream_getter(reinterpret_cast<intptr_t (*)(int)>(function));
  Py_RETURN_NONE;
}

PyObject* put_error_type(PyObject*, PyObject* type) {
  Py_XSETREF(accelerator_error_type, Py_NewRef(type));
  Py_RETURN_NONE;
}

PyObject* check_current(const long long*) {
  if (driver().loaded) check_device(cuda::current_device());
  return none();
}

PyMethodDef cuda_functions[] = {SHIM_INT_FUNCTION("cuda_device_count", 0, count),
    SHIM_INT_FUNCTION("cuda_why_not", 0, why), SHIM_INT_FUNCTION("cuda_current_device", 0, get_device),
    SHIM_INT_FUNCTION("cuda_set_device", 1, put_device), SHIM_INT_FUNCTION("cuda_driver_version", 0, driver_version),
    SHIM_INT_FUNCTION("cuda_device_attribute", 2, attribute), SHIM_INT_FUNCTION("cuda_device_info", 1, device_info),
    SHIM_INT_FUNCTION("cuda_can_access_peer", 2, can_access), SHIM_INT_FUNCTION("cuda_current_stream", 1, get_stream),
    SHIM_INT_FUNCTION("cuda_set_current_stream", 2, put_stream),
    SHIM_INT_FUNCTION("cuda_stream_create", 2, make_stream), SHIM_INT_FUNCTION("cuda_stream_priorities", 0, priorities),
    SHIM_INT_FUNCTION("cuda_stream_synchronize", 1, sync_stream),
    SHIM_INT_FUNCTION("cuda_stream_query", 1, query_stream), SHIM_INT_FUNCTION("cuda_stream_wait_event", 2, wait_event),
    SHIM_INT_FUNCTION("cuda_stream_is_capturing", 1, is_capturing),
    SHIM_INT_FUNCTION("cuda_synchronize", 1, sync_device), SHIM_INT_FUNCTION("cuda_event_create", 1, make_event),
    SHIM_INT_FUNCTION("cuda_event_record", 2, record_event), SHIM_INT_FUNCTION("cuda_event_query", 1, query_event),
    SHIM_INT_FUNCTION("cuda_event_synchronize", 1, sync_event), SHIM_INT_FUNCTION("cuda_event_elapsed", 2, elapsed),
    SHIM_INT_FUNCTION("cuda_event_destroy", 1, drop_event), SHIM_INT_FUNCTION("cuda_graph_begin", 3, graph_begin),
    SHIM_INT_FUNCTION("cuda_graph_end", 2, graph_end), SHIM_INT_FUNCTION("cuda_graph_launch", 2, graph_launch),
    SHIM_INT_FUNCTION("cuda_graph_destroy", 2, graph_drop), SHIM_INT_FUNCTION("cuda_copy_bytes", 4, copy),
    {"cuda_compile_pointwise", compile_pointwise, METH_VARARGS,
        "Compiles a pointwise kernel without loading it; the compiler's log."},
    {"cuda_compile_reduction", compile_reduction_, METH_VARARGS,
        "Compiles a reduction without loading it; the compiler's log."},
    SHIM_INT_FUNCTION("cuda_check_device", 0, check_current),
    {"set_accelerator_error_type", put_error_type, METH_O, nullptr},
    {"cuda_use_cupy_stream_getter", stream_getter, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cuda(PyObject* module) {
  cuda::install_allocator();
  return PyModule_AddFunctions(module, cuda_functions) < 0 || bind_cache(module) < 0 ? -1 : bind_cuda_memory(module);
}

}  // namespace shim
