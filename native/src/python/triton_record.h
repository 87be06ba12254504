#pragma once
// What is kept of a Triton kernel that stock Triton has compiled and launched once.
#include <cstddef>
#include <string>
#include <unordered_map>

#include "cuda/compiled_kernel.h"
#include "python/object.h"
#include "python/triton_call.h"
#include "trace/session.h"

namespace shim::triton {

struct Settings {
  PyObject *describe = nullptr, *stock = nullptr, *parameters = nullptr, *knobs = nullptr, *active = nullptr,
           *driver = nullptr;
  PyObject* hooks = nullptr;  // a tuple of the lists of launch hooks, empty as long as there are none
  PyObject *runtime_names = nullptr, *compilation_names = nullptr;
};
extern Settings settings;
extern long long fast, slow;  // launches from here, and through stock Triton

struct Global {
  PyObject *name, *value, *dict;
};
struct Record {
  PyObject* kept = nullptr;  // owns all that follows, and the objects whose addresses are in the key
  PyObject *kernel = nullptr, *debug = nullptr, *cache = nullptr, *compiled = nullptr, *active = nullptr;
  cuda::CompiledKernel code;
  std::vector<size_t> launched;  // the parameters that its arguments are of
  Operator* op = nullptr;        // that stands for launches of it, once a compiled function had one
  std::vector<Global> globals;
};

struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
struct State {  // of one JITFunction; in its dict
  PyObject_HEAD std::vector<Parameter> parameters;
  std::unordered_map<std::string, Record, Hash, std::equal_to<>> records;
};
constexpr size_t kMostRecords = 4096;

PyObject* dict_of(PyObject*);  // an object's __dict__, borrowed; null without an error where it has none
// Of a JITFunction with its dict; null without an error where stock Triton is to be left alone (triton_state.cpp).
State* state_of(PyObject* fn, PyObject* dict);
int make_state_type();
// A launch, from here or through stock Triton (triton_launch.cpp). `grid` null: it is among the arguments.
PyObject* dispatch(PyObject* fn, PyObject* const* args, size_t n, PyObject* kwnames, PyObject* grid);
// Values of a launch's arguments: they live as long as the call.
void put_values(const Record&, const Call&, Value* to);
// The same, of a known kernel, while a compiled function runs: deferred where its tree knows the launch (triton_trace.cpp).
PyObject* launch_traced(trace::Session&, Record&, const std::vector<Parameter>&, const Call&, const unsigned* grid);
// It was launched by stock Triton with these arguments; null: that gave nothing to remember.
void launched_at_once(trace::Session&, Record*, const std::vector<Parameter>&, const Call&,
    const std::vector<PyObject*>& args, const unsigned* grid);
int bind_launcher(PyObject* module);  // triton_launcher.cpp

}  // namespace shim::triton
