// The body of a kernel record on CPU tensors: rules asked, arrays made over the tensors' memory, the body called while NumPy warns of
// nothing and allocates aligned, its arrays adopted. Other devices, and results that are out of the ordinary, are the business of the
// same steps in Python (shim_torch/_impl/table/run.py).
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "ops/kernels.h"
#include "python/body_plan.h"
#include "python/dispatch.h"
#include "python/owned_ref.h"
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
  PyObject* inline_[16];
  std::vector<PyObject*> many;
  PyObject** args = inline_;
  size_t count = 0;
  auto put = [&](PyObject* o) {
    if (count == 16 && args == inline_) many.assign(inline_, inline_ + 16), args = nullptr;
    if (args)
      inline_[count] = o;
    else
      many.push_back(o);
    ++count;
  };
  if (!r.takes_all) {
    for (int i : r.at) put(bound[i]);
  } else {
    for (size_t i = 0; i < n; ++i) {
      if (!tensor[i] || bound[i] == Py_None) continue;
      if (!PyList_CheckExact(bound[i]))
        put(bound[i]);
      else
        for (Py_ssize_t k = 0; k < PyList_GET_SIZE(bound[i]); ++k)
          if (PyObject* item = PyList_GET_ITEM(bound[i], k); item != Py_None) put(item);
    }
  }
  OwnedRef answer(PyObject_Vectorcall(r.function, args ? args : many.data(), count, nullptr));
  if (!answer.o) throw PythonError();
  return answer;
}

DType wider(DType t) {  // low precision is computed one step up and rounded once, at the end
  if (t == DType::c32) return DType::c64;
  return t == DType::f16 || (is_floating(t) && itemsize(t) == 1) || t == DType::bf16 ? DType::f32 : t;
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
                                                           : wider(own));
  } else if (PyList_CheckExact(value)) {
    made = list_by(size_t(PyList_GET_SIZE(value)),
        [&](size_t i) { return argument(self, PyList_GET_ITEM(value, i), keep, compute, wide).give(); });
  } else if (value == Py_None || !wide) {
    made = Py_NewRef(value);
  } else {
    PyObject* both[2] = {value, wide};
    made = PyObject_Vectorcall(self.scalar, both, 2, nullptr);
  }
  if (!made) throw PythonError();
  return OwnedRef(made);
}

bool same_sizes(PyObject* shape, PyArrayObject* a) {
  if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) != PyArray_NDIM(a)) return false;
  for (int i = 0; i < PyArray_NDIM(a); ++i) {
    PyObject* n = PyTuple_GET_ITEM(shape, i);
    if (!PyLong_Check(n) || PyLong_AsLongLong(n) != PyArray_DIM(a, i)) return false;
  }
  return true;
}

char kind_of(DType t) { return t == DType::b8 ? 'b' : is_complex(t) ? 'c' : is_floating(t) ? 'f' : 'i'; }

// The tensor of one result; null without an error: Python's to finish.
PyObject* adopted(PyObject* value, PyObject* shape, PyObject* dtype, const std::vector<OwnedRef>& arrays) {
  if (!PyArray_CheckExact(value)) {
    if (!PyArray_IsScalar(value, Generic)) return nullptr;
    OwnedRef zero_d(PyArray_FromAny(value, nullptr, 0, 0, 0, nullptr));
    if (!zero_d.o) throw PythonError();
    return adopted(zero_d.o, shape, dtype, arrays);
  }
  auto* a = reinterpret_cast<PyArrayObject*>(value);
  if (shape && shape != Py_None && !same_sizes(shape, a)) return nullptr;
  if (!dtype || !is_dtype(dtype) || !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISNOTSWAPPED(a)) return nullptr;
  const DType wanted = dtype_of(dtype), own = dtype_of_array(value);
  if (own == DType::undefined || (kind_of(own) != kind_of(wanted) && own != wanted)) return nullptr;
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
  OwnedRef inputs(PyTuple_New(Py_ssize_t(n))), made(PyList_New(Py_ssize_t(arrays.size())));
  for (size_t i = 0; i < n; ++i) PyTuple_SET_ITEM(inputs.o, Py_ssize_t(i), Py_NewRef(bound[i]));
  for (size_t i = 0; i < arrays.size(); ++i) PyList_SET_ITEM(made.o, Py_ssize_t(i), Py_NewRef(arrays[i].o));
  PyObject* args[6] = {p.python, value.o, shape.o ? shape.o : Py_None, result ? result : Py_None, inputs.o, made.o};
  return PyObject_Vectorcall(self.finish, args, 6, nullptr);
}

