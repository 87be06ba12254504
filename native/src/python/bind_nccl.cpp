// Groups over NCCL for Python.
#include "distributed/nccl_group.h"
#include "python/distributed_objects.h"

namespace shim::between_processes {
namespace {

PyObject* nccl_why_not(PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    const nccl::Library& l = nccl::library();
    return l.loaded ? Py_NewRef(Py_None) : PyUnicode_FromString(l.why_not.c_str());
  });
}

PyObject* nccl_version(PyObject*, PyObject*) {  // (its number, where it was found)
  return between([&] {
    const nccl::Library& l = nccl::required();
    return Py_BuildValue("is", l.version_number, l.path.c_str());
  });
}

PyObject* nccl_failure_handling(PyObject*, PyObject* how) {
  const long number = PyLong_AsLong(how);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  if (number < 0 || number > 3)
    return PyErr_Format(PyExc_ValueError, "TORCH_NCCL_ASYNC_ERROR_HANDLING is 0, 1, 2 or 3, got %ld", number);
  set_failure_handling(int(number));
  Py_RETURN_NONE;
}

// A tensor, or a list of them, or None.
std::vector<Tensor> lent_all(PyObject* o) {
  std::vector<Tensor> all;
  if (o == Py_None) return all;
  if (!PyList_Check(o)) return all.push_back(lent(o)), all;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i) all.push_back(lent(PyList_GET_ITEM(o, i)));
  return all;
}

PyObject* given(std::shared_ptr<NcclWork> work) { return work ? hold<NcclWork>(std::move(work)) : Py_NewRef(Py_None); }

// start(name, act, op, factor, inputs, outputs, root, input_counts, output_counts, timeout_ms, later): its work, or None
PyObject* group_start(PyObject* self, PyObject* const* args, Py_ssize_t n) {
  if (n != 11 || !PyUnicode_Check(args[0])) return PyErr_Format(PyExc_TypeError, "start() takes 11 arguments");
  return between([&]() -> PyObject* {
    DeviceCollective c{.kind = Act(PyLong_AsLong(args[1])), .op = Reduce(PyLong_AsLong(args[2]))};
    if (is_tensor(args[3]))
      c.factor_at = lent(args[3]);
    else if (args[3] != Py_None)
      c.factor = PyFloat_AsDouble(args[3]);
    c.inputs = lent_all(args[4]);
    c.outputs = lent_all(args[5]);
    c.root = int(PyLong_AsLong(args[6]));
    c.timeout = Milliseconds(PyLong_AsLongLong(args[9]));
    c.name = utf8(args[0]);
    c.later = args[10] == Py_True;
    if (PyErr_Occurred() || !numbers(args[7], &c.input_counts) || !numbers(args[8], &c.output_counts)) return nullptr;
    return given(in<NcclGroup>(self).start(std::move(c)));
  });
}

PyObject* group_begin(PyObject* self, PyObject*) {
  return between([&] { return in<NcclGroup>(self).begin_coalescing(), Py_NewRef(Py_None); });
}

// end_coalescing(later, timeout_ms): its work, or None
PyObject* group_end(PyObject* self, PyObject* args) {
  int later;
  long long timeout;
  if (!PyArg_ParseTuple(args, "pL", &later, &timeout)) return nullptr;
  return between([&] { return given(in<NcclGroup>(self).end_coalescing(later, Milliseconds(timeout))); });
}

// communicator(device): (ncclComm_t, the stream of asynchronous collectives), as numbers
PyObject* group_communicator(PyObject* self, PyObject* device) {
  const int index = int(PyLong_AsLong(device));
  if (PyErr_Occurred()) return nullptr;
  return between([&] {
    DeviceComm found;
    const cuda::CUstream current = cuda::current_stream(index);
    {
      const GilRelease released;
      found = in<NcclGroup>(self).communicator(index, current);
    }
    return Py_BuildValue(
        "KK", reinterpret_cast<unsigned long long>(found.comm), reinterpret_cast<unsigned long long>(found.stream));
  });
}

