#include "cuda/cudnn.h"

#include <dlfcn.h>

#include <algorithm>
#include <unordered_map>

#include "cuda/cudnn_plan.h"
#include "cuda/device_failure.h"

namespace shim::cudnn {
namespace {

constexpr int kContiguous = 0, kChannelsLast = 1, kCrossCorrelation = 1;
constexpr int kDefaultMath = 0, kTensorMath = 1, kPlainMath = 3, kMostRanked = 16;

// What the older functions need of one problem, for versions and problems without a plan.
struct Older {
  TensorDesc x = nullptr, y = nullptr;  // the larger and the smaller image: input and output of a plain convolution
  FilterDesc w = nullptr;
  ConvDesc c = nullptr;
  int algorithm = -1;
  size_t room = 0;
  bool usable = false;
};

bool ints(IntArrayRef from, int* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] > INT32_MAX || from[i] < 0) return false;
    to[i] = int(from[i]);
  }
  return true;
}

bool describe(const Library& l, TensorDesc* d, const Tensor& t) {
  int sizes[8], strides[8];
  return ints(t->sizes(), sizes) && ints(t->strides(), strides) && l.make_tensor(d) == 0 &&
         l.set_tensor(*d, type_number(t->dtype()), t->dim(), sizes, strides) == 0;
}

bool describe(const Library& l, FilterDesc* d, const Tensor& t, bool last) {
  int sizes[8];
  return ints(t->sizes(), sizes) && l.make_filter(d) == 0 &&
         l.set_filter(*d, type_number(t->dtype()), last ? kChannelsLast : kContiguous, t->dim(), sizes) == 0;
}

bool describe(const Library& l, ConvDesc* d, const Geometry& g, DType t) {
  int padding[4], stride[4], dilation[4];
  if (!ints(g.padding, padding) || !ints(g.stride, stride) || !ints(g.dilation, dilation)) return false;
  const int math = t == DType::f16 || t == DType::bf16        ? kTensorMath
                   : t == DType::f32 && settings().allow_tf32 ? kDefaultMath
                                                              : kPlainMath;
  return l.make_convolution(d) == 0 &&
         l.set_convolution(*d, int(g.stride.size()), padding, stride, dilation, kCrossCorrelation,
             type_number(t == DType::f64 ? t : DType::f32)) == 0 &&
         l.set_groups(*d, int(g.groups)) == 0 && l.set_math(*d, math) == 0;
}

// The first algorithm of cuDNN's ranking that can be had in the room there is.
void choose(const Library& l, Handle h, Way way, Older& p) {
  Ranked ranked[kMostRanked];
  int found = 0;
  const int status = way == Way::forward ? l.rank_forward(h, p.x, p.w, p.c, p.y, kMostRanked, &found, ranked)
                     : way == Way::input ? l.rank_input(h, p.w, p.y, p.c, p.x, kMostRanked, &found, ranked)
                                         : l.rank_weight(h, p.x, p.y, p.c, p.w, kMostRanked, &found, ranked);
  for (int k = 0; status == 0 && k < found; ++k) {
    if (ranked[k].status != 0 || (settings().deterministic && !ranked[k].determinism)) continue;
    const int a = ranked[k].algorithm;
    if (l.set_math(p.c, ranked[k].math) != 0) continue;
    size_t room = 0;
    const int sized = way == Way::forward ? l.room_forward(h, p.x, p.w, p.c, p.y, a, &room)
                      : way == Way::input ? l.room_input(h, p.w, p.y, p.c, p.x, a, &room)
                                          : l.room_weight(h, p.x, p.y, p.c, p.w, a, &room);
    if (sized != 0 || room > kMostWorkspace) continue;
    p.algorithm = a;
    p.room = room;
    p.usable = true;
    return;
  }
}

Older older_for(const Library& l, Handle h, const Convolution& c) {
  Older p;
  if (describe(l, &p.x, c.x) && describe(l, &p.y, c.y) && describe(l, &p.w, c.w, c.last) &&
      describe(l, &p.c, c.geometry, c.x->dtype()))
    choose(l, h, c.way, p);
  return p;
}

