// What a trace knows, as Python's objects: for explain() and for backends.
#include "python/owned_ref.h"
#include "python/operator.h"
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

PyObject* described(const TreeNode& node, const ArgumentSpec& a) {
  size_t at = a.first;
  switch (a.kind) {
    case ArgumentSpec::tensor: return described(node.inputs[at], "tensor");
    case ArgumentSpec::tensors:
      return list_by(a.given.size(),
          [&](size_t i) { return a.given[i] ? described(node.inputs[at++], "tensor") : Py_NewRef(Py_None); });
    case ArgumentSpec::parameter: return Py_BuildValue("(s)", "number");
    default: return Py_BuildValue("(sN)", "constant", object_of(NodeArguments({}).of(a, nullptr)));
  }
}

}  // namespace

// (operator, arguments, results, file, line): tensors as ("tensor", slot, sizes, strides, offset, dtype, device, fresh, conj, neg)
PyObject* described_node(const TreeNode& node) {
  OwnedRef arguments =
      owned(list_by(node.arguments.size(), [&](size_t i) { return described(node, node.arguments[i]); }));
  OwnedRef results =
      owned(list_by(node.results.size(), [&](size_t i) { return described(node.results[i], "tensor"); }));
  return Py_BuildValue("(sOOsi)", node.op->full_name().c_str(), arguments.o, results.o, node.file.c_str(), node.line);
}

}  // namespace shim