// split(device, colour, key, members, name, timeout_ms): the group, or None for who is in none
PyObject* group_split(PyObject* self, PyObject* args) {
  int device, color, key;
  PyObject* ranks;
  const char* name;
  long long timeout;
  std::vector<int64_t> members;
  if (!PyArg_ParseTuple(args, "iiiOsL", &device, &color, &key, &ranks, &name, &timeout) || !numbers(ranks, &members))
    return nullptr;
  return between([&]() -> PyObject* {
    std::shared_ptr<NcclGroup> made =
        in<NcclGroup>(self).split(device, color, key, {members.begin(), members.end()}, name, Milliseconds(timeout));
    return made ? hold<NcclGroup>(std::move(made)) : Py_NewRef(Py_None);
  });
}

PyObject* group_abort(PyObject* self, PyObject* why) {
  return between([&]() -> PyObject* {
    const std::string text = utf8(why);
    {
      const GilRelease released;
      in<NcclGroup>(self).abort(text);
    }
    Py_RETURN_NONE;
  });
}

PyObject* group_shutdown(PyObject* self, PyObject*) {
  return between([&]() -> PyObject* {
    {
      const GilRelease released;
      in<NcclGroup>(self).shutdown();
    }
    Py_RETURN_NONE;
  });
}

PyObject* group_sequence(PyObject* self, void*) { return PyLong_FromLongLong(in<NcclGroup>(self).sequence()); }

PyObject* work_order(PyObject* self, PyObject*) {
  return between([&]() -> PyObject* { return in<NcclWork>(self).order_current_stream(), Py_NewRef(Py_True); });
}

PyObject* work_wait(PyObject* self, PyObject* timeout) {
  const long long at_most = PyLong_AsLongLong(timeout);
  if (PyErr_Occurred()) return nullptr;
  return between([&]() -> PyObject* {
    {
      const GilRelease released;
      in<NcclWork>(self).wait_on_host(Milliseconds(at_most));
    }
    in<NcclWork>(self).order_current_stream();
    Py_RETURN_TRUE;
  });
}

PyObject* work_ended(PyObject* self, PyObject*) {
  return between([&] { return PyBool_FromLong(in<NcclWork>(self).ended()); });
}

PyObject* work_error(PyObject* self, void*) {
  const std::string error = in<NcclWork>(self).error();
  return error.empty() ? Py_NewRef(Py_None) : PyUnicode_FromString(error.c_str());
}

PyObject* work_event(PyObject* self, void*) {
  return PyLong_FromVoidPtr(reinterpret_cast<void*>(in<NcclWork>(self).event()));
}

PyMethodDef group_methods[] = {{"start", fast(group_start), METH_FASTCALL, nullptr},
    {"begin_coalescing", group_begin, METH_NOARGS, nullptr}, {"end_coalescing", group_end, METH_VARARGS, nullptr},
    {"communicator", group_communicator, METH_O, nullptr}, {"split", group_split, METH_VARARGS, nullptr},
    {"abort", group_abort, METH_O, nullptr}, {"shutdown", group_shutdown, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyMethodDef work_methods[] = {{"order_current_stream", work_order, METH_NOARGS, nullptr},
    {"wait", work_wait, METH_O, nullptr}, {"test", work_ended, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyGetSetDef group_attributes[] = {
    {"sequence", group_sequence, nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyGetSetDef work_attributes[] = {{"error", work_error, nullptr, nullptr, nullptr},
    {"event", work_event, nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef nccl_functions[] = {{"nccl_why_not", nccl_why_not, METH_NOARGS, nullptr},
    {"nccl_version", nccl_version, METH_NOARGS, nullptr},
    {"nccl_failure_handling", nccl_failure_handling, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_nccl(PyObject* module) {
  const bool fine = add_type<NcclGroup>(module, "DeviceGroup", group_methods, group_attributes) &&
                    add_type<NcclWork>(module, "DeviceWork", work_methods, work_attributes);
  return fine ? PyModule_AddFunctions(module, nccl_functions) : -1;
}

}  // namespace shim::between_processes
