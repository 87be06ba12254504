// `shim_torch._impl.native._core.cuda_*`: devices, streams, events, graphs and memory of the CUDA driver, for shim_torch.cuda.
#include "cuda/backward_streams.h"
#include "cuda/driver_objects.h"
#include "cuda/kernel_tools.h"
#include "python/cuda_function.h"
#include "python/dispatch.h"
#include "python/tensor_type.h"

namespace shim {
namespace {

using namespace cuda;

const std::string& why_not() { return driver().why; }

std::tuple<std::string, int64_t, Bytes> device_info(int index) {  // (name, total memory, uuid)
  const DeviceFacts f = device_facts(index);
  return {f.name, f.memory, Bytes{std::string(f.uuid.bytes, sizeof f.uuid.bytes)}};
}

intptr_t (*cupy_stream_pointer)(int) = nullptr;

// It reads objects of Python, and would crash on a thread that let go of the interpreter's lock.
intptr_t locked_stream_pointer(int device) {
  if (PyGILState_Check()) return cupy_stream_pointer(device);
  const GilAcquire gil;
  return cupy_stream_pointer(device);
}

void stream_getter(PyObject* capsule) {  // CuPy's `intptr_t get_stream_ptr(int)`
  void* function = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
  if (!function) throw PythonError();
  cupy_stream_pointer = reinterpret_cast<intptr_t (*)(int)>(function);
  use_cupy_stream_getter(locked_stream_pointer);
}

PyObject* stream_setter = nullptr;  // of Python, which sets CuPy's too: set(device, stream)

void make_stream_current(int device, void* stream) {
  if (!stream_setter) return set_current_stream(device, static_cast<CUstream>(stream));
  GilAcquire gil;
  owned(PyObject_CallFunction(stream_setter, "iN", device, PyLong_FromVoidPtr(stream)));
}

int install_cuda(PyObject*) {
  install_allocator();
  install_backward_streams(make_stream_current);
  return 0;
}

const ModulePart cuda_functions{
    {function<&device_count>("cuda_device_count"), function<&why_not>("cuda_why_not"),
        function<&device_in_use>("cuda_current_device"), ordered<&use_device>("cuda_set_device"),
        function<&driver_version>("cuda_driver_version"), function<&device_attribute>("cuda_device_attribute"),
        function<&device_info>("cuda_device_info"), function<&can_access_peer>("cuda_can_access_peer"),
        ordered<&current_stream>("cuda_current_stream"), ordered<&set_current_stream>("cuda_set_current_stream"),
        ordered<&make_stream>("cuda_stream_create"), function<&stream_priorities>("cuda_stream_priorities"),
        ordered<&wait_for_stream>("cuda_stream_synchronize"), ordered<&query_stream>("cuda_stream_query"),
        ordered<&wait_event>("cuda_stream_wait_event"), function<&capturing>("cuda_stream_is_capturing"),
        function<&capturing_now>("cuda_capturing"), ordered<&synchronize>("cuda_synchronize"),
        ordered<&make_event>("cuda_event_create"), ordered<&record_event>("cuda_event_record"),
        ordered<&query_event>("cuda_event_query"), ordered<&synchronize_event>("cuda_event_synchronize"),
        ordered<&elapsed_time>("cuda_event_elapsed"), function<&destroy_event>("cuda_event_destroy"),
        ordered<&begin_graph>("cuda_graph_begin"), ordered<&end_graph>("cuda_graph_end"),
        function<&destroy_graph>("cuda_graph_destroy"),
        function<&compile_pointwise>(
            "cuda_compile_pointwise", "Compiles a pointwise kernel without loading it; the compiler's log."),
        function<&compile_a_reduction>(
            "cuda_compile_reduction", "Compiles a reduction without loading it; the compiler's log."),
        function<&check_current_device>(
            "cuda_check_device", "Raises torch.AcceleratorError where the current device's context is broken."),
        function<[](PyObject* set) { Py_XSETREF(stream_setter, Py_NewRef(set)); }>(
            "cuda_set_stream_setter", "set(device, stream) makes a stream current for backward passes."),
        function<[](PyObject* type) { Py_XSETREF(accelerator_error_type, Py_NewRef(type)); }>(
            "set_accelerator_error_type", "The class that errors of CUDA are raised as."),
        function<&stream_getter>("cuda_use_cupy_stream_getter")},
    install_cuda};

}  // namespace

}  // namespace shim
