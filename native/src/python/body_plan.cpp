// A body's plan, read from Python.
#include "python/body_plan.h"

#include <memory>
#include <vector>

#include "ops/kernels.h"
#include "python/owned_ref.h"

namespace shim {

namespace {

OwnedRef get(PyObject* o, const char* name) { return owned(PyObject_GetAttrString(o, name)); }

std::vector<int> ints(PyObject* tuple) {
  std::vector<int> v;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) v.push_back(int(PyLong_AsLong(PyTuple_GET_ITEM(tuple, i))));
  return v;
}
std::vector<bool> flags(PyObject* tuple) {
  std::vector<bool> v;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) v.push_back(PyTuple_GET_ITEM(tuple, i) == Py_True);
  return v;
}

BodyRule rule_of(PyObject* plan, const char* name) {  // (function, takes_all, places) or None
  BodyRule r;
  OwnedRef data = get(plan, name);
  if (data.o == Py_None) return r;
  r.function = Py_NewRef(PyTuple_GetItem(data.o, 0));
  r.takes_all = PyTuple_GetItem(data.o, 1) == Py_True;
  r.at = ints(PyTuple_GetItem(data.o, 2));
  return r;
}

}  // namespace

BodyPlan* plan_of(BodyRunner& self) {
  if (self.plan) return self.plan;
  OwnedRef made = owned(PyObject_CallNoArgs(self.make_plan));
  auto plan = std::make_unique<BodyPlan>();
  plan->body = get(made.o, "body").give();
  OwnedRef places = get(made.o, "positions"), keywords = get(made.o, "keywords"), results = get(made.o, "results");
  plan->places = ints(places.o);
  plan->positional = Py_ssize_t(plan->places.size()) + 1;  // xp comes first
  const Py_ssize_t named = PyTuple_Size(keywords.o);
  if (named > 0)
    plan->keywords = tuple_by(size_t(named), [&](size_t i) {
      PyObject* pair = PyTuple_GET_ITEM(keywords.o, i);
      plan->places.push_back(int(PyLong_AsLong(PyTuple_GetItem(pair, 1))));
      return Py_NewRef(PyTuple_GetItem(pair, 0));
    });
  OwnedRef tensor = get(made.o, "tensor_place"), keep = get(made.o, "keep"), device = get(made.o, "device_at");
  plan->tensor = flags(tensor.o);
  plan->keep = flags(keep.o);
  plan->device_at = int(PyLong_AsLong(device.o));
  plan->pointwise = get(made.o, "pointwise").o == Py_True;
  plan->shape = rule_of(made.o, "shape_rule");
  plan->dtype = rule_of(made.o, "dtype_rule");
  plan->results = int(PyTuple_Size(results.o));
  for (Py_ssize_t i = 0; i < PyTuple_Size(results.o); ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(results.o, i), "Tensor") != 0) plan->results = 0;
  OwnedRef order = get(made.o, "order");
  if (order.o != Py_None) plan->results = 0;  // not contiguous: Python's to finish
  if (PyErr_Occurred()) throw PythonError();
  plan->python = made.give();
  if (!self.plan) self.plan = plan.release();  // plans live as long as the table
  return self.plan;
}

}  // namespace shim
