#include "python/program_values.h"

#include "autograd/autocast.h"
#include "python/dispatch.h"
#include "python/native_ops.h"
#include "python/owned_ref.h"

namespace shim {

using namespace program;

namespace {

struct HeldObject final : Held {  // a generator
  PyObject* object;
  explicit HeldObject(PyObject* o) : object(Py_NewRef(o)) {}
  ~HeldObject() override {
    if (!python_lives()) return;
    GilAcquire gil;
    Py_DECREF(object);
  }
};

bool is_layout(PyObject* o) { return !PyLong_Check(o) && layout_of(o) >= 0; }

program::Value number_value(PyObject* o) {
  if (PyBool_Check(o)) return {o == Py_True};
  if (PyFloat_CheckExact(o)) return {PyFloat_AS_DOUBLE(o)};
  if (PyLong_CheckExact(o)) {
    int overflow;
    const int64_t i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) return {i};
  }
  Scalar s;
  if (number_of(o, &s)) return {s};
  return {Ref<Held>(make<HeldObject>(o))};
}

program::Value value_of(Recorder& recorder, PyObject* o) {
  if (!o || o == Py_None) return {};
  if (is_tensor(o)) return {recorder.ref(Tensor(unwrap(o)))};
  if (PyUnicode_Check(o)) return {std::string(utf8(o))};
  if (PyList_Check(o) || PyTuple_Check(o)) {
    List items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      items.push_back(value_of(recorder, PySequence_Fast_GET_ITEM(o, i)));
    return {std::move(items)};
  }
  if (is_dtype(o)) return {dtype_of(o)};
  if (is_device(o)) return {device_of(o)};
  if (MemoryFormat f; memory_format_of(o, &f)) return {f};
  if (is_layout(o)) return {LayoutNumber{int8_t(layout_of(o))}};
  return number_value(o);
}

PyObject* list_object(const List& list, Storages storages, std::span<const Scalar> parameters) {
  bool tensors = false;
  for (const program::Value& v : list) program::each_tensor(v, [&](const TensorRef&) { tensors = true; });
  OwnedRef all = owned(tensors ? PyList_New(Py_ssize_t(list.size())) : PyTuple_New(Py_ssize_t(list.size())));
  for (size_t i = 0; i < list.size(); ++i) {
    PyObject* item = object_of(list[i], storages, parameters);
    if (!item) return nullptr;
    if (tensors)
      PyList_SET_ITEM(all.o, Py_ssize_t(i), item);
    else
      PyTuple_SET_ITEM(all.o, Py_ssize_t(i), item);
  }
  return all.give();
}

template <class... F> struct Cases : F... {
  using F::operator()...;
};
template <class... F> Cases(F...) -> Cases<F...>;

struct WithoutAutocast {
  AutocastMode was = autocast_mode();
  WithoutAutocast() { autocast_mode().cpu.enabled = autocast_mode().cuda.enabled = false; }
  ~WithoutAutocast() {
    autocast_mode().cpu.enabled = was.cpu.enabled;
    autocast_mode().cuda.enabled = was.cuda.enabled;
  }
};

}  // namespace

List values_of(Recorder& recorder, PyObject* const* args, size_t n) {
  List values;
  for (size_t i = 0; i < n; ++i) values.push_back(value_of(recorder, args[i]));
  return values;
}

void collect_tensors(PyObject* result, std::vector<Tensor>& into) {
  if (is_tensor(result)) {
    into.emplace_back(unwrap(result));
  } else if (PyTuple_Check(result) || PyList_Check(result)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result); ++i)
      collect_tensors(PySequence_Fast_GET_ITEM(result, i), into);
  } else {
    CHECK(Kind::Runtime, result == Py_None, "a step of a trace gave a ", Py_TYPE(result)->tp_name,
        ", which is no tensor");
  }
}

PyObject* number_object(const Scalar& s) {
  switch (s.type) {
    case Scalar::Bool: return PyBool_FromLong(s.i != 0);
    case Scalar::Int: return s.big ? PyLong_FromUnsignedLongLong(uint64_t(s.i)) : PyLong_FromLongLong(s.i);
    case Scalar::Float: return PyFloat_FromDouble(s.f);
    case Scalar::Complex: return PyComplex_FromDoubles(s.f, s.imag);
  }
  return nullptr;
}

PyObject* object_of(const program::Value& v, Storages storages, std::span<const Scalar> parameters) {
  return std::visit(
      Cases{[](std::monostate) { return Py_NewRef(Py_None); }, [](bool b) { return PyBool_FromLong(b); },
          [](int64_t i) { return PyLong_FromLongLong(i); }, [](double d) { return PyFloat_FromDouble(d); },
          [](const Scalar& s) { return number_object(s); },
          [](const std::string& s) { return PyUnicode_FromStringAndSize(s.data(), Py_ssize_t(s.size())); },
          [](DType t) { return dtype_object(t); }, [](Device d) { return device_object(d); },
          [](LayoutNumber l) { return layout_object(l.number); },
          [](MemoryFormat f) { return memory_format_object(f); },
          [](const Ref<Held>& h) { return Py_NewRef(static_cast<const HeldObject&>(*h).object); },
          [&](const List& l) { return list_object(l, storages, parameters); },
          [&](program::Parameter p) { return number_object(parameters[p.slot]); },
          [&](const TensorRef& r) { return wrap(tensor_of(r, storages)); }},
      v.is);
}

namespace program {

void run_step(const Step& step, Storages storages, std::span<const Scalar> parameters) {
  NoGrad off;
  WithoutAutocast no_casts;
  Bound b;
  b.reset(step.args.size());
  for (size_t i = 0; i < step.args.size(); ++i) b.set(i, owned(object_of(step.args[i], storages, parameters)).give());
  OwnedRef result = owned(call_operator(*step.op, b));
  std::vector<Tensor> tensors;
  if (!step.op->schema.returns.empty()) collect_tensors(result, tensors);
  CHECK(Kind::Runtime, tensors.size() == step.results.size(), step.op->full_name(), " gave ", tensors.size(),
      " tensors where its trace has ", step.results.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (step.results[i].storage >= 0) storages[size_t(step.results[i].storage)] = tensors[i]->storage();
}

}  // namespace program

}  // namespace shim
