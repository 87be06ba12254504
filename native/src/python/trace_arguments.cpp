// Whether a call is what a node of the tree says, and what node a call makes.
#include <cstring>

#include "python/native_ops.h"
#include "python/owned_ref.h"
#include "python/trace.h"
#include "python/trace_rules.h"

namespace shim {

using namespace trace;

namespace {

struct HeldObject final : Constant {
  PyObject* object;
  explicit HeldObject(PyObject* o) : object(Py_NewRef(o)) {}
  ~HeldObject() override {
    if (!python_lives()) return;
    GilAcquire gil;
    Py_DECREF(object);
  }
};

bool plain_tensor(PyObject* o) {
  return Py_TYPE(o) == TensorType || reinterpret_cast<PyObject*>(Py_TYPE(o)) == ParameterType;
}

bool is_sequence(PyObject* o) { return PyList_CheckExact(o) || PyTuple_Check(o); }

// Numbers by type and bits, other values as they are.
bool equal_constants(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (is_sequence(a) && is_sequence(b)) {  // sizes come as lists, tuples and torch.Size
    if (PySequence_Fast_GET_SIZE(a) != PySequence_Fast_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(a); ++i)
      if (!equal_constants(PySequence_Fast_GET_ITEM(a, i), PySequence_Fast_GET_ITEM(b, i))) return false;
    return true;
  }
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return !std::memcmp(&x, &y, sizeof x);
  }
  if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
  if (is_device(a)) return device_of(a) == device_of(b);
  return false;  // booleans, dtypes, formats and None are the same objects
}

bool can_be_constant(PyObject* o) {
  if (is_sequence(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      if (!can_be_constant(PySequence_Fast_GET_ITEM(o, i))) return false;
    return true;
  }
  MemoryFormat format;
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
         is_dtype(o) || is_device(o) || memory_format_of(o, &format) || layout_of(o) >= 0;
}

bool holds_tensors(PyObject* o) {
  if (!is_sequence(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
    if (is_tensor(PySequence_Fast_GET_ITEM(o, i))) return true;
  return false;
}

// Memory that a node meets for the first time is named at once; if the node does not match after all, it is not.
class Names {
 public:
  explicit Names(Session& s) : session_(s), next_(s.slots()) {}
  ~Names() {
    if (!kept_)
      for (Storage* s : named_) session_.unname(*s);
  }
  bool matches(const TensorSpec& spec, const TensorImpl& t) {
    Storage& s = *t.storage();
    if (!spec.lies_like(t) || !s.may_hide() || s.nbytes() != spec.nbytes) return false;
    if (!spec.fresh) return session_.knows(s) && s.trace_slot == spec.slot;
    if (session_.knows(s)) return false;
    name(s);
    return true;
  }
  void give(TensorSpec& spec, const TensorImpl& t) {
    Storage& s = *t.storage();
    spec.fresh = !session_.knows(s);
    if (spec.fresh) name(s);
    spec.slot = s.trace_slot;
  }
  uint32_t met() const { return uint32_t(named_.size()); }
  void keep() { kept_ = true; }

 private:
  void name(Storage& s) {
    session_.name(s, next_++);
    named_.push_back(&s);
  }
  Session& session_;
  uint32_t next_;
  std::vector<Storage*> named_;
  bool kept_ = false;
};

bool number_like(PyObject* o, Scalar::Type type, Scalar* out) {
  if (type == Scalar::Float ? !PyFloat_CheckExact(o) : !PyLong_CheckExact(o)) return false;
  return number_of(o, out) && !out->big;
}

bool list_matches(Names& names, const TreeNode& node, const ArgumentSpec& a, PyObject* o, Given& given) {
  if (!is_sequence(o) || PySequence_Fast_GET_SIZE(o) != Py_ssize_t(a.given.size())) return false;
  size_t at = a.first;
  for (size_t i = 0; i < a.given.size(); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(o, Py_ssize_t(i));
    if (!a.given[i]) {
      if (item != Py_None) return false;
      continue;
    }
    if (!plain_tensor(item) || !names.matches(node.inputs[at++], *unwrap(item))) return false;
    given.inputs.emplace_back(unwrap(item));
  }
  return true;
}

// A float of an operator that computes each element by itself, and an integer where its tensors are floating, may be another each time.
bool may_vary(const Operator& op, const Argument& a, PyObject* o, bool floating) {
  if (!op.functional && !op.pointwise) return false;
  const Operator& f = op.functional ? *op.functional : op;
  if (!f.pointwise || a.type.list) return false;
  const bool number = a.type.base == ArgType::Scalar || a.type.base == ArgType::Float || a.type.base == ArgType::Tensor;
  int overflow = 0;
  return number && floating &&
         (PyFloat_CheckExact(o) || (PyLong_CheckExact(o) && a.type.base != ArgType::Float &&
                                       (PyLong_AsLongLongAndOverflow(o, &overflow), !overflow)));
}

const char* against_tensor(PyObject* o) {
  if (!plain_tensor(o)) return "tensors of other classes";
  const TensorImpl& t = *unwrap(o);
  if (t.device().is_meta()) return "tensors without memory";
  if (!t.storage()->has_memory() && t.numel()) return "tensors without memory";
  return t.storage()->may_hide() ? nullptr : "memory that is shared with others";
}

struct Builder {
  Session& session;
  Names names;
  TreeNode& node;
  const char* why = nullptr;
  std::optional<Device> device;

  bool add(PyObject* o) {
    why = against_tensor(o);
    if (why) return false;
    const TensorImpl& t = *unwrap(o);
    if (t.dim() && device && *device != t.device()) return why = "several devices", false;
    if (t.dim()) device = t.device();
    if (t.device().is_cuda()) node.device = t.device().index;
    TensorSpec spec = TensorSpec::of(t);
    names.give(spec, t);
    node.inputs.push_back(std::move(spec));
    return true;
  }
  bool argument(const Argument& a, PyObject* o, bool floating) {
    ArgumentSpec spec;
    spec.first = uint32_t(node.inputs.size());
    if (is_tensor(o)) {
      spec.kind = ArgumentSpec::tensor;
      if (!add(o)) return false;
    } else if (holds_tensors(o)) {
      spec.kind = ArgumentSpec::tensors;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
        PyObject* item = PySequence_Fast_GET_ITEM(o, i);
        spec.given.push_back(is_tensor(item));
        if (is_tensor(item) ? !add(item) : item != Py_None)
          return why ? false : (why = "a list of other things", false);
      }
    } else if (!session.tree().backend && may_vary(*node.op, a, o, floating)) {
      spec.kind = ArgumentSpec::parameter;
      spec.number = PyFloat_CheckExact(o) ? Scalar::Float : Scalar::Int;
    } else if (can_be_constant(o)) {
      PyObject* kept = PyList_CheckExact(o) ? PyList_AsTuple(o) : Py_NewRef(o);  // a list might be changed
      spec.value = make<HeldObject>(kept);
      Py_DECREF(kept);
    } else {
      return why = "arguments of other classes", false;
    }
    node.arguments.push_back(std::move(spec));
    return true;
  }
  bool results(PyObject* result) {
    node.form = is_tensor(result) ? Results::one : PyTuple_Check(result) ? Results::tuple : Results::list;
    if (!is_tensor(result)) {
      if (!is_sequence(result)) return why = "results that are no tensors", false;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
        if (!is_tensor(PySequence_Fast_GET_ITEM(result, i))) return why = "results that are no tensors", false;
    }
    const uint32_t of_inputs = session.slots() + names.met();
    for (const Tensor& t : tensors_of(result)) {
      const Storage& s = *t->storage();
      if (session.knows(s) && s.trace_slot < of_inputs)
        return why = "results that share memory with an argument", false;
      if (!s.may_hide() || t->requires_grad()) return why = "results in memory that is shared with others", false;
      if (t->device().is_cuda()) node.device = t->device().index;
      if (device && t->device() != *device) return why = "several devices", false;
      TensorSpec spec = TensorSpec::of(*t);
      names.give(spec, *t);
      node.results.push_back(std::move(spec));
    }
    return true;
  }
};

}  // namespace

Ref<Constant> held(PyObject* o) { return make<HeldObject>(o); }
PyObject* object_of(const Constant& c) { return static_cast<const HeldObject&>(c).object; }

std::vector<Tensor> tensors_of(PyObject* result) {
  std::vector<Tensor> found;
  if (is_tensor(result)) found.emplace_back(unwrap(result));
  if (is_sequence(result))
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      if (PyObject* item = PySequence_Fast_GET_ITEM(result, i); is_tensor(item)) found.emplace_back(unwrap(item));
  return found;
}

bool matches(Session& session, const TreeNode& node, PyObject* const* args, size_t n, Given& given) {
  if (n != node.arguments.size()) return false;
  Names names(session);
  for (size_t i = 0; i < n; ++i) {
    const ArgumentSpec& a = node.arguments[i];
    PyObject* o = args[i];
    switch (a.kind) {
      case ArgumentSpec::tensor:
        if (!is_tensor(o) || !plain_tensor(o) || !names.matches(node.inputs[a.first], *unwrap(o))) return false;
        given.inputs.emplace_back(unwrap(o));
        break;
      case ArgumentSpec::tensors:
        if (!list_matches(names, node, a, o, given)) return false;
        break;
      case ArgumentSpec::parameter:
        if (!number_like(o, a.number, &given.parameters.emplace_back())) return false;
        break;
      case ArgumentSpec::constant:
        if (is_tensor(o) || !equal_constants(object_of(*a.value), o)) return false;
    }
  }
  names.keep();
  return true;
}

std::unique_ptr<TreeNode> node_of(
    Session& session, Operator& op, PyObject* const* args, size_t n, PyObject* result, const char** why) {
  auto node = std::make_unique<TreeNode>();
  node->op = &op;
  node->before = session.at();
  node->depth = session.at()->depth + 1;
  node->slots_before = session.slots();
  Builder b{session, Names(session), *node};
  bool floating = false;
  for (size_t i = 0; i < n; ++i)
    if (is_tensor(args[i])) floating |= is_floating(unwrap(args[i])->dtype());
  bool good = true;
  for (size_t i = 0; good && i < n; ++i) good = b.argument(op.schema.args[i], args[i], floating);
  if (result) {
    good = good && b.results(result);
  } else {
    node->form = Results::none;
  }
  *why = b.why;
  if (!good) return nullptr;
  b.names.keep();
  node->slots = b.names.met();
  return node;
}

PyObject* argument_of(const ArgumentSpec& a, std::span<const Tensor> inputs, const Scalar* parameter) {
  switch (a.kind) {
    case ArgumentSpec::tensor: return wrap(inputs[a.first]);
    case ArgumentSpec::parameter:
      return parameter->type == Scalar::Float ? PyFloat_FromDouble(parameter->f) : PyLong_FromLongLong(parameter->i);
    case ArgumentSpec::constant: return Py_NewRef(object_of(*a.value));
    case ArgumentSpec::tensors: break;
  }
  OwnedRef list = owned(PyList_New(Py_ssize_t(a.given.size())));
  size_t at = a.first;
  for (size_t i = 0; i < a.given.size(); ++i)
    PyList_SET_ITEM(list.o, Py_ssize_t(i), a.given[i] ? wrap(inputs[at++]) : Py_NewRef(Py_None));
  return list.give();
}

}  // namespace shim
