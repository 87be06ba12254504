// Triton kernels launched without Triton's Python: `kernel[grid](...)` of a kernel that was compiled for such arguments before goes
// to the driver from here. All else is stock Triton's, which compiles and launches; what it compiled is then remembered.
#include <cstddef>
#include <cstring>
#include <string>
#include <unordered_map>

#include "core/lazy_clone.h"
#include "cuda/driver.h"
#include "python/object.h"
#include "python/triton_call.h"

#include <structmember.h>

namespace shim::triton {
namespace {

// --- what Python gives (shim_torch_proxy/adapters/triton/dispatch.py) ------------------------------------------------------

struct Settings {
  PyObject *describe = nullptr, *stock = nullptr, *parameters = nullptr, *knobs = nullptr, *active = nullptr,
           *driver = nullptr;
  PyObject* hooks = nullptr;  // a tuple of the lists of launch hooks, empty as long as there are none
  PyObject *runtime_names = nullptr, *compilation_names = nullptr;
};
Settings settings;
long long fast = 0, slow = 0;

PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }
PyObject *const state_name = interned("_shim_state"), *const runtime_name = interned("runtime"),
                *const compilation_name = interned("compilation"), *const hooks_name = interned("pre_run_hooks"),
                *const debug_name = interned("debug"), *const caches_name = interned("device_caches");

// --- a compiled kernel -------------------------------------------------------------------------------------------------------

enum class Slot : char { pointer, i8, i16, i32, i64, f32, f64 };
struct Launched {
  size_t parameter;
  Slot slot;
};
struct Global {
  PyObject *name, *value, *dict;
};
struct Record {
  PyObject* kept = nullptr;  // owns all that follows, and the objects whose addresses are in the key
  PyObject *kernel = nullptr, *debug = nullptr, *cache = nullptr, *compiled = nullptr, *active = nullptr;
  cuda::CUfunction function = nullptr;
  unsigned threads = 0, shared = 0;
  std::vector<Launched> launched;
  std::vector<Global> globals;
};

struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
struct State {  // of one JITFunction; in its dict
  PyObject_HEAD std::vector<Parameter>* parameters;
  std::unordered_map<std::string, Record, Hash, std::equal_to<>>* records;
};
constexpr size_t kMostRecords = 4096;

int state_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  auto* s = reinterpret_cast<State*>(self);
  for (Parameter& p : *s->parameters) Py_VISIT(p.fallback);
  for (auto& [key, r] : *s->records) Py_VISIT(r.kept);
  return 0;
}
int state_clear(PyObject* self) {
  std::unordered_map<std::string, Record, Hash, std::equal_to<>> gone;
  gone.swap(*reinterpret_cast<State*>(self)->records);
  for (auto& [key, r] : gone) Py_XDECREF(r.kept);
  for (Parameter& p : *reinterpret_cast<State*>(self)->parameters) Py_CLEAR(p.fallback);
  return 0;
}
void state_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* s = reinterpret_cast<State*>(self);
  for (Parameter& p : *s->parameters) {
    Py_XDECREF(p.name);
    Py_XDECREF(p.fallback);
  }
  for (auto& [key, r] : *s->records) Py_XDECREF(r.kept);
  delete s->parameters;
  delete s->records;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}
PyType_Slot state_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(state_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(state_traverse)}, {Py_tp_clear, reinterpret_cast<void*>(state_clear)},
    {0, nullptr}};
PyType_Spec state_spec{"shim_torch._impl.native._core.TritonState", sizeof(State), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, state_slots};
PyTypeObject* StateType = nullptr;

PyObject* dict_of(PyObject* o) {  // borrowed
  PyObject** at = _PyObject_GetDictPtr(o);
  if (at && *at) return *at;
  PyObject* made = PyObject_GenericGetDict(o, nullptr);
  if (!made) PyErr_Clear();
  Py_XDECREF(made);
  return made;
}

