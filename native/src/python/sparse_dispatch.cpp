// The rules of shim_torch._impl.sparse.dispatch: which operators take sparse tensors, and what runs then (dispatch/sparse.h).

#include "dispatch/sparse.h"
#include "python/lent_objects.h"
#include "python/module_parameters.h"
#include "python/operator.h"
#include "python/torch_dispatch.h"

namespace shim {

namespace {

OwnedRef helper(const char* name) { return imported("shim_torch._impl.sparse.dispatch", name); }

void learn(Operator& op) {  // (rule, callable or None)
  static PyObject* rule = helper("rule").give();
  // A library's own operators are handed what they are called with; ours have kernels, which read dense memory.
  const bool ours = op.schema.ns == "aten" || op.schema.ns == "shim";
  const bool composite = !ours || (op.kind == Operator::Composite && !op.dispatch_leaf);
  OwnedRef r = owned(PyObject_CallFunction(
      rule, "sss", op.schema.name.c_str(), op.schema.overload.c_str(), composite ? "composite" : "kernel"));
  int number;
  PyObject* f;
  if (!PyArg_ParseTuple(r.o, "iO", &number, &f)) throw PythonError();
  if (f != Py_None) python_of(op).sparse_run = Py_NewRef(f);
  op.sparse_rule = SparseRule(number);
}

void refuse(const Operator& op, const Value* args, size_t n, Result& r) {
  static PyObject* f = helper("refuse").give();
  LentObjects objects(op, args, n);
  OwnedRef list = owned(list_by(n, [&](size_t i) { return Py_NewRef(objects.data()[i]); }));
  hold(r, PyObject_CallFunction(f, "sO", op.full_name().c_str(), list.o));
}

void run_sparse(Operator& op, const Value* args, size_t n, Result& r) {
  hold(r, PyObject_Vectorcall(python_of(op).sparse_run, LentObjects(op, args, n).data(), n, nullptr));
}

void store(const Tensor& target, Result& result, bool out) {
  static PyObject* f = helper("store").give();
  OwnedRef into = owned(wrap(target)), from = owned(object_of(result));
  owned(PyObject_CallFunctionObjArgs(f, into.o, from.o, out ? Py_True : Py_False, nullptr));
}

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

const Tensor& replace_parts(const Tensor& self, const Tensor& other) {
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

const ModulePart sparse_dispatch_functions{
    {function<&make_sparse>("sparse_tensor",
         "(layout, size, indices, plain_indices or None, values, sparse_dim, dense_dim, coalesced): a sparse tensor of "
         "its parts; nothing is checked."),
        function<&parts_of>(
            "sparse_parts", "(layout, indices, plain_indices, values, sparse_dim, dense_dim, coalesced), or None."),
        function<&replace_parts>("replace_sparse", "Gives a sparse tensor the sizes and parts of another."),
        function<&set_coalesced>("set_coalesced", "Says that the indices are sorted and unique, or not.")},
    [](PyObject*) { return sparse_calls = {learn, refuse, run_sparse, store}, 0; }};

}  // namespace

}  // namespace shim
