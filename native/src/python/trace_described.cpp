// What a trace knows, as Python's objects: for explain() and for backends.
#include "python/owned_ref.h"
#include "python/trace.h"
#include "python/trace_rules.h"
#include "python/values.h"

namespace shim {

using namespace trace;

namespace {

PyObject* described(const TensorSpec& t, const char* what) {
  OwnedRef sizes = owned(size_object(t.sizes())), strides = owned(size_object(t.strides()));
  OwnedRef dtype = owned(dtype_object(t.dtype)), device = owned(device_object(t.device));
  return Py_BuildValue("(sIOOLOOiii)", what, t.slot, sizes.o, strides.o, static_cast<long long>(t.offset), dtype.o,
      device.o, int(t.fresh), int(t.conj), int(t.neg));
}

}  // namespace

// (operator, arguments, results, file, line): tensors as ("tensor", slot, sizes, strides, offset, dtype, device, fresh, conj, neg)
PyObject* described_node(const TreeNode& node) {
  OwnedRef arguments = owned(PyList_New(0)), results = owned(PyList_New(0));
  for (const ArgumentSpec& a : node.arguments) {
    OwnedRef one;
    if (a.kind == ArgumentSpec::tensor) {
      one = owned(described(node.inputs[a.first], "tensor"));
    } else if (a.kind == ArgumentSpec::tensors) {
      one = owned(PyList_New(0));
      size_t at = a.first;
      for (bool given : a.given) {
        OwnedRef item = given ? owned(described(node.inputs[at++], "tensor")) : OwnedRef(Py_NewRef(Py_None));
        if (PyList_Append(one, item) < 0) throw PythonError();
      }
    } else if (a.kind == ArgumentSpec::parameter) {
      one = owned(Py_BuildValue("(s)", "number"));
    } else {
      OwnedRef value = owned(object_of(NodeArguments({}).of(a, nullptr)));
      one = owned(Py_BuildValue("(sO)", "constant", value.o));
    }
    if (PyList_Append(arguments, one) < 0) throw PythonError();
  }
  for (const TensorSpec& t : node.results) {
    OwnedRef one = owned(described(t, "tensor"));
    if (PyList_Append(results, one) < 0) throw PythonError();
  }
  return Py_BuildValue("(sOOsi)", node.op->full_name().c_str(), arguments.o, results.o, node.file.c_str(), node.line);
}

}  // namespace shim
