// Triton kernels launched without Triton's Python: `kernel[grid](...)` of a kernel that was compiled for such arguments before goes
// to the driver from here. All else is stock Triton's, which compiles and launches; what it compiled is then remembered.
#include <cstddef>
#include <string>

#include "core/lazy_clone.h"
#include "cuda/device_failure.h"
#include "cuda/driver.h"
#include "python/object.h"
#include "python/triton_call.h"
#include "python/triton_record.h"
#include "python/owned_ref.h"

namespace shim::triton {

Settings settings;
long long fast = 0, slow = 0;

namespace {

// --- what Python gives (shim_torch_proxy/adapters/triton/dispatch.py) ------------------------------------------------------

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }
PyObject *const runtime_name = interned("runtime"), *const compilation_name = interned("compilation"),
                *const hooks_name = interned("pre_run_hooks"), *const debug_name = interned("debug"),
                *const caches_name = interned("device_caches");

// --- whether a record still says what stock Triton would do ---------------------------------------------------------------------

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

bool valid(const Record& r, PyObject* fn_dict, int device) {
  if (PyDict_GetItemWithError(dict_of(settings.driver), settings.active) != r.active ||
      PyDict_GetItemWithError(fn_dict, debug_name) != r.debug)
    return false;
  PyObject* hooks = PyDict_GetItemWithError(fn_dict, hooks_name);
  if (!hooks || !PyList_CheckExact(hooks) || PyList_GET_SIZE(hooks)) return false;
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

// --- launching -------------------------------------------------------------------------------------------------------------------

// 1 with the three numbers, 0 where stock Triton is to see it, -1 with a Python error of the caller's function.
int grid_of(PyObject* grid, const std::vector<Parameter>& parameters, const Call& call, unsigned* to) {
  OwnedRef made;
  if (!PyTuple_Check(grid) && !PyList_Check(grid)) {
    if (!PyCallable_Check(grid)) return 0;
    const OwnedRef bound{PyDict_New()};
    for (size_t i = 0; bound.o && i < parameters.size(); ++i)
      if (PyDict_SetItem(bound, parameters[i].name, call.values[i]) < 0) return -1;
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

union Value {
  void* pointer;
  int64_t word;
  float f;
  double d;
};

PyObject* launch(const Record& r, const Call& call, const unsigned* grid, int device) {
  if (grid[0] && grid[1] && grid[2]) {
    Value values[kMostParameters];
    void* arguments[kMostParameters + 2];
    size_t n = 0;
    for (const Launched& l : r.launched) {
      PyObject* o = call.values[l.parameter];
      Value& v = values[n];
      if (l.slot == Slot::pointer) {
        own_data(*unwrap(o)->storage());  // the kernel may write
        v.pointer = unwrap(o)->data();
      } else if (l.slot == Slot::f32)
        v.f = float(PyFloat_Check(o) ? PyFloat_AS_DOUBLE(o) : PyLong_AsDouble(o));
      else if (l.slot == Slot::f64)
        v.d = PyFloat_Check(o) ? PyFloat_AS_DOUBLE(o) : PyLong_AsDouble(o);
      else
        v.word = o == Py_True ? 1 : o == Py_False ? 0 : PyLong_AsLongLong(o);
      arguments[n++] = &v;
    }
    void* none = nullptr;  // scratch memory, global and of profiles: kernels that want some are not recorded
    arguments[n] = arguments[n + 1] = &none;
    if (PyErr_Occurred()) return nullptr;
    for (const Launched& l : r.launched)  // once more: to get an address may run what reads the memory
      if (l.slot == Slot::pointer) unwrap(call.values[l.parameter])->storage()->changed();
    cuda::OnDevice current(device);
    const int failed = cuda::driver().launch(r.function, grid[0], grid[1], grid[2], r.threads, 1, 1, r.shared,
        cuda::current_stream(device), arguments, nullptr);
    if (failed) {
      if (cuda::breaks_context(failed))
        return guarded([&]() -> PyObject* { cuda::raise_failure(failed, "cuLaunchKernel"); });
      const char* text = nullptr;
      cuda::driver().error_string(cuda::CUresult(failed), &text);
      PyErr_Format(PyExc_RuntimeError, "Triton Error [CUDA]: %s", text ? text : "unknown");
      return nullptr;
    }
  }
  return Py_NewRef(r.kernel);
}

// --- what stock Triton compiled ----------------------------------------------------------------------------------------------------

bool accepts(Slot slot, PyObject* o) {  // the key tells kinds apart: what fits now fits at every launch
  if (slot == Slot::pointer) return is_tensor(o);
  if (slot == Slot::f32 || slot == Slot::f64) return PyFloat_CheckExact(o) || PyLong_CheckExact(o);
  return PyLong_Check(o);
}

// (kept, kernel, function, threads, shared, ((parameter, slot), ...), debug or None, cache, compiled, active, ((name, value, dict), ...))
void remember(State* s, const Call& call, PyObject* fn, PyObject* kernel) {
  if (s->records.size() >= kMostRecords) return;
  PyObject* told = PyObject_CallFunctionObjArgs(settings.describe, fn, kernel, nullptr);
  if (!told || !PyTuple_Check(told)) {
    PyErr_Clear();
    Py_XDECREF(told);
    return;
  }
  auto at = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(told, i); };
  Record r;
  r.kernel = at(0);
  r.function = static_cast<cuda::CUfunction>(PyLong_AsVoidPtr(at(1)));
  r.threads = unsigned(PyLong_AsLong(at(2)));
  r.shared = unsigned(PyLong_AsLong(at(3)));
  bool ok = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(at(4)); ++i) {
    PyObject* pair = PyTuple_GET_ITEM(at(4), i);
    const Launched l{size_t(PyLong_AsLong(PyTuple_GET_ITEM(pair, 0))), Slot(PyLong_AsLong(PyTuple_GET_ITEM(pair, 1)))};
    ok = ok && l.parameter < s->parameters.size() && accepts(l.slot, call.values[l.parameter]);
    r.launched.push_back(l);
  }
  PyObject* dict = dict_of(fn);
  r.debug = dict ? PyDict_GetItemWithError(dict, debug_name) : nullptr;
  r.cache = at(5);
  r.compiled = at(6);
  r.active = at(7);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(at(8)); ++i) {
    PyObject* g = PyTuple_GET_ITEM(at(8), i);
    r.globals.push_back({PyTuple_GET_ITEM(g, 0), PyTuple_GET_ITEM(g, 1), PyTuple_GET_ITEM(g, 2)});
  }
  const OwnedRef constants{tuple_by(s->parameters.size(),  // keeps objects that the key has by address; no tensors
      [&](size_t i) { return Py_NewRef(s->parameters[i].constant ? call.values[i] : Py_None); })};
  r.kept = constants.o ? PyTuple_Pack(3, told, constants.o, r.debug ? r.debug : Py_None) : nullptr;
  Py_DECREF(told);
  if (PyErr_Occurred() || !ok || !r.kept) {
    PyErr_Clear();
    Py_XDECREF(r.kept);
    return;
  }
  auto [place, added] = s->records.try_emplace(std::string(call.bytes()), r);
  if (!added) {
    Py_DECREF(place->second.kept);
    place->second = r;
  }
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

}  // namespace

// `grid` is null for run(), which has it among its keywords.
PyObject* dispatch(PyObject* fn, PyObject* const* args, size_t n, PyObject* kwnames, PyObject* grid) {
  PyObject* dict = dict_of(fn);
  State* s = dict ? state_of(fn, dict) : nullptr;
  if (PyErr_Occurred()) PyErr_Clear();
  Call call;
  const int device = s ? cuda::current_device() : 0;
  bool known = s && bind_call(s->parameters, args, n, kwnames, device, &call);
  PyObject* shape = grid ? grid : call.grid;
  known = known && shape && (!call.warmup || call.warmup == Py_False);
  if (known) {
    const auto it = s->records.find(call.bytes());
    if (it != s->records.end() && plain_settings() && valid(it->second, dict, device)) {
      unsigned size[3];
      const int found = grid_of(shape, s->parameters, call, size);
      if (found < 0) return nullptr;
      if (found) {
        ++fast;
        return launch(it->second, call, size, device);
      }
      known = false;
    }
  }
  if (cuda::broken_devices && !guarded([] { return cuda::refuse_broken(cuda::current_device()), true; }))
    return nullptr;
  ++slow;
  PyObject* kernel = stock_run(fn, args, n, kwnames, grid);
  if (kernel && kernel != Py_None && known) remember(s, call, fn, kernel);
  return kernel;
}

}  // namespace shim::triton

namespace shim {

int bind_triton(PyObject* module) { return triton::make_state_type() < 0 ? -1 : triton::bind_launcher(module); }

}  // namespace shim
