// How a node of the table calls a formula with what it saved.
#include "python/owned_ref.h"
#include "python/record_node.h"

namespace shim {

PyObject* RecordNode::gradient(int index, Grads& grads) {
  if (plan_.list_result)  // all of them, zeros where nothing came
    return list_by(grads.size(), [&](size_t i) { return wrap(materialized(i, grads)); });
  if (size_t(index) >= grads.size()) Py_RETURN_NONE;
  if (index == 0) return wrap(materialized(0, grads));
  return wrap(grads[size_t(index)]);
}

PyObject* RecordNode::wanted_of(const PlannedFormula& f) const {
  return tuple_by(f.inputs.size(), [&](size_t i) { return PyBool_FromLong(wanted(f.inputs[i])); });
}

void RecordNode::call(const PlannedFormula& f, Grads& grads, Grads& out) {
  std::vector<PyObject*> args;
  struct Drop {
    std::vector<PyObject*>& v;
    ~Drop() {
      for (PyObject* o : v) Py_XDECREF(o);
    }
  } drop_args{args};
  for (const ParameterSource& s : f.sources) {
    PyObject* o = s.kind == ParameterSource::Grad     ? gradient(s.index, grads)
                  : s.kind == ParameterSource::Wanted ? wanted_of(f)
                                                      : unpack(*find(s));
    if (!o) throw PythonError();
    args.push_back(o);
  }
  if (!f.formula->function) attach_formulas(python_of(op_));  // the first call of the record's code
  OwnedRef r =
      owned(PyObject_Vectorcall(static_cast<PyObject*>(f.formula->function), args.data(), args.size(), nullptr));
  if (f.inputs.size() == 1) {
    take(f.inputs[0], r, out);
    const size_t edge = size_t(first_edge_[size_t(f.inputs[0])]);
    if (f.formula->flat && GradMode::enabled() && edge < out.size() && out[edge] && next_edges[edge])
      out[edge] = flat(out[edge], next_edges[edge]);
    return;
  }
  OwnedRef several = owned(PySequence_Fast(r, "a fused gradient gives a sequence"));
  for (size_t i = 0; i < f.inputs.size() && Py_ssize_t(i) < PySequence_Fast_GET_SIZE(several.o); ++i)
    take(f.inputs[i], PySequence_Fast_GET_ITEM(several.o, Py_ssize_t(i)), out);
}

void RecordNode::take(int argument, PyObject* r, Grads& out) {
  int first = first_edge_[size_t(argument)], last = first_edge_[size_t(argument) + 1];
  if (is_tensor(r)) {
    if (first < last) out[size_t(first)] = Tensor(unwrap(r));
  } else if (PyList_Check(r) || PyTuple_Check(r)) {
    for (int e = first; e < last && e - first < PySequence_Fast_GET_SIZE(r); ++e)
      if (PyObject* item = PySequence_Fast_GET_ITEM(r, e - first); is_tensor(item))
        out[size_t(e)] = Tensor(unwrap(item));
  }
}

}  // namespace shim