// [(name, constexpr, has default, default), ...] from Python; null without an error where stock Triton is to be left alone.
State* state_of(PyObject* fn, PyObject* dict) {
  if (PyObject* known = PyDict_GetItemWithError(dict, state_name))
    return Py_TYPE(known) == StateType ? reinterpret_cast<State*>(known) : nullptr;
  PyObject* list = PyObject_CallOneArg(settings.parameters, fn);
  if (!list) return nullptr;
  auto* s = PyObject_GC_New(State, StateType);
  s->parameters = new std::vector<Parameter>();
  s->records = new std::unordered_map<std::string, Record, Hash, std::equal_to<>>();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    PyObject* name = Py_NewRef(PyTuple_GET_ITEM(item, 0));
    PyUnicode_InternInPlace(&name);
    PyObject* fallback = PyTuple_GET_ITEM(item, 2) == Py_True ? Py_NewRef(PyTuple_GET_ITEM(item, 3)) : nullptr;
    s->parameters->push_back({name, fallback, PyTuple_GET_ITEM(item, 1) == Py_True});
  }
  Py_DECREF(list);
  PyObject_GC_Track(reinterpret_cast<PyObject*>(s));
  const int stored = PyDict_SetItem(dict, state_name, reinterpret_cast<PyObject*>(s));
  Py_DECREF(s);
  return stored < 0 ? nullptr : s;
}

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
  PyObject* made = nullptr;
  if (!PyTuple_Check(grid) && !PyList_Check(grid)) {
    if (!PyCallable_Check(grid)) return 0;
    PyObject* bound = PyDict_New();
    for (size_t i = 0; bound && i < parameters.size(); ++i)
      if (PyDict_SetItem(bound, parameters[i].name, call.values[i]) < 0) Py_CLEAR(bound);
    made = bound ? PyObject_CallOneArg(grid, bound) : nullptr;
    Py_XDECREF(bound);
    if (!made) return -1;
    grid = made;
  }
  int found = 0;
  if (PyTuple_Check(grid) || PyList_Check(grid)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(grid);
    to[0] = to[1] = to[2] = 1;
    found = n > 0;
    for (Py_ssize_t i = 0; found && i < n && i < 3; ++i) {
      PyObject* o = PySequence_Fast_GET_ITEM(grid, i);
      int overflow = 0;
      const long long value = PyLong_Check(o) ? PyLong_AsLongLongAndOverflow(o, &overflow) : -1;
      if (value < 0 || overflow || value > INT32_MAX)
        found = 0;
      else
        to[i] = unsigned(value);
    }
  }
  Py_XDECREF(made);
  return found;
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
    cuda::OnDevice current(device);
    const int failed = cuda::driver().launch(r.function, grid[0], grid[1], grid[2], r.threads, 1, 1, r.shared,
        cuda::current_stream(device), arguments, nullptr);
    if (failed) {
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
  if (s->records->size() >= kMostRecords) return;
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
    ok = ok && l.parameter < s->parameters->size() && accepts(l.slot, call.values[l.parameter]);
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
  PyObject* constants =
      PyTuple_New(Py_ssize_t(s->parameters->size()));  // keeps objects that the key has by address; no tensors
  for (size_t i = 0; constants && i < s->parameters->size(); ++i)
    PyTuple_SET_ITEM(constants, Py_ssize_t(i), Py_NewRef((*s->parameters)[i].constant ? call.values[i] : Py_None));
  r.kept = constants ? PyTuple_Pack(3, told, constants, r.debug ? r.debug : Py_None) : nullptr;
  Py_XDECREF(constants);
  Py_DECREF(told);
  if (PyErr_Occurred() || !ok || !r.kept) {
    PyErr_Clear();
    Py_XDECREF(r.kept);
    return;
  }
  auto [place, added] = s->records->try_emplace(std::string(call.bytes()), r);
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
  PyObject* names = PyTuple_New(named + 2);
  if (!names) return nullptr;
  for (Py_ssize_t i = 0; i < named; ++i) PyTuple_SET_ITEM(names, i, Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
  PyTuple_SET_ITEM(names, named, interned("grid"));
  PyTuple_SET_ITEM(names, named + 1, interned("warmup"));
  PyObject* result = PyObject_Vectorcall(settings.stock, all.data(), n + 1, names);
  Py_DECREF(names);
  return result;
}

// `grid` is null for run(), which has it among its keywords.
PyObject* dispatch(PyObject* fn, PyObject* const* args, size_t n, PyObject* kwnames, PyObject* grid) {
  PyObject* dict = dict_of(fn);
  State* s = dict ? state_of(fn, dict) : nullptr;
  if (PyErr_Occurred()) PyErr_Clear();
  Call call;
  const int device = s ? cuda::current_device() : 0;
  bool known = s && bind_call(*s->parameters, args, n, kwnames, device, &call);
  PyObject* shape = grid ? grid : call.grid;
  known = known && shape && (!call.warmup || call.warmup == Py_False);
  if (known) {
    const auto it = s->records->find(call.bytes());
    if (it != s->records->end() && plain_settings() && valid(it->second, dict, device)) {
      unsigned size[3];
      const int found = grid_of(shape, *s->parameters, call, size);
      if (found < 0) return nullptr;
      if (found) {
        ++fast;
        return launch(it->second, call, size, device);
      }
      known = false;
    }
  }
  ++slow;
  PyObject* kernel = stock_run(fn, args, n, kwnames, grid);
  if (kernel && kernel != Py_None && known) remember(s, call, fn, kernel);
  return kernel;
}

// --- kernel[grid], kernel.run --------------------------------------------------------------------------------------------------------

struct Launcher {
  PyObject_HEAD vectorcallfunc call;
  PyObject *fn, *grid;
};
Launcher* spare = nullptr;  // `kernel[grid](...)` makes one and drops it

PyObject* launcher_call(PyObject* self, PyObject* const* args, size_t n, PyObject* kwnames) {
  auto* l = reinterpret_cast<Launcher*>(self);
  return guarded([&] { return dispatch(l->fn, args, size_t(PyVectorcall_NARGS(n)), kwnames, l->grid); });
}
int launcher_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<Launcher*>(self)->fn);
  Py_VISIT(reinterpret_cast<Launcher*>(self)->grid);
  return 0;
}
int launcher_clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Launcher*>(self)->fn);
  Py_CLEAR(reinterpret_cast<Launcher*>(self)->grid);
  return 0;
}
void launcher_dealloc(PyObject* self) {
  auto* l = reinterpret_cast<Launcher*>(self);
  PyObject_GC_UnTrack(self);
  launcher_clear(self);
  if (!spare) {
    spare = l;
    return;
  }
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}
PyMemberDef launcher_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Launcher, call), READONLY, nullptr}, {nullptr, 0, 0, 0, nullptr}};
PyType_Slot launcher_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(launcher_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(launcher_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(launcher_clear)}, {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, launcher_members}, {0, nullptr}};
PyType_Spec launcher_spec{"shim_torch._impl.native._core.TritonLauncher", sizeof(Launcher), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    launcher_slots};
PyTypeObject* LauncherType = nullptr;

