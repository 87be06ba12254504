// `shim_torch._impl.native._core.cuda_*`: devices, streams, events, graphs and memory of the CUDA driver, for shim_torch.cuda.
#include "cuda/backward_streams.h"
#include "cuda/device_failure.h"
#include "cuda/driver.h"
#include "cuda/elementwise.h"
#include "cuda/nvrtc.h"
#include "cuda/reduce.h"
#include "python/module_function.h"
#include "python/native_ops.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

using namespace cuda;

const std::string& why_not() { return driver().why; }

int device_in_use() {
  require("torch.cuda.current_device");
  return current_device();
}

void use_device(int device) {
  require("torch.cuda.set_device");
  set_device(device);
}

int driver_version() {
  int v = 0;
  if (driver().driver_version) driver().driver_version(&v);
  return v;
}

int device_attribute(int device, int attribute) {
  int value = 0;
  check(
      require("torch.cuda.get_device_properties").device_attribute(&value, attribute, device), "cuDeviceGetAttribute");
  return value;
}

PyObject* device_info(int index) {  // (name, total memory, uuid bytes)
  const Driver& d = require("torch.cuda.get_device_properties");
  CUdevice device = 0;
  char name[256] = {};
  size_t total = 0;
  Uuid uuid{};
  check(d.device_get(&device, index), "cuDeviceGet");
  check(d.device_name(name, sizeof name, device), "cuDeviceGetName");
  check(d.device_total_memory(&total, device), "cuDeviceTotalMem");
  if (d.device_uuid) d.device_uuid(&uuid, device);
  return Py_BuildValue("(sny#)", name, Py_ssize_t(total), uuid.bytes, Py_ssize_t(sizeof uuid.bytes));
}

bool can_access_peer(int device, int peer) {
  int yes = 0;
  check(require("torch.cuda.can_device_access_peer").can_access_peer(&yes, device, peer), "cuDeviceCanAccessPeer");
  return yes != 0;
}

// --- streams ------------------------------------------------------------------------------------------------------------

CUstream make_stream(int device, int priority) {  // non-blocking
  const Driver& d = require("torch.cuda.Stream");
  OnDevice current(device);
  CUstream stream = nullptr;
  check(d.stream_create(&stream, 1, priority), "cuStreamCreateWithPriority");
  remember_stream(stream);  // torch.cuda.Stream keeps it in a pool
  return stream;
}

std::tuple<int, int> stream_priorities() {  // the least, the greatest
  int least = 0, greatest = 0;
  ensure_context();
  check(
      require("torch.cuda.Stream.priority_range").stream_priorities(&least, &greatest), "cuCtxGetStreamPriorityRange");
  return {least, greatest};
}

void wait_for_stream(int device, CUstream stream) {
  const Driver& d = require("torch.cuda.Stream.synchronize");
  OnDevice current(device);
  CUresult r;
  {
    GilRelease nogil;
    r = d.stream_synchronize(stream);
  }
  check(r, "cuStreamSynchronize");
}

bool query_stream(int device, CUstream stream) {
  const Driver& d = require("torch.cuda.Stream.query");
  OnDevice current(device);
  CUresult r = d.stream_query(stream);
  if (r != kNotReady) check(r, "cuStreamQuery");
  return r != kNotReady;
}

void wait_event(int device, CUstream stream, CUevent event) {
  const Driver& d = require("torch.cuda.Stream.wait_event");
  OnDevice current(device);
  check(d.stream_wait_event(stream, event, 0), "cuStreamWaitEvent");
}

void synchronize(int device) {
  const Driver& d = require("torch.cuda.synchronize");
  OnDevice current(device);
  CUresult r;
  {
    GilRelease nogil;
    r = d.ctx_synchronize();
  }
  check(r, "cuCtxSynchronize");
}

// --- events -------------------------------------------------------------------------------------------------------------

CUevent make_event(int device, int flags) {
  const Driver& d = require("torch.cuda.Event");
  OnDevice current(device);
  CUevent event = nullptr;
  check(d.event_create(&event, unsigned(flags)), "cuEventCreate");
  return event;
}

void record_event(int device, CUevent event, CUstream stream) {  // both of the device
  const Driver& d = require("torch.cuda.Event.record");
  OnDevice current(device);
  check(d.event_record(event, stream), "cuEventRecord");
}

bool query_event(CUevent event) {
  CUresult r = require("torch.cuda.Event.query").event_query(event);
  if (r != kNotReady) check(r, "cuEventQuery");
  return r != kNotReady;
}

void synchronize_event(CUevent event) {
  const Driver& d = require("torch.cuda.Event.synchronize");
  CUresult r;
  {
    GilRelease nogil;
    r = d.event_synchronize(event);
  }
  check(r, "cuEventSynchronize");
}

double elapsed_time(CUevent begin, CUevent end) {  // milliseconds
  float ms = 0;
  check(require("torch.cuda.Event.elapsed_time").event_elapsed(&ms, begin, end), "cuEventElapsedTime");
  return ms;
}

void destroy_event(CUevent event) {
  if (driver().loaded) driver().event_destroy(event);
}

// --- graphs -------------------------------------------------------------------------------------------------------------

BlockPool* begin_graph(int device, CUstream stream, int mode, BlockPool* shared) {  // null: a pool of its own
  const Driver& d = require("torch.cuda.graph");
  OnDevice current(device);
  BlockPool* pool = begin_graph_pool(device, shared);
  CUresult r = d.capture_begin(stream, mode);
  if (r != 0) {
    end_graph_pool(pool);
    release_graph_pool(pool);
  }
  check(r, "cuStreamBeginCapture");
  return pool;
}

