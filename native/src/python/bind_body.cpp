// The body of a kernel record on CPU tensors: rules asked, arrays made over the tensors' memory, the body called while NumPy warns of
// nothing and allocates aligned, its arrays adopted. Other devices, and results that are out of the ordinary, are the business of the
// same steps in Python (shim_torch/_impl/table/run.py).
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/few.h"
#include "ops/array_rules.h"
#include "ops/kernels.h"
#include "python/body_plan.h"
#include "python/dispatch.h"
#include "python/module_function.h"
#include "python/numpy_state.h"

namespace shim {

namespace {

// --- one call -------------------------------------------------------------------------------------------------------------------

bool all_on_cpu(PyObject* a) {
  if (is_tensor(a)) return unwrap(a)->device().is_cpu();
  if (!PyList_CheckExact(a)) return true;
  for (Py_ssize_t k = 0; k < PyList_GET_SIZE(a); ++k)
    if (PyObject* item = PyList_GET_ITEM(a, k); is_tensor(item) && !unwrap(item)->device().is_cpu()) return false;
  return true;
}

bool on_cpu(const BodyPlan& p, PyObject* const* bound, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (!all_on_cpu(bound[i])) return false;
  PyObject* device = p.device_at >= 0 ? bound[p.device_at] : Py_None;
  return device == Py_None || (is_device(device) && device_of(device).is_cpu());
}

OwnedRef ask(const BodyRule& r, const std::vector<bool>& tensor, PyObject* const* bound, size_t n) {
  Few<PyObject*, 16> args;
  if (!r.takes_all) {
    for (int i : r.at) args.push_back(bound[i]);
  } else {
    for (size_t i = 0; i < n; ++i) {
      if (!tensor[i] || bound[i] == Py_None) continue;
      if (!PyList_CheckExact(bound[i]))
        args.push_back(bound[i]);
      else
        for (Py_ssize_t k = 0; k < PyList_GET_SIZE(bound[i]); ++k)
          if (PyObject* item = PyList_GET_ITEM(bound[i], k); item != Py_None) args.push_back(item);
    }
  }
  return owned(PyObject_Vectorcall(r.function, args.data(), args.size(), nullptr));
}

PyObject* array_over(PyObject* tensor, DType wanted) {  // wanted undefined: as it is
  const TensorImpl& t = *unwrap(tensor);
  if (wanted == DType::undefined || t.dtype() == wanted) return array_of(unwrap(tensor));
  OwnedRef cast(wrap(to_dtype(Tensor(unwrap(tensor)), wanted)));
  return array_of(unwrap(cast.o));
}

OwnedRef argument(const BodyRunner& self, PyObject* value, bool keep, DType compute, PyObject* wide) {
  PyObject* made;
  if (is_tensor(value)) {
    const DType own = unwrap(value)->dtype();
    made = array_over(value, keep                          ? (own == DType::c32 ? DType::c64 : DType::undefined)
                             : compute != DType::undefined ? compute
                                                           : computed_in(own));
  } else if (PyList_CheckExact(value)) {
    made = list_by(size_t(PyList_GET_SIZE(value)),
        [&](size_t i) { return argument(self, PyList_GET_ITEM(value, i), keep, compute, wide).give(); });
  } else if (value == Py_None || !wide) {
    made = Py_NewRef(value);
  } else {
    PyObject* both[2] = {value, wide};
    made = PyObject_Vectorcall(self.scalar, both, 2, nullptr);
  }
  return owned(made);
}

bool same_sizes(PyObject* shape, PyArrayObject* a) {
  if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) != PyArray_NDIM(a)) return false;
  for (int i = 0; i < PyArray_NDIM(a); ++i) {
    PyObject* n = PyTuple_GET_ITEM(shape, i);
    if (!PyLong_Check(n) || PyLong_AsLongLong(n) != PyArray_DIM(a, i)) return false;
  }
  return true;
}

