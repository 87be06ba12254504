// The base of torch.cuda.CUDAGraph: what a replay needs, and the replay, which Python calls without a frame of its own.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
// After it, of Python 3.10:
#include <structmember.h>

#include <cstddef>

#include "cuda/driver_objects.h"
#include "python/dispatch.h"
#include "python/object.h"

namespace shim {
namespace {

struct Graph {
  PyObject_HEAD int device;
  unsigned long long exec;  // cuda::CUgraphExec; 0: nothing is captured
};

PyObject* replay(PyObject* self, PyObject*) {
  return guarded([self] {
    const Graph& graph = *reinterpret_cast<Graph*>(self);
    CHECK(Kind::Runtime, graph.exec, "Called CUDAGraph::replay without a preceding successful capture.");
    cuda::before_outside();
    cuda::launch_graph(graph.device, reinterpret_cast<cuda::CUgraphExec>(graph.exec));
    return Py_NewRef(Py_None);
  });
}

PyMethodDef methods[] = {
    {"replay", replay, METH_NOARGS, "replay($self)\n--\n\nRuns the captured work on the current stream."}, {}};
PyMemberDef members[] = {{"_device", T_INT, offsetof(Graph, device), 0, nullptr},
    {"_exec", T_ULONGLONG, offsetof(Graph, exec), 0, nullptr}, {}};
PyType_Slot slots[] = {slot(Py_tp_new, PyType_GenericNew), slot(Py_tp_dealloc, free_object), {Py_tp_methods, methods},
    {Py_tp_members, members}, {}};
PyType_Spec spec = {
    "shim_torch._impl.native._core.GraphBase", sizeof(Graph), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

const ModulePart graph_type{{}, [](PyObject* module) { return add_type(module, spec, "GraphBase") ? 0 : -1; }};

}  // namespace
}  // namespace shim