bool run_older(const Library& l, Handle h, const Convolution& c, const Older& p, void* at) {
  const double one_wide = 1, none_wide = 0;
  const float one_narrow = 1, none_narrow = 0;
  const bool wide = c.x->dtype() == DType::f64;
  const void *one = wide ? static_cast<const void*>(&one_wide) : &one_narrow,
             *none = wide ? static_cast<const void*>(&none_wide) : &none_narrow;
  void *x = c.x->data(), *y = c.y->data(), *w = c.w->data();
  return (c.way == Way::forward    ? l.forward(h, one, p.x, x, p.w, w, p.c, p.algorithm, at, p.room, none, p.y, y)
             : c.way == Way::input ? l.input(h, one, p.w, w, p.y, y, p.c, p.algorithm, at, p.room, none, p.x, x)
                                   : l.weight(h, one, p.x, x, p.y, y, p.c, p.algorithm, at, p.room, none, p.w, w)) == 0;
}

struct Problem {  // kept for the thread's life
  std::unique_ptr<Plan> plan;
  Older older;
};

struct KeyHash {
  size_t operator()(const std::vector<int64_t>& key) const {
    uint64_t h = key.size();
    for (int64_t v : key) h = (h ^ uint64_t(v)) * 0x9e3779b97f4a7c15ull;
    return size_t(h ^ h >> 32);
  }
};

Problem& problem_of(const Library& l, Handle h, const Convolution& c) {
  thread_local std::unordered_map<std::vector<int64_t>, Problem, KeyHash> problems;
  thread_local std::vector<int64_t> key;
  const Settings& s = settings();
  const Geometry& g = c.geometry;
  key.assign({int64_t(c.way), int64_t(c.x->dtype()), c.x->device().index, c.last, s.allow_tf32, s.deterministic,
      g.groups, c.x->dim(), alignment_of(c.x), alignment_of(c.y), alignment_of(c.w)});
  for (IntArrayRef d : {c.x->sizes(), c.y->sizes(), c.w->sizes(), IntArrayRef(g.stride), IntArrayRef(g.padding),
           IntArrayRef(g.dilation)})
    key.insert(key.end(), d.begin(), d.end());
  if (auto it = problems.find(key); it != problems.end()) return it->second;
  Problem& p = problems[key];
  if (!(p.plan = Plan::make(h, c))) p.older = older_for(l, h, c);
  return p;
}

bool run(const Convolution& c) {
  if (!settings().enabled || !available() || type_number(c.x->dtype()) < 0 || c.x->dim() > 5) return false;
  const int device = c.x->device().index;
  cuda::OnDevice current(device);
  const Library& l = library();
  const Handle h = handle(device);
  if (!h) return false;
  Problem& p = problem_of(l, h, c);
  if (!p.plan && !p.older.usable) return false;
  const auto room_of = [&](size_t bytes) {
    return bytes ? empty(Dims{int64_t(bytes)}, DType::u8, c.x->device()) : Tensor();
  };
  if (p.plan) {
    const Tensor room = room_of(p.plan->workspace());
    if (p.plan->run(h, c, room ? room->data() : nullptr)) return true;
    cuda::check_device(device);
    p.plan.reset();  // not asked again
    p.older = older_for(l, h, c);
    if (!p.older.usable) return false;
  }
  const Tensor room = room_of(p.older.room);
  p.older.usable = run_older(l, h, c, p.older, room ? room->data() : nullptr);
  if (!p.older.usable) cuda::check_device(device);
  return p.older.usable;
}

bool run(Way way, const Tensor& x, const Tensor& y, const Tensor& w, const Geometry& g) {
  return run({way, x, y, w, g, !y->is_contiguous() || !x->is_contiguous() || !w->is_contiguous()});
}

}  // namespace

Settings& settings() {
  static Settings s;
  return s;
}
bool* switch_named(std::string_view name) {
  Settings& s = settings();
  return name == "enabled"         ? &s.enabled
         : name == "allow_tf32"    ? &s.allow_tf32
         : name == "deterministic" ? &s.deterministic
                                   : nullptr;
}

bool available() { return library().loaded; }
void* symbol(const char* name) { return library().loaded ? dlsym(library().opened, name) : nullptr; }
void* thread_handle(int device) { return library().loaded ? handle(device) : nullptr; }
int64_t version() { return library().loaded ? int64_t(library().version()) : 0; }

bool convolve(const Tensor& x, const Tensor& weight, const Geometry& g, const Tensor& out) {
  return run(Way::forward, x, out, weight, g);
}
bool convolve_input(const Tensor& g, const Tensor& weight, const Geometry& how, const Tensor& dx) {
  return run(Way::input, dx, g, weight, how);
}
bool convolve_weight(const Tensor& x, const Tensor& g, const Geometry& how, const Tensor& dweight) {
  return run(Way::weight, x, g, dweight, how);
}

}  // namespace shim::cudnn
