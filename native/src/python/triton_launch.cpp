// Triton kernels launched without Triton's Python: `kernel[grid](...)` of a kernel that was compiled for such arguments before goes
// to the driver from here. All else is stock Triton's, which compiles and launches; what it compiled is then remembered.
#include <algorithm>

#include "cuda/device_failure.h"
#include "python/triton.h"
#include "trace/calls.h"

namespace shim::triton {

Settings settings;
int64_t fast = 0, slow = 0;

namespace {

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }
PyObject *const runtime_name = interned("runtime"), *const compilation_name = interned("compilation"),
                *const hooks_name = interned("pre_run_hooks"), *const debug_name = interned("debug"),
                *const caches_name = interned("device_caches");

bool none_of(PyObject* module_dict, PyObject* part, PyObject* names) {
  PyObject* knobs = PyDict_GetItemWithError(module_dict, part);
  PyObject* own = knobs ? dict_of(knobs) : nullptr;
  if (!own) return false;
  if (PyDict_GET_SIZE(own) == 0) return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    if (PyDict_GetItemWithError(own, PyTuple_GET_ITEM(names, i))) return false;
  return true;
}

// No hook, and no setting made in the process that stock Triton reads at a launch.
bool plain_settings() {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(settings.hooks); ++i)
    if (PyList_GET_SIZE(PyTuple_GET_ITEM(settings.hooks, i))) return false;
  return none_of(settings.knobs, runtime_name, settings.runtime_names) &&
         none_of(settings.knobs, compilation_name, settings.compilation_names);
}

bool has_hooks(PyObject* fn_dict) {
  PyObject* hooks = PyDict_GetItemWithError(fn_dict, hooks_name);
  return !hooks || !PyList_CheckExact(hooks) || PyList_GET_SIZE(hooks);
}

bool valid(const Record& r, PyObject* fn_dict, int device) {
  if (PyDict_GetItemWithError(dict_of(settings.driver), settings.active) != r.active || has_hooks(fn_dict) ||
      PyDict_GetItemWithError(fn_dict, debug_name) != r.debug)
    return false;
  static PyObject* numbers[16];
  if (device >= 16) return false;
  if (!numbers[device]) numbers[device] = PyLong_FromLong(device);
  PyObject* caches = PyDict_GetItemWithError(fn_dict, caches_name);
  if (!caches || PyDict_GetItemWithError(caches, numbers[device]) != r.cache || !PyDict_GET_SIZE(r.compiled))
    return false;
  for (const Global& g : r.globals)
    if (PyDict_GetItemWithError(g.dict, g.name) != g.value) return false;
  return true;
}

// 1 with the three numbers, 0 where stock Triton is to see it, -1 with a Python error of the caller's function.
int grid_of(PyObject* grid, const std::vector<Parameter>& parameters, const Call& call, unsigned* to) {
  OwnedRef made;
  if (!PyTuple_Check(grid) && !PyList_Check(grid)) {
    if (!PyCallable_Check(grid)) return 0;
    const OwnedRef bound{PyDict_New()};
    for (size_t i = 0; bound.o && i < parameters.size(); ++i)
      if (PyDict_SetItem(bound, parameters[i].name, call.objects[i]) < 0) return -1;
    grid = made.o = bound.o ? PyObject_CallOneArg(grid, bound) : nullptr;
    if (!grid) return -1;
    if (!PyTuple_Check(grid) && !PyList_Check(grid)) return 0;
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(grid);
  to[0] = to[1] = to[2] = 1;
  for (Py_ssize_t i = 0; i < n && i < 3; ++i) {
    PyObject* o = PySequence_Fast_GET_ITEM(grid, i);
    int overflow = 0;
    const long long value = PyLong_Check(o) ? PyLong_AsLongLongAndOverflow(o, &overflow) : -1;
    if (value < 0 || overflow || value > INT32_MAX) return 0;
    to[i] = unsigned(value);
  }
  return n > 0;
}

PyObject* launch_now(const Record& r, const Call& call, const unsigned* grid) {
  ValueRoom room;  // as many as it has, no more are made
  Value* const values = room.take(r.launch.places.size());
  r.launch.put(call.values, values);
  return guarded([&] {
    cuda::launch(r.launch.code, grid, values);
    return Py_NewRef(r.kernel);
  });
}

// It may be deferred, and its kernel then be an operator's for ever.
trace::KnownLaunch& traced_launch(Record& r, const std::vector<Parameter>& parameters) {
  r.launch.as_operator([&](size_t place) { return std::string(utf8(parameters[place].name)); }, r.kept.o);
  return r.launch;
}

// (kernel, what read_kernel takes, what read_parameters takes, cache, compiled, active, ((name, value, dict), ...)) of a kernel that stock
// Triton launched. What is kept of it; null: nothing. No Python error is left.
Record* remember(State* s, const Call& call, PyObject* fn, PyObject* kernel, int device) {
  if (s->records.size() >= kMostRecords) return nullptr;
  Record* kept = guarded([&]() -> Record* {
    const OwnedRef told = owned(PyObject_CallFunctionObjArgs(settings.describe, fn, kernel, nullptr));
    if (!PyTuple_Check(told)) return nullptr;
    const auto at = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(told.o, i); };
    Record r{.kernel = at(0), .cache = at(3), .compiled = at(4), .active = at(5)};
    Values values;
    r.launch.code.device = device;
    if (!cuda::read_kernel(values.of(at(1)), r.launch.code) ||
        !cuda::read_parameters(values.of(at(2)), {call.values, s->parameters.size()}, r.launch.code, r.launch.places))
      return nullptr;
    PyObject* dict = dict_of(fn);
    r.debug = dict ? PyDict_GetItemWithError(dict, debug_name) : nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(at(6)); ++i) {
      PyObject* g = PyTuple_GET_ITEM(at(6), i);
      r.globals.push_back({PyTuple_GET_ITEM(g, 0), PyTuple_GET_ITEM(g, 1), PyTuple_GET_ITEM(g, 2)});
    }
    const OwnedRef constants = owned(tuple_by(s->parameters.size(),  // keeps what the key has by address; no tensors
        [&](size_t i) { return Py_NewRef(s->parameters[i].constant ? call.objects[i] : Py_None); }));
    r.kept = owned(PyTuple_Pack(3, told.o, constants.o, r.debug ? r.debug : Py_None));
    if (PyErr_Occurred()) throw PythonError();
    return &(s->records[std::string(call.key.bytes())] = std::move(r));
  });
  PyErr_Clear();
  return kept;
}

