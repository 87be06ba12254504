// Recorded operators and their programs, as functions of shim_torch._impl.native._core.
#include "python/dispatch.h"
#include "python/module_function.h"
#include "python/native_ops.h"
#include "python/owned_ref.h"
#include "program/replay.h"
#include "python/program_values.h"

namespace shim {

using namespace program;

namespace {

constexpr const char *kRecorder = "shim_torch.Recorder", *kProgram = "shim_torch.Program",
                     *kReplay = "shim_torch.Replay";

Recorder& recorder_of(PyObject* o) {
  auto* r = static_cast<Recorder*>(PyCapsule_GetPointer(o, kRecorder));
  if (!r) throw PythonError();
  return *r;
}

Scalar scalar_of(PyObject* o) {
  Scalar s;
  CHECK(Kind::Type, number_of(o, &s), "a program's parameter must be a number, not ", Py_TYPE(o)->tp_name);
  return s;
}

PyObject* recorder(PyObject*, PyObject*) {
  return guarded([&] {
    return PyCapsule_New(new Recorder, kRecorder,
        [](PyObject* o) { delete static_cast<Recorder*>(PyCapsule_GetPointer(o, kRecorder)); });
  });
}

PyObject* record_input(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (recorder, tensor)
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Type, n == 2 && is_tensor(args[1]), "record_input() expects a recorder and a tensor");
    recorder_of(args[0]).input(Tensor(unwrap(args[1])));
    Py_RETURN_NONE;
  });
}

PyObject* record_output(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (recorder, tensor)
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Type, n == 2 && is_tensor(args[1]), "record_output() expects a recorder and a tensor");
    recorder_of(args[0]).output(Tensor(unwrap(args[1])));
    Py_RETURN_NONE;
  });
}

PyObject* record_parameter(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (recorder, argument, number)
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Type, n == 3 && PyLong_Check(args[1]), "record_parameter() expects a recorder, an index and a number");
    recorder_of(args[0]).to_parameter(PyLong_AsSize_t(args[1]), scalar_of(args[2]));
    Py_RETURN_NONE;
  });
}

// (recorder, name, overload, *args, **kwargs): runs the operator and records it.
PyObject* record_step(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Type, nargs >= 3, "record_step() expects a recorder, an operator's name and its overload");
    Recorder& recorder = recorder_of(args[0]);
    const char *name = utf8(args[1]), *overload = utf8(args[2]);
    Operator* op = find_operator(name, overload);
    CHECK(Kind::Attribute, op, "record_step(): no operator ", name, ".", overload);
    const CallArgs given{args + 3, size_t(nargs - 3), kwnames};
    Bound b;
    Failure failure;
    binding_name = name;
    if (bind_one(*op, Form::op, given, b, failure) != Fit::yes) {
      if (!PyErr_Occurred()) set_binding_error({op}, name, Form::op, given);
      throw PythonError();
    }
    std::vector<Tensor> results;
    List values = values_of(recorder, b.data(), b.size());
    NoGrad off;
    OwnedRef result = owned(call_operator(*op, b));
    if (!op->schema.returns.empty()) collect_tensors(result, results);
    if (op->kind != Operator::View) recorder.step(*op, std::move(values), results);
    return result.give();
  });
}

std::vector<Scalar> numbers_of(PyObject* numbers) {
  std::vector<Scalar> all;
  OwnedRef list = owned(PySequence_Fast(numbers, "expected a sequence of numbers"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.o); ++i)
    all.push_back(scalar_of(PySequence_Fast_GET_ITEM(list.o, i)));
  return all;
}

Program& program_of(PyObject* o) {
  auto* p = static_cast<Program*>(PyCapsule_GetPointer(o, kProgram));
  if (!p) throw PythonError();
  return *p;
}

// (recorder): of what it has recorded until now.
PyObject* compile_program(PyObject*, PyObject* recorder) {
  return guarded([&] {
    return PyCapsule_New(make<Program>(recorder_of(recorder).steps()).detach(), kProgram,
        [](PyObject* o) { static_cast<Program*>(PyCapsule_GetPointer(o, kProgram))->release(); });
  });
}

PyObject* program_source(PyObject*, PyObject* program) {
  return guarded([&]() -> PyObject* { return module_call::object(program_of(program).source()); });
}

// (program, architecture): what the CUDA compiler says of the groups' kernels, a text a group that CUDA has all functors for.
PyObject* compile_groups(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Type, n == 2, "compile_groups() expects a program and an architecture");
    OwnedRef logs = owned(PyList_New(0));
    for (const Item& item : program_of(args[0]).items()) {
      if (!item.group || !computed_on_cuda(*item.group)) continue;
      OwnedRef text = owned(module_call::object(compile_group(*item.group, int(PyLong_AsLong(args[1])))));
      if (PyList_Append(logs, text) < 0) return nullptr;
    }
    return logs.give();
  });
}

