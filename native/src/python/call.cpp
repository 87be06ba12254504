// Where calls of operators (dispatch/call.h) meet the interpreter.
#include "dispatch/engine_ops.h"
#include "dispatch/sparse.h"
#include "kernels/tensor_parameter.h"
#include "ops/recorded_call.h"
#include "python/batching.h"
#include "python/dispatch.h"
#include "python/lent_objects.h"
#include "python/library_table.h"
#include "python/torch_dispatch_state.h"
#include "python/trace_call.h"

namespace shim {

PyObject* LentObjects::made(const Operator& op, size_t i, const Value& given) {
  Value v = given;
  const ArgType& type = op.schema.args[i].type;
  if (v.tag == Value::list && type.list && type.base == ArgType::Tensor)
    v.tag = Value::tensors;  // also where it is empty
  return made_.emplace_back(object_of(v)).o;
}

namespace {

void lend(Answer& a, PyObject* o) {
  if (is_tensor(o)) {
    a.kind = Answer::argument;
    a.t = unwrap(o);
  } else if (PyLong_Check(o)) {
    int overflow = 0;
    a.kind = PyBool_Check(o) ? Answer::boolean : Answer::integer;
    a.i = PyLong_AsLongLongAndOverflow(o, &overflow);
  }
}

}  // namespace

void hold(Result& r, PyObject* object) {
  if (!object) throw PythonError();
  r.clear();
  r.hold(object);
  if (!PyTuple_Check(object) && !PyList_Check(object)) return lend(r.answer, object);
  const auto n = size_t(PySequence_Fast_GET_SIZE(object));
  r.answer.make_room(n);
  r.answer.kind = PyTuple_Check(object) ? Answer::tuple : Answer::list;
  for (size_t i = 0; i < n; ++i) lend(r.answer.parts[i], PySequence_Fast_GET_ITEM(object, Py_ssize_t(i)));
}

PyObject* object_of(Result& r) {
  if (void* o = r.take_object()) return static_cast<PyObject*>(o);
  Answer& a = r.answer;
  if (a.kind == Answer::declined) Py_RETURN_NONE;
  if (a.kind == Answer::tensor) {
    a.kind = Answer::declined;
    return wrap(a.take_tensor());
  }
  PyObject* o = object_of(a);
  a.kind = Answer::declined;
  return o;
}

namespace {

PyObject* vectorcall(PyObject* f, PyObject** args, size_t n) { return PyObject_Vectorcall(f, args, n, nullptr); }

// What NumPy raises in a kernel's body, as PyTorch's kernels would (shim_torch/_impl/table/body_errors.py).
__attribute__((noinline, cold)) void translate_body_error() {
  Pending raised;
  OwnedRef module{PyImport_ImportModule("shim_torch._impl.table.body_errors")};
  OwnedRef error{module.o ? PyObject_CallMethod(module.o, "translated", "O", raised.value()) : nullptr};
  PyErr_Clear();
  if (!error.o || error.o == raised.value()) return;
  raised.drop();
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.o)), error);
}

void run_body(Operator& op, const Value* args, size_t n, Result& r) {
  if (!python_of(op).run) raise_no_kernel(op, args, n);
  LentObjects objects(op, args, n);
  const bool transformed = __builtin_expect(gradient_transforms, 0);
  own_bodies += transformed;
  PyObject* result = vectorcall(python_of(op).run, objects.data(), n);
  own_bodies -= transformed;
  if (__builtin_expect(!result, 0) && op.kind == Operator::Kernel && (op.schema.ns == "aten" || op.schema.ns == "shim"))
    translate_body_error();
  hold(r, result);
}

void run_dispatch_parts(Operator& op, const Value* args, size_t n, Result& r) {
  LentObjects objects(op, args, n);
  hold(r, vectorcall(python_of(op).dispatch_parts, objects.data(), n));
}

