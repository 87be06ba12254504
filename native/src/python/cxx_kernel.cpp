// Kernels that C++ extensions register (TORCH_LIBRARY), and their autograd functions, as Python objects.
#include <memory>

#include "python/cxx_values.h"
#include "python/library_table.h"
#include "python/operator.h"
#include "python/module_function.h"
#include "python/stable_values.h"

namespace shim {

namespace {

struct Closure {  // lives as long as the process: libraries are never unloaded
  std::string qualified, overload;
  ShimKernel kernel;
  void* context;
  Operator* op = nullptr;
  Operator& found() {
    if (!op) op = find_operator(qualified, overload);
    CHECK(Kind::Runtime, op, qualified, ": the operator of this kernel is not defined");
    return *op;
  }
};

// The arguments in schema order: given by position, by name, or by default.
void gather(Operator& op, PyObject* const* args, size_t n, PyObject* names, Cells& cells) {
  const Schema& s = op.schema;
  CHECK(Kind::Type, n <= s.args.size(), s.qualified(), ": the kernel takes ", s.args.size(), " arguments, got ", n);
  for (size_t i = 0; i < s.args.size(); ++i) {
    PyObject* o = i < n ? args[i] : nullptr;
    for (Py_ssize_t k = 0; !o && names && k < PyTuple_GET_SIZE(names); ++k)
      if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), s.args[i].name.c_str()) == 0)
        o = args[n + size_t(k)];
    if (!o) o = python_of(op).slots[i].fallback;
    CHECK(Kind::Type, o, s.qualified(), ": the kernel misses its argument '", s.args[i].name, "'");
    cells.all.push_back(cell_of_object(o, &s.args[i].type));
  }
}

PyObject* results_of(const Schema& s, const Cells& results) {
  const size_t n = results.all.size();
  if (n == 0) Py_RETURN_NONE;
  auto one = [&](size_t i) {
    PyObject* o = owned(object_of(results.all[i], &s.returns[i].type)).give();
    if (PyTuple_CheckExact(o) && results.all[i].im != SHIM_TUPLE) Py_SETREF(o, PySequence_List(o));
    return o;
  };
  if (n == 1) return one(0);
  return tuple_by(n, one);
}

PyObject* run_closure(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  return guarded([&]() -> PyObject* {
    auto* c = static_cast<Closure*>(PyCapsule_GetPointer(self, nullptr));
    Operator& op = c->found();
    Cells given, results(op.schema.returns.size());
    gather(op, args, size_t(n), names, given);
    call_extension(c->kernel, c->context, given, results);
    return results_of(op.schema, results);
  });
}

PyMethodDef closure_method = raw_function("kernel", run_closure, "A kernel of a C++ extension.");

// --- autograd functions -------------------------------------------------------------------------------------------------

struct State {  // of one call
  const ShimFunction* functions;
  void* state;
};

void drop_state(PyObject* capsule) {
  auto* s = static_cast<State*>(PyCapsule_GetPointer(capsule, nullptr));
  s->functions->destroy(s->state);
  delete s;
}

PyObject* tensors_of(int failed, ShimCell& result) {
  if (failed) {
    raise_kept();
    throw PythonError();
  }
  struct Owner {
    ShimCell& c;
    ~Owner() { release_cell(c); }
  } owner{result};
  OwnedRef list = owned(object_of(result));
  return PySequence_Tuple(list);
}

State& state_in(PyObject* capsule) {
  auto* s = static_cast<State*>(PyCapsule_GetPointer(capsule, nullptr));
  if (!s) throw PythonError();
  return *s;
}

PyObject* cxx_forward(PyObject* capsule, PyObject* ctx) {
  const State& s = state_in(capsule);
  ShimCell result{};
  const int failed = s.functions->forward(s.state, ctx, &result);
  return tensors_of(failed, result);
}