PyObject* getitem(PyObject*, PyObject* const* args, Py_ssize_t n) {  // (fn, grid)
  if (n != 2) return PyErr_Format(PyExc_TypeError, "__getitem__ takes a grid");
  Launcher* l = spare;
  if (l) {
    spare = nullptr;
    _Py_NewReference(reinterpret_cast<PyObject*>(l));
  } else {
    l = PyObject_GC_New(Launcher, LauncherType);
    if (!l) return nullptr;
    l->call = launcher_call;
  }
  l->fn = Py_NewRef(args[0]);
  l->grid = Py_NewRef(args[1]);
  PyObject_GC_Track(reinterpret_cast<PyObject*>(l));
  return reinterpret_cast<PyObject*>(l);
}

PyObject* run(
    PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {  // (fn, *args, grid=, warmup=, **options)
  if (n < 1) return PyErr_Format(PyExc_TypeError, "run takes a kernel");
  return guarded([&] { return dispatch(args[0], args + 1, size_t(n - 1), kwnames, nullptr); });
}

PyMethodDef getitem_def{
    "__getitem__", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(getitem)), METH_FASTCALL, "kernel[grid]"};
PyMethodDef run_def{"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(run)), METH_FASTCALL | METH_KEYWORDS,
    "kernel.run(*args, grid=, warmup=)"};

// triton_dispatch(**settings) -> (__getitem__, run), methods of JITFunction
PyObject* setup(PyObject*, PyObject* args) {
  Settings s;
  if (!PyArg_ParseTuple(args, "OOOO!OUO!O!O!", &s.describe, &s.stock, &s.parameters, &PyDict_Type, &s.knobs, &s.driver,
          &s.active, &PyTuple_Type, &s.hooks, &PyTuple_Type, &s.runtime_names, &PyTuple_Type, &s.compilation_names))
    return nullptr;
  for (PyObject* o :
      {s.describe, s.stock, s.parameters, s.knobs, s.driver, s.active, s.hooks, s.runtime_names, s.compilation_names})
    Py_INCREF(o);
  settings = s;  // kept for ever: kernels are launched until the process ends
  PyObject *a = PyCFunction_New(&getitem_def, nullptr), *b = PyCFunction_New(&run_def, nullptr);
  PyObject *item = a ? PyInstanceMethod_New(a) : nullptr, *runs = b ? PyInstanceMethod_New(b) : nullptr;
  Py_XDECREF(a);
  Py_XDECREF(b);
  return item && runs ? Py_BuildValue("(NN)", item, runs) : nullptr;
}

PyObject* counts(PyObject*, PyObject*) { return Py_BuildValue("{sLsL}", "fast", fast, "slow", slow); }

PyMethodDef functions[] = {
    {"triton_dispatch", setup, METH_VARARGS, "The methods that launch Triton's kernels from here."},
    {"triton_launches", counts, METH_NOARGS, "How many launches went from here, and how many through stock Triton."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace
}  // namespace shim::triton

namespace shim {

int bind_triton(PyObject* module) {
  triton::StateType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&triton::state_spec));
  triton::LauncherType = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&triton::launcher_spec));
  return triton::StateType && triton::LauncherType ? PyModule_AddFunctions(module, triton::functions) : -1;
}

}  // namespace shim