// fn.run(*args, grid=grid, warmup=warmup, **kwargs) of stock Triton.
PyObject* stock_run(PyObject* fn, PyObject* const* args, size_t n, PyObject* kwnames, PyObject* grid) {
  const Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  std::vector<PyObject*> all{fn};
  all.insert(all.end(), args, args + n + size_t(named));
  if (!grid) return PyObject_Vectorcall(settings.stock, all.data(), n + 1, kwnames);  // they are among the keywords
  all.push_back(grid);
  all.push_back(Py_False);
  const OwnedRef names{tuple_by(size_t(named) + 2, [&](size_t i) {
    return Py_ssize_t(i) < named ? Py_NewRef(PyTuple_GET_ITEM(kwnames, i))
                                 : interned(Py_ssize_t(i) == named ? "grid" : "warmup");
  })};
  return names.o ? PyObject_Vectorcall(settings.stock, all.data(), n + 1, names) : nullptr;
}

// Stock Triton launches; nothing of what it calls is traced. It gets addresses for the launch alone, but for hooks, which may keep them.
PyObject* launch_stock(
    PyObject* fn, PyObject* dict, PyObject* const* args, size_t n, PyObject* kwnames, PyObject* grid, bool traced) {
  if (cuda::broken_devices && !guarded([] { return cuda::refuse_broken(cuda::current_device()), true; }))
    return nullptr;
  ++slow;
  trace::inside_traced += traced;
  const bool before = std::exchange(Storage::borrows_addresses, dict && plain_settings() && !has_hooks(dict));
  PyObject* kernel = stock_run(fn, args, n, kwnames, grid);
  Storage::borrows_addresses = before;
  trace::inside_traced -= traced;
  return kernel;
}

}  // namespace

// `grid` is null for run(), which has it among its keywords.
PyObject* dispatch(PyObject* fn, PyObject* const* args, size_t n, PyObject* kwnames, PyObject* grid) {
  PyObject* dict = dict_of(fn);
  State* s = dict ? state_of(fn, dict) : nullptr;
  if (PyErr_Occurred()) PyErr_Clear();
  Call call;
  const int device = s ? cuda::current_device() : 0;
  bool known = s && call.bind(s->parameters, args, n, kwnames, device);
  PyObject* shape = grid ? grid : call.grid;
  known = known && shape && (!call.warmup || call.warmup == Py_False);
  const size_t all = n + size_t(kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  trace::Session* traced = __builtin_expect(tracing, 0) ? trace::tracing_here(Values(args, all).data(), all) : nullptr;
  unsigned size[kGrid];
  Record* kept = nullptr;
  if (known)
    if (const auto it = s->records.find(call.key.bytes());
        it != s->records.end() && plain_settings() && valid(it->second, dict, device))
      kept = &it->second;
  if (kept || (traced && known)) {
    const int found = grid_of(shape, s->parameters, call, size);
    if (found < 0) return nullptr;
    known = found;
  }
  if (kept && known) {
    ++fast;
    if (!traced) return launch_now(*kept, call, size);
    return guarded([&] {
      trace::launch(*traced, traced_launch(*kept, s->parameters), size, call.values);
      return Py_NewRef(kept->kernel);
    });
  }
  std::vector<PyObject*> given(args, args + all);
  OwnedRef sizes;
  if (traced && known) {  // its grid was asked for, and is known from here on
    sizes.o = Py_BuildValue("III", size[0], size[1], size[2]);
    if (!grid) std::ranges::replace(given, shape, sizes.o);
  }
  if (traced) trace::before_untraced(Values(args, all).data(), all);
  OwnedRef kernel{launch_stock(fn, dict, given.data(), n, kwnames, grid && sizes.o ? sizes.o : grid, traced)};
  Record* r = kernel.o && kernel.o != Py_None && known ? remember(s, call, fn, kernel, device) : nullptr;
  return guarded([&] {
    if (traced && kernel.o) {
      auto* const launched = r ? &traced_launch(*r, s->parameters) : nullptr;
      trace::learn_launched(*traced, launched, size, r ? call.values : Values(args, all).data(), all);
    }
    return kernel.give();
  });
}

}  // namespace shim::triton

namespace shim {

int bind_triton(PyObject*) { return triton::make_state_type() < 0 ? -1 : triton::make_launcher_type(); }

}  // namespace shim