// The dtype that the error says no kernel has; undefined: another error.
DType lacking_dtype() {
  if (!PyErr_Occurred()) return DType::undefined;
  Pending raised;
  PyObject* error = raised.value();
  if (!PyObject_TypeCheck(error, reinterpret_cast<PyTypeObject*>(PyExc_NotImplementedError))) return DType::undefined;
  OwnedRef found{PyObject_GetAttrString(error, "compute_dtype")};
  if (!found.o) PyErr_Clear();
  return found.o && is_dtype(found.o) ? dtype_of(found.o) : DType::undefined;
}

std::string not_implemented_text() {
  try {
    throw;
  } catch (const Error& e) { return e.kind() == Kind::NotImplemented ? e.what() : ""; } catch (const PythonError&) {
    return PyErr_ExceptionMatches(PyExc_NotImplementedError) ? Pending().text() : "";
  } catch (...) { return ""; }
}

// The call that made a view of a wrapper, for another base.
class CallReplay final : public ViewReplay {
 public:
  CallReplay(Operator& op, PyObject* const* args, size_t n) : op_(op) {
    for (size_t i = 0; i < n; ++i) args_.emplace_back(i ? Py_NewRef(args[i]) : nullptr);
  }
  ~CallReplay() override {
    if (!python_lives()) return;
    GilAcquire gil;
    for (PyObject* a : args_) Py_XDECREF(a);
  }
  void traverse(Visitor& v) const override {
    for (PyObject* a : args_) v.python(a);
  }
  Tensor apply(const Tensor& base) override {
    OwnedRef self{wrap(base)};
    std::vector<PyObject*> given(args_);
    given[0] = self.o;
    const Values values(given.data(), given.size());
    Result r;
    GradMode::enabled() ? run_recorded(op_, values.data(), given.size(), r)
                        : run_functional(op_, values.data(), given.size(), r);
    CHECK(Kind::Runtime, r.tensor(), op_.schema.qualified(), ": __torch_dispatch__ of a view returned no tensor");
    return Tensor(r.tensor());
  }

 private:
  Operator& op_;
  std::vector<PyObject*> args_;
};

Ref<ViewReplay> replay_of(Operator& op, const Value* args, size_t n) {
  return Ref<ViewReplay>(new CallReplay(op, LentObjects(op, args, n).data(), n));
}

}  // namespace

void install_calls() {
  interpreter_calls = {.body = run_body,
      .has_body = [](const Operator& op) { return python_of(op).run != nullptr; },
      .handlers = torch_dispatch::ask_handlers,
      .parts = run_dispatch_parts,
      .has_parts = [](const Operator& op) { return python_of(op).dispatch_parts != nullptr; },
      .modes = [] { return torch_dispatch::modes().size(); },
      .innermost_mode_has =
          [](const char* name) { return bool(PyObject_HasAttrString(torch_dispatch::modes().back(), name)); },
      .functions_are_seen = [] { return dispatch_mode_active() || torch_function_mode_active(); },
      .sparse = call_sparse,
      .as_parts = run_as_parts,
      .library = run_library,
      .batched = call_batched,
      .lacking_dtype = lacking_dtype,
      .not_implemented = not_implemented_text,
      .drop_error = PyErr_Clear,
      .alone = alone,
      .is_plain =
          [](const TensorImpl& t) {
            auto* type = Py_TYPE(static_cast<PyObject*>(t.pyobj));
            return type == TensorType || reinterpret_cast<PyObject*>(type) == ParameterType;
          },
      .replay = replay_of};
  install_engine_ops();
  recorded_call = call_recorded;
  object_to_save = [](const Value& v) -> void* {
    return v.origin ? Py_NewRef(static_cast<PyObject*>(v.origin)) : object_of(v);
  };
}

PyObject* call_operator(Operator& op, Bound& b) {
  return guarded([&]() -> PyObject* {
    const Values values(b.data(), b.size());
    Result r;
    call_operator(op, values.data(), b.size(), r);
    PyObject* result = object_of(r);
    // A factory's result is to require gradients where requires_grad=True was given.
    if (b.requires_grad && result && is_tensor(result) && !make_require_grad(result)) Py_CLEAR(result);
    return result;
  });
}

}  // namespace shim