PyObject* cxx_backward(PyObject* capsule, PyObject* ctx, PyObject* grads) {
  const State& s = state_in(capsule);
  CHECK(Kind::Type, PyTuple_Check(grads), "cxx_backward: gradients are a tuple");
  std::vector<ShimTensor*> given;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(grads); ++i) {
    PyObject* g = PyTuple_GET_ITEM(grads, i);
    given.push_back(g == Py_None ? nullptr : reinterpret_cast<ShimTensor*>(unwrap(g)));
  }
  ShimCell result{};
  const int failed = s.functions->backward(s.state, ctx, given.data(), given.size(), &result);
  return tensors_of(failed, result);
}

PyMethodDef cxx_functions[] = {
    function<&cxx_forward>("cxx_forward", "forward of a C++ autograd function: (state, ctx) -> tensors."),
    function<&cxx_backward>("cxx_backward", "backward of one: (state, ctx, gradients) -> gradients."), {}};

}  // namespace

int bind_cxx(PyObject* module) {
  install_extension_errors();
  if (PyModule_AddStringConstant(module, "cxx_version", SHIM_CXX_VERSION) < 0) return -1;
  return PyModule_AddFunctions(module, cxx_functions);
}

}  // namespace shim

using namespace shim;

int shim_cxx_implement(
    const char* ns, const char* key, const char* name, ShimKernel kernel, void* context, const char* schema) {
  return kept([&] {
    GilAcquire gil;
    take_over_libraries();
    std::string text = name, space = ns;
    if (const size_t colon = text.find("::"); colon != std::string::npos) {
      space = text.substr(0, colon);
      text = text.substr(colon + 2);
    }
    if (*schema) {
      Schema s = parse_schema(schema);
      s.ns = space;
      define_operator(std::move(s));
    }
    const size_t dot = text.find('.');
    auto closure = std::make_unique<Closure>(Closure{
        space + "::" + text.substr(0, dot), dot == std::string::npos ? "" : text.substr(dot + 1), kernel, context});
    OwnedRef capsule = owned(PyCapsule_New(closure.get(), nullptr, nullptr));
    OwnedRef function = owned(PyCFunction_New(&closure_method, capsule));
    OwnedRef(static_cast<PyObject*>(set_kernel(closure->qualified, closure->overload, key, function)));
    closure.release();
  });
}

int shim_cxx_apply(const ShimFunction* functions, void* state, ShimTensor* const* inputs, size_t n, ShimCell* outputs) {
  return kept([&] {
    GilAcquire gil;
    OwnedRef capsule = owned(PyCapsule_New(new State{functions, state}, nullptr, drop_state));
    OwnedRef module = owned(PyImport_ImportModule("shim_torch._impl.extensions.cxx_function"));
    OwnedRef args = owned(tuple_by(n + 2, [&](size_t i) {
      return i == 0   ? PyUnicode_FromString(functions->name)
             : i == 1 ? Py_NewRef(capsule)
                      : wrap(tensor_in(inputs[i - 2]));
    }));
    OwnedRef apply = owned(PyObject_GetAttrString(module, "apply"));
    OwnedRef result = owned(PyObject_Call(apply, args, nullptr));
    ArgType tensors;
    tensors.base = ArgType::Tensor;
    tensors.list = true;
    *outputs = cell_of_object(result, &tensors);
  });
}

int shim_cxx_context(void* context, int what, const ShimCell* given, ShimCell* result) {
  return kept([&] {
    GilAcquire gil;
    auto* ctx = static_cast<PyObject*>(context);
    const char* names[] = {"save_for_backward", "saved_tensors", "mark_dirty", "mark_non_differentiable",
        "set_materialize_grads", "needs_input_grad"};
    ArgType list;
    list.list = true;
    list.base = what == SHIM_NEEDS ? ArgType::Bool : ArgType::Tensor;
    if (what == SHIM_SAVED || what == SHIM_NEEDS) {
      OwnedRef value = owned(PyObject_GetAttrString(ctx, names[what]));
      *result = cell_of_object(value, &list);
      return;
    }
    OwnedRef method = owned(PyObject_GetAttrString(ctx, names[what]));
    OwnedRef values = owned(object_of(*given));
    OwnedRef args = owned(PyList_Check(values.o) ? PySequence_Tuple(values) : PyTuple_Pack(1, values.o));
    owned(PyObject_Call(method, args, nullptr));
  });
}
