// The rules of shim_torch._impl.sparse.dispatch: which operators take sparse tensors, and what runs then.
#include "python/owned_ref.h"
#include "python/sparse_dispatch.h"

#include "autograd/autograd.h"
#include "python/module_parameters.h"
#include "python/tensors_in.h"
#include "python/torch_dispatch.h"

namespace shim {

bool sparse_seen = false;

namespace {

PyObject* helper(const char* name) {
  OwnedRef module{PyImport_ImportModule("shim_torch._impl.sparse.dispatch")};
  return module.o ? PyObject_GetAttrString(module.o, name) : nullptr;
}

// Asks once an operator: (rule, callable or None).
bool learn(Operator& op) {
  if (op.sparse_rule != SparseRule::unknown) return true;
  static PyObject* rule = helper("rule");
  // A library's own operators are handed what they are called with; ours have kernels, which read dense memory.
  const bool ours = op.schema.ns == "aten" || op.schema.ns == "shim";
  const bool composite = !ours || (op.kind == Operator::Composite && !op.dispatch_leaf);
  OwnedRef r{rule ? PyObject_CallFunction(rule, "sss", op.schema.name.c_str(), op.schema.overload.c_str(),
                        composite ? "composite" : "kernel")
                  : nullptr};
  int number;
  PyObject* f;
  if (!r.o || !PyArg_ParseTuple(r.o, "iO", &number, &f)) return false;
  if (f != Py_None) python_of(op).sparse_run = Py_NewRef(f);
  op.sparse_rule = SparseRule(number);
  return true;
}

PyObject* refuse(const Operator& op, PyObject* const* args, size_t n) {
  static PyObject* f = helper("refuse");
  OwnedRef list{list_by(n, [&](size_t i) { return Py_NewRef(args[i]); })};
  return f && list.o ? PyObject_CallFunction(f, "sO", op.full_name().c_str(), list.o) : nullptr;
}

PyObject* run(Operator& op, PyObject* const* args, size_t n) {
  NoGrad off;
  return PyObject_Vectorcall(python_of(op).sparse_run, args, n, nullptr);
}

PyObject* run_recorded_sparse(Operator& op, PyObject* const* args, size_t n) {
  if (op.sparse_rule == SparseRule::parts) return PyObject_Vectorcall(python_of(op).sparse_run, args, n, nullptr);
  OwnedRef r{run(op, args, n)};
  if (!r.o) return nullptr;
  const bool viewed = op.kind == Operator::View && !op.formulas.empty();  // indices are views without a base
  if (viewed && n > 0 && is_tensor(args[0]) && is_tensor(r.o) && r.o != args[0] && !below_python_dispatch())
    mark_view(Tensor(unwrap(r.o)), Tensor(unwrap(args[0])));
  const bool made_new = op.factory && op.kind == Operator::Composite;  // zeros_like: of the sizes only
  return !made_new && GradMode::enabled() && any_requires_grad(args, n) ? with_history(op, args, n, r.give())
                                                                        : r.give();
}

// A rule of the in-place operator's own writes self and returns it; else the functional result is stored in self.
PyObject* run_inplace_sparse(Operator& op, PyObject** args, size_t n) {
  Operator& f = *op.functional;
  const bool own = op.sparse_rule == SparseRule::kernel || op.sparse_rule == SparseRule::parts;
  if (!own) {
    if (!learn(f)) return nullptr;
    if (f.sparse_rule != SparseRule::kernel && f.sparse_rule != SparseRule::parts) return refuse(op, args, n);
  }
  Tensor target(unwrap(args[0]));
  const bool history = GradMode::enabled() && any_requires_grad(args, n);
  if (history || target->is_inference) check_inplace(target);
  OwnedRef before{nullptr};
  std::vector<PyObject*> saved(args, args + n);
  if (history) {
    {
      NoGrad off;
      saved[0] = before.o = PyObject_CallMethod(args[0], "clone", nullptr);
    }
    if (!before.o) return nullptr;
    if (target->requires_grad()) {
      Edge edge = gradient_edge(target);
      AutogradMeta& meta = unwrap(before.o)->ensure_autograd();
      meta.grad_fn = edge.node;
      meta.output_nr = edge.input_nr;
    }
  }
  const uint32_t version = target->version();
  OwnedRef result{run(own ? op : f, args, n)};
  if (!result.o) return nullptr;
  if (!own) {
    static PyObject* store = helper("store");
    OwnedRef stored{store ? PyObject_CallFunctionObjArgs(store, args[0], result.o, Py_False, nullptr) : nullptr};
    if (!stored.o) return nullptr;
  }
  if (target->version() == version) target->bump_version();
  if (history) {
    record_history(f, saved.data(), n, args[0], true);
    if (PyErr_Occurred()) return nullptr;
  }
  return Py_NewRef(args[0]);
}

PyObject* run_out_sparse(Operator& op, PyObject** args, size_t n) {
  Operator& f = *op.functional;
  const size_t inputs = f.schema.args.size();
  CHECK(Kind::Runtime, !(GradMode::enabled() && any_requires_grad(args, n)), op.schema.name,
      "(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires "
      "grad.");
  NoGrad off;
  if (op.sparse_rule == SparseRule::kernel || op.sparse_rule == SparseRule::parts)
    return PyObject_Vectorcall(python_of(op).sparse_run, args, n, nullptr);
  if (!learn(f)) return nullptr;
  OwnedRef result{nullptr};
  if (any_sparse(args, inputs) && f.sparse_rule != SparseRule::pass) {
    if (f.sparse_rule == SparseRule::refuse || n != inputs + 1) return refuse(op, args, n);
    result.o = PyObject_Vectorcall(python_of(f).sparse_run, args, inputs, nullptr);
  } else {
    std::vector<PyObject*> given(args, args + inputs);
    OwnedRef layout{nullptr}, dtype{nullptr};
    for (size_t i = 0; f.factory && i < inputs && is_tensor(args[inputs]);
        ++i) {  // a factory's layout and dtype are out's
      if (given[i] != Py_None) continue;
      if (f.schema.args[i].name == "layout") given[i] = layout.o = PyObject_GetAttrString(args[inputs], "layout");
      if (f.schema.args[i].name == "dtype") given[i] = dtype.o = PyObject_GetAttrString(args[inputs], "dtype");
    }
    result.o = run_functional(f, given.data(), inputs);
  }
  if (!result.o) return nullptr;
  static PyObject* store = helper("store");
  OwnedRef stored{store ? PyObject_CallFunctionObjArgs(store, args[inputs], result.o, Py_True, nullptr) : nullptr};
  return stored.o ? Py_NewRef(args[inputs]) : nullptr;
}

}  // namespace

bool any_sparse(PyObject* const* args, size_t n) {
  return any_tensor(args, n, [](TensorImpl& t) { return is_sparse(t); });
}

PyObject* call_sparse(Operator& op, PyObject** args, size_t n, bool* done) {
  *done = true;
  if (!learn(op)) return nullptr;
  if (op.out) return run_out_sparse(op, args, n);
  if (op.inplace && op.functional != &op && op.sparse_rule == SparseRule::pass) {
    if (!learn(*op.functional)) return nullptr;
    if (op.functional->sparse_rule != SparseRule::pass) return run_inplace_sparse(op, args, n);
  }
  if (op.sparse_rule == SparseRule::pass) {
    if (op.kind == Operator::Composite && (op.native || op.native_cpu) && !op.inplace && !op.out)
      return PyObject_Vectorcall(python_of(op).run, args, n, nullptr);  // natives read memory
    *done = false;
    return nullptr;
  }
  if (op.inplace) return run_inplace_sparse(op, args, n);
  if (op.sparse_rule == SparseRule::refuse) return refuse(op, args, n);
  return run_recorded_sparse(op, args, n);
}

namespace {

Tensor make_sparse(PyObject* layout, const Dims& sizes, const Tensor& indices, const OptionalTensor& plain,
    const Tensor& values, int sparse_dim, int dense_dim, Truth coalesced) {
  note_sparse();
  SparseParts p{Layout(layout_of(layout)), detach(indices), plain ? detach(*plain) : Tensor(), detach(values),
      sparse_dim, dense_dim, coalesced};
  return sparse_tensor(sizes, std::move(p));
}

PyObject* parts_of(const Tensor& t) {  // None of a dense tensor
  SparseParts* p = sparse_parts(*t);
  if (!p) Py_RETURN_NONE;
  auto part = [](const Tensor& t) { return t ? wrap(alias(*t)) : Py_NewRef(Py_None); };
  return Py_BuildValue("NNNNiiN", layout_object(int(p->layout)), part(p->indices), part(p->plain_indices),
      part(p->values), p->sparse_dim, p->dense_dim, PyBool_FromLong(p->coalesced));
}

const Tensor& replace(const Tensor& self, const Tensor& other) {
  CHECK(Kind::Type, is_sparse(*other), "replace_sparse: expected two tensors, the second one sparse");
  replace_sparse(*self, *other);
  return self;
}

const Tensor& set_coalesced(const Tensor& self, Truth on) {
  SparseParts* p = sparse_parts(*self);
  CHECK(Kind::Type, p, "set_coalesced: expected a sparse tensor");
  p->coalesced = on;
  return self;
}

PyMethodDef sparse_dispatch_functions[] = {
    function<&make_sparse>("sparse_tensor",
        "(layout, size, indices, plain_indices or None, values, sparse_dim, dense_dim, coalesced): a sparse tensor of "
        "its parts; nothing is checked."),
    function<&parts_of>(
        "sparse_parts", "(layout, indices, plain_indices, values, sparse_dim, dense_dim, coalesced), or None."),
    function<&replace>("replace_sparse", "Gives a sparse tensor the sizes and parts of another."),
    function<&set_coalesced>("set_coalesced", "Says that the indices are sorted and unique, or not."), {}};

}  // namespace

int bind_sparse(PyObject* module) { return PyModule_AddFunctions(module, sparse_dispatch_functions); }

}  // namespace shim