// (recorder, inputs, numbers, outputs): the outputs are tensors of the recording, whose geometry the run's results get.
template <class Run> PyObject* run_with(PyObject* const* args, Py_ssize_t n, Run&& run) {
  CHECK(Kind::Type, n == 4, "expected a recorder, tensors, numbers and outputs");
  Recorder& recorder = recorder_of(args[0]);
  std::vector<Tensor> inputs, outputs, results;
  collect_tensors(args[1], inputs);
  collect_tensors(args[3], outputs);
  const Steps& steps = recorder.steps();
  std::vector<Ref<Storage>> storages(steps.storages.size());
  for (size_t i = 0, at = 0; i < storages.size(); ++i)
    if (steps.storages[i].origin == StorageSlot::input) {
      CHECK(Kind::Runtime, at < inputs.size(), "a program got too few tensors");
      storages[i] = inputs[at++]->storage();
    }
  run(steps, Storages(storages), numbers_of(args[2]));
  for (const Tensor& t : outputs) results.push_back(tensor_of(recorder.ref(t), storages));
  return list_of(results);
}

PyObject* run_recorded_steps(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return guarded([&] {
    return run_with(args, n, [](const Steps& steps, Storages storages, const std::vector<Scalar>& numbers) {
      run_steps(steps, storages, numbers);
    });
  });
}

PyObject* run_program(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (program, recorder, ...)
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Type, n == 5, "run_program() expects a program, a recorder, tensors, numbers and outputs");
    return run_with(args + 1, n - 1, [&](const Steps&, Storages storages, const std::vector<Scalar>& numbers) {
      program_of(args[0]).run(storages, numbers);
    });
  });
}

Replay& replay_of(PyObject* o) {
  auto* r = static_cast<Replay*>(PyCapsule_GetPointer(o, kReplay));
  if (!r) throw PythonError();
  return *r;
}

PyObject* make_replay(PyObject*, PyObject* program) {
  return guarded([&] {
    return PyCapsule_New(make<Replay>(Ref<Program>(&program_of(program))).detach(), kReplay,
        [](PyObject* o) { static_cast<Replay*>(PyCapsule_GetPointer(o, kReplay))->release(); });
  });
}

PyObject* run_replay(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (replay, recorder, ...)
  return guarded([&]() -> PyObject* {
    CHECK(Kind::Type, n == 5, "run_replay() expects a replay, a recorder, tensors, numbers and outputs");
    return run_with(args + 1, n - 1, [&](const Steps&, Storages storages, const std::vector<Scalar>& numbers) {
      replay_of(args[0]).run(storages, numbers);
    });
  });
}

PyObject* replay_counts(PyObject*, PyObject* replay) {
  return guarded([&]() -> PyObject* {
    const Replay& r = replay_of(replay);
    const Replay::Counts& c = r.counts();
    return Py_BuildValue("{sKsKsKsKss}", "plain", c.plain, "captured", c.captured, "replayed", c.replayed, "copied",
        c.copied, "why_not", r.why_not().c_str());
  });
}

PyMethodDef functions[] = {{"make_replay", make_replay, METH_O, "A program that runs as one CUDA graph."},
    {"run_replay", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(run_replay)), METH_FASTCALL,
        "Runs it: (replay, recorder, inputs, numbers, outputs)."},
    {"replay_counts", replay_counts, METH_O, "How its calls ran, and why not as a graph."},
    {"recorder", recorder, METH_NOARGS, "A recorder of operators."},
    {"record_input", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(record_input)), METH_FASTCALL,
        "The tensor is what a call brings."},
    {"record_output", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(record_output)), METH_FASTCALL,
        "The tensor is a result."},
    {"record_parameter", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(record_parameter)), METH_FASTCALL,
        "An argument of the last step is a number that a call brings."},
    {"record_step", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(record_step)), METH_FASTCALL | METH_KEYWORDS,
        "Runs an operator and records it: (recorder, name, overload, *args, **kwargs)."},
    {"run_steps", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(run_recorded_steps)), METH_FASTCALL,
        "Runs what was recorded, operator after operator: (recorder, inputs, numbers, outputs)."},
    {"compile_groups", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(compile_groups)), METH_FASTCALL,
        "What the CUDA compiler says of a program's groups: (program, architecture)."},
    {"compile_program", compile_program, METH_O, "A program of what a recorder has."},
    {"program_source", program_source, METH_O, "The program as text, a line for each kernel and call."},
    {"run_program", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(run_program)), METH_FASTCALL,
        "Runs a program: (program, recorder, inputs, numbers, outputs)."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

int bind_program(PyObject* module) { return PyModule_AddFunctions(module, functions); }

}  // namespace shim