CUgraphExec end_graph(int device, CUstream stream, BlockPool* pool) {
  const Driver& d = require("torch.cuda.graph");
  OnDevice current(device);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  end_graph_pool(pool);
  check(d.capture_end(stream, &graph), "cuStreamEndCapture");
  CUresult r = d.graph_instantiate(&exec, graph, 0);
  d.graph_destroy(graph);
  check(r, "cuGraphInstantiate");
  return exec;
}

void launch_graph(int device, CUgraphExec exec, CUstream stream) {
  const Driver& d = require("torch.cuda.CUDAGraph.replay");
  OnDevice current(device);
  check(d.graph_launch(exec, stream), "cuGraphLaunch");
}

void destroy_graph(CUgraphExec exec, BlockPool* pool) {  // null: there is none
  if (driver().loaded && exec) driver().graph_exec_destroy(exec);
  if (pool) release_graph_pool(pool);
}

// --- the compiler's log, "" when it compiled; `path`: of libnvrtc, or "" ------------------------------------------------

std::string compile_pointwise(std::string_view path, std::string_view op, DType in, DType result, DType out, int inputs,
    bool flat, int architecture) {
  const std::string wrong = path.empty() ? "" : nvrtc::use_library(std::string(path));
  return wrong.empty() ? compile_elementwise(std::string(op).c_str(), in, result, out, inputs, flat, architecture)
                       : wrong;
}

std::string compile_a_reduction(
    std::string_view path, std::string_view op, DType in, DType compute, DType out, int vector, int architecture) {
  const std::string wrong = path.empty() ? "" : nvrtc::use_library(std::string(path));
  return wrong.empty() ? compile_reduction(std::string(op).c_str(), in, compute, out, vector, architecture) : wrong;
}

intptr_t (*cupy_stream_pointer)(int) = nullptr;

// It reads objects of Python, and would crash on a thread that let go of the interpreter's lock.
intptr_t locked_stream_pointer(int device) {
  if (PyGILState_Check()) return cupy_stream_pointer(device);
  const GilAcquire gil;
  return cupy_stream_pointer(device);
}

PyObject* stream_getter(PyObject*, PyObject* capsule) {  // CuPy's `intptr_t get_stream_ptr(int)`
  void* function = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
  if (!function) return nullptr;
  cupy_stream_pointer = reinterpret_cast<intptr_t (*)(int)>(function);
  use_cupy_stream_getter(locked_stream_pointer);
  Py_RETURN_NONE;
}

PyObject* stream_setter = nullptr;  // of Python, which sets CuPy's too: set(device, stream)

PyObject* put_stream_setter(PyObject*, PyObject* set) {
  Py_XSETREF(stream_setter, Py_NewRef(set));
  Py_RETURN_NONE;
}

void make_stream_current(int device, void* stream) {
  if (!stream_setter) return set_current_stream(device, static_cast<CUstream>(stream));
  GilAcquire gil;
  PyObject* done = PyObject_CallFunction(stream_setter, "iN", device, PyLong_FromVoidPtr(stream));
  if (!done) throw PythonError();
  Py_DECREF(done);
}

PyObject* put_error_type(PyObject*, PyObject* type) {
  Py_XSETREF(accelerator_error_type, Py_NewRef(type));
  Py_RETURN_NONE;
}

void check_current_device() {
  if (driver().loaded) check_device(cuda::current_device());
}

PyMethodDef cuda_functions[] = {function<&device_count>("cuda_device_count"), function<&why_not>("cuda_why_not"),
    function<&device_in_use>("cuda_current_device"), function<&use_device>("cuda_set_device"),
    function<&driver_version>("cuda_driver_version"), function<&device_attribute>("cuda_device_attribute"),
    function<&device_info>("cuda_device_info"), function<&can_access_peer>("cuda_can_access_peer"),
    function<&current_stream>("cuda_current_stream"), function<&set_current_stream>("cuda_set_current_stream"),
    function<&make_stream>("cuda_stream_create"), function<&stream_priorities>("cuda_stream_priorities"),
    function<&wait_for_stream>("cuda_stream_synchronize"), function<&query_stream>("cuda_stream_query"),
    function<&wait_event>("cuda_stream_wait_event"), function<&capturing>("cuda_stream_is_capturing"),
    function<&synchronize>("cuda_synchronize"), function<&make_event>("cuda_event_create"),
    function<&record_event>("cuda_event_record"), function<&query_event>("cuda_event_query"),
    function<&synchronize_event>("cuda_event_synchronize"), function<&elapsed_time>("cuda_event_elapsed"),
    function<&destroy_event>("cuda_event_destroy"), function<&begin_graph>("cuda_graph_begin"),
    function<&end_graph>("cuda_graph_end"), function<&launch_graph>("cuda_graph_launch"),
    function<&destroy_graph>("cuda_graph_destroy"),
    function<&compile_pointwise>(
        "cuda_compile_pointwise", "Compiles a pointwise kernel without loading it; the compiler's log."),
    function<&compile_a_reduction>(
        "cuda_compile_reduction", "Compiles a reduction without loading it; the compiler's log."),
    function<&check_current_device>(
        "cuda_check_device", "Raises torch.AcceleratorError where the current device's context is broken."),
    {"cuda_set_stream_setter", put_stream_setter, METH_O,
        "set(device, stream) makes a stream current for backward passes."},
    {"set_accelerator_error_type", put_error_type, METH_O, "The class that errors of CUDA are raised as."},
    {"cuda_use_cupy_stream_getter", stream_getter, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_cuda(PyObject* module) {
  cuda::install_allocator();
  cuda::install_backward_streams(make_stream_current);
  return PyModule_AddFunctions(module, cuda_functions) < 0 || bind_cache(module) < 0 ? -1 : bind_cuda_memory(module);
}

}  // namespace shim