// The tensor of one result; null without an error: Python's to finish.
PyObject* adopted(PyObject* value, PyObject* shape, PyObject* dtype, const std::vector<OwnedRef>& arrays) {
  if (!PyArray_CheckExact(value)) {
    if (!PyArray_IsScalar(value, Generic)) return nullptr;
    return adopted(owned(PyArray_FromAny(value, nullptr, 0, 0, 0, nullptr)), shape, dtype, arrays);
  }
  auto* a = reinterpret_cast<PyArrayObject*>(value);
  if (shape && shape != Py_None && !same_sizes(shape, a)) return nullptr;
  if (!dtype || !is_dtype(dtype) || !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISNOTSWAPPED(a)) return nullptr;
  const DType wanted = dtype_of(dtype), own = dtype_of_array(value);
  if (own == DType::undefined || (kind_of_number(own) != kind_of_number(wanted) && own != wanted)) return nullptr;
  Dims sizes(PyArray_DIMS(a), PyArray_DIMS(a) + PyArray_NDIM(a));
  bool ours = own == wanted && !PyArray_BASE(a) && PyArray_ISWRITEABLE(a) &&
              reinterpret_cast<uintptr_t>(PyArray_DATA(a)) % 64 == 0;
  for (const OwnedRef& h : arrays) ours = ours && h.o != value;
  if (ours && PyArray_SIZE(a) > 16) {
    PyObject* made = tensor_over(value, sizes, own);
    if (made) unwrap(made)->storage()->set_own();  // the body drops its array
    return made;
  }
  Tensor out = empty(sizes, wanted, Device{});  // small results too: a copy costs less than keeping two objects
  if (PyArray_SIZE(a)) {
    if (own == wanted)
      std::memcpy(out->data(), PyArray_DATA(a), size_t(PyArray_NBYTES(a)));
    else
      copy_(out, Tensor(unwrap(OwnedRef(tensor_over(value, sizes, own)).o)));
  }
  return wrap(out);
}

bool in_order(const BodyPlan& p, PyObject* const* bound, size_t n) {  // every tensor lies as its names say
  for (size_t i = 0; i < n; ++i)
    if (p.tensor[i] && is_tensor(bound[i]) && !unwrap(bound[i])->is_contiguous()) return false;
  return true;
}

PyObject* finished(const BodyRunner& self, const BodyPlan& p, OwnedRef& value, OwnedRef& shape, PyObject* result,
    PyObject* const* bound, size_t n, std::vector<OwnedRef>& arrays) {
  if (p.pointwise && !in_order(p, bound, n)) {
    // Python lays the results out.
  } else if (p.results == 1) {
    PyObject* t = adopted(value.o, shape.o, result, arrays);
    if (t) return t;
  } else if (p.results > 1 && PyTuple_CheckExact(value.o) && PyTuple_GET_SIZE(value.o) == p.results) {
    const bool shapes = shape.o && PyList_CheckExact(shape.o) && PyList_GET_SIZE(shape.o) == p.results;
    const bool dtypes = result && PyList_CheckExact(result) && PyList_GET_SIZE(result) == p.results;
    PyObject* all = tuple_by(size_t(p.results), [&](size_t i) {
      return adopted(PyTuple_GET_ITEM(value.o, i), shapes ? PyList_GET_ITEM(shape.o, i) : shape.o,
          dtypes ? PyList_GET_ITEM(result, i) : result, arrays);
    });
    if (all) return all;
  }
  const OwnedRef inputs = owned(tuple_of_lent(bound, n));
  const OwnedRef made = owned(list_by(arrays.size(), [&](size_t i) { return Py_NewRef(arrays[i].o); }));
  PyObject* args[6] = {p.python, value.o, shape.o ? shape.o : Py_None, result ? result : Py_None, inputs.o, made.o};
  return PyObject_Vectorcall(self.finish, args, 6, nullptr);
}

