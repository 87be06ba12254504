#pragma once
// Between the files that launch Triton's kernels: a call, and what is kept of a kernel that stock Triton compiled and launched once.
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/launch_key.h"
#include "python/owned_ref.h"
#include "python/values.h"
#include "trace/launches.h"

namespace shim::triton {

struct Settings {
  PyObject *describe = nullptr, *stock = nullptr, *parameters = nullptr, *knobs = nullptr, *driver = nullptr,
           *active = nullptr;
  PyObject* hooks = nullptr;  // a tuple of the lists of launch hooks, empty as long as there are none
  PyObject *runtime_names = nullptr, *compilation_names = nullptr;
};
extern Settings settings;
extern int64_t fast, slow;  // launches from here, and through stock Triton

struct Parameter {
  PyObject* name = nullptr;      // interned
  PyObject* fallback = nullptr;  // null: must be given
  bool constant = false;         // tl.constexpr
};

using cuda::kGrid, cuda::kMostParameters;

// Arguments by parameter, borrowed; what is given beyond them are options (num_warps, ...).
struct Call {
  PyObject* objects[kMostParameters] = {};
  union {
    Value values[kMostParameters];  // of the first, as many as there are parameters
  };
  PyObject *grid = nullptr, *warmup = nullptr;  // of run(..., grid=, warmup=)
  cuda::LaunchKey key;                          // whoever keeps it keeps the constants: it has addresses of some

  Call() {}
  // False where stock Triton must answer: a call that does not fit the signature, an argument of a kind that is not known here, a
  // tensor that is not on CUDA. No Python error is left.
  bool bind(const std::vector<Parameter>&, PyObject* const* args, size_t n, PyObject* kwnames, int device);

 private:
  Value value_of(PyObject*);
  Values room_;
};

struct Global {
  PyObject *name, *value, *dict;
};
struct Record {
  OwnedRef kept;  // owns all that follows, and the objects whose addresses are in the key
  PyObject *kernel = nullptr, *debug = nullptr, *cache = nullptr, *compiled = nullptr, *active = nullptr;
  trace::KnownLaunch launch;
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
int make_launcher_type();  // triton_launcher.cpp
// A launch, from here or through stock Triton (triton_launch.cpp). `grid` null: it is among the arguments.
PyObject* dispatch(PyObject* fn, PyObject* const* args, size_t n, PyObject* kwnames, PyObject* grid);

}  // namespace shim::triton