PyObject* run_body(BodyRunner& self, PyObject* const* bound, size_t n) {
  const BodyPlan& p = *plan_of(self);
  if (!error_variable || !on_cpu(p, bound, n)) {
    OwnedRef all(PyTuple_New(Py_ssize_t(n)));
    for (size_t i = 0; i < n; ++i) PyTuple_SET_ITEM(all.o, Py_ssize_t(i), Py_NewRef(bound[i]));
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
  const DType wide = compute && is_dtype(compute) ? wider(dtype_of(compute)) : DType::undefined;
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

PyTypeObject runner_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

// body_runner(make_plan, execute, finish, scalar): a callable of bound arguments. Runners live as long as the table.
PyObject* body_runner(PyObject*, PyObject* args) {
  PyObject *make_plan, *execute, *finish, *scalar;
  if (!PyArg_ParseTuple(args, "OOOO", &make_plan, &execute, &finish, &scalar)) return nullptr;
  auto* r = PyObject_GC_New(BodyRunner, &runner_type);
  if (!r) return nullptr;
  r->vectorcall = call;
  r->make_plan = Py_NewRef(make_plan);
  r->execute = Py_NewRef(execute);
  r->finish = Py_NewRef(finish);
  r->scalar = Py_NewRef(scalar);
  r->plan = nullptr;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(r));
  return reinterpret_cast<PyObject*>(r);
}

int traverse_runner(PyObject* self, visitproc visit, void* arg) {
  auto* r = reinterpret_cast<BodyRunner*>(self);
  for (PyObject* o : {r->make_plan, r->execute, r->finish, r->scalar}) Py_VISIT(o);
  if (!r->plan) return 0;
  for (PyObject* o :
      {r->plan->python, r->plan->body, r->plan->keywords, r->plan->shape.function, r->plan->dtype.function})
    Py_VISIT(o);
  return 0;
}

int clear_runner(PyObject* self) {
  auto* r = reinterpret_cast<BodyRunner*>(self);
  Py_CLEAR(r->make_plan);
  Py_CLEAR(r->execute);
  Py_CLEAR(r->finish);
  Py_CLEAR(r->scalar);
  const std::unique_ptr<BodyPlan> plan(std::exchange(r->plan, nullptr));
  if (!plan) return 0;
  for (PyObject* o : {plan->python, plan->body, plan->keywords, plan->shape.function, plan->dtype.function})
    Py_XDECREF(o);
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear_runner(self);
  PyObject_GC_Del(self);
}

PyMethodDef body_functions[] = {
    {"body_runner", body_runner, METH_VARARGS, "The native runner of a kernel record's body."}, {}};

int load_numpy_for_body() {
  import_array1(-1);
  return 0;
}

}  // namespace

int bind_body(PyObject* module) {
  runner_type.tp_name = "shim_torch._impl.native._core.BodyRunner";
  runner_type.tp_basicsize = sizeof(BodyRunner);
  runner_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  runner_type.tp_vectorcall_offset = offsetof(BodyRunner, vectorcall);
  runner_type.tp_call = PyVectorcall_Call;
  runner_type.tp_dealloc = dealloc;
  runner_type.tp_traverse = traverse_runner;
  runner_type.tp_clear = clear_runner;
  if (PyType_Ready(&runner_type) < 0 || load_numpy_for_body() < 0 || !load_state()) return -1;
  return PyModule_AddFunctions(module, body_functions);
}

}  // namespace shim