PyObject* run_body(BodyRunner& self, PyObject* const* bound, size_t n) {
  const BodyPlan& p = *plan_of(self);
  if (!error_variable || !on_cpu(p, bound, n)) {
    const OwnedRef all = owned(tuple_of_lent(bound, n));
    PyObject* args[2] = {p.python, all.o};
    return PyObject_Vectorcall(self.execute, args, 2, nullptr);
  }
  OwnedRef shape, rule;
  if (p.shape.function) shape = ask(p.shape, p.tensor, bound, n);
  if (p.dtype.function) rule = ask(p.dtype, p.tensor, bound, n);
  PyObject *compute = rule.o, *result = rule.o;  // a pair: computed in, given in
  if (rule.o && PyTuple_CheckExact(rule.o) && PyTuple_GET_SIZE(rule.o) == 2) {
    compute = PyTuple_GET_ITEM(rule.o, 0);
    result = PyTuple_GET_ITEM(rule.o, 1);
  }
  const DType wide = compute && is_dtype(compute) ? computed_in(dtype_of(compute)) : DType::undefined;
  OwnedRef wide_object(wide == DType::undefined ? nullptr : dtype_object(wide));
  std::vector<OwnedRef> arrays(n);
  for (size_t i = 0; i < n; ++i)
    arrays[i] = p.tensor[i] ? argument(self, bound[i], p.keep[i], wide, wide_object.o) : OwnedRef(Py_NewRef(bound[i]));
  std::vector<PyObject*> args{xp};
  for (int i : p.places) args.push_back(arrays[size_t(i)].o);
  OwnedRef value;
  {
    Quiet quiet;
    value = OwnedRef(PyObject_Vectorcall(p.body, args.data(), size_t(p.positional), p.keywords));
  }
  if (!value.o) return nullptr;
  return finished(self, p, value, shape, result, bound, n, arrays);
}

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  if (kwnames && PyTuple_GET_SIZE(kwnames))
    return PyErr_Format(PyExc_TypeError, "a body takes its bound arguments by position");
  return guarded([&]() -> PyObject* {
    return run_body(*reinterpret_cast<BodyRunner*>(self), args, size_t(PyVectorcall_NARGS(nargsf)));
  });
}

PyTypeObject* RunnerType;

// Runners live as long as the table.
PyObject* body_runner(PyObject* make_plan, PyObject* execute, PyObject* finish, PyObject* scalar) {
  const OwnedRef made = owned(RunnerType->tp_alloc(RunnerType, 0));
  auto* r = reinterpret_cast<BodyRunner*>(made.o);
  r->vectorcall = call;
  r->make_plan = Py_NewRef(make_plan);
  r->execute = Py_NewRef(execute);
  r->finish = Py_NewRef(finish);
  r->scalar = Py_NewRef(scalar);
  return Py_NewRef(made.o);
}

int traverse_runner(PyObject* self, visitproc visit, void* arg) {
  auto* r = reinterpret_cast<BodyRunner*>(self);
  const BodyPlan* p = r->plan;
  const int own = visit_each(visit, arg, Py_TYPE(self), r->make_plan, r->execute, r->finish, r->scalar);
  return own || !p ? own
                   : visit_each(visit, arg, p->python, p->body, p->keywords, p->shape.function, p->dtype.function);
}

int clear_runner(PyObject* self) {
  auto* r = reinterpret_cast<BodyRunner*>(self);
  const std::unique_ptr<BodyPlan> p(std::exchange(r->plan, nullptr));
  if (p) clear_each(p->python, p->body, p->keywords, p->shape.function, p->dtype.function);
  return clear_each(r->make_plan, r->execute, r->finish, r->scalar);
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear_runner(self);
  free_object(self);
}

int load_numpy_for_body(PyObject*) {
  import_array1(-1);
  RunnerType = add_called_type("shim_torch._impl.native._core.BodyRunner", sizeof(BodyRunner),
      offsetof(BodyRunner, vectorcall), dealloc, traverse_runner, clear_runner);
  return RunnerType && load_state() ? 0 : -1;
}

const ModulePart body_functions{{function<&body_runner>("body_runner",
                                    "(make_plan, execute, finish, scalar): the native runner of a kernel record's "
                                    "body, a callable of bound arguments.")},
    load_numpy_for_body};

}  // namespace

}  // namespace shim
