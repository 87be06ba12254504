#include "cuda/cudnn_plan.h"

#include <algorithm>
#include <array>
#include <vector>

namespace shim::cudnn {
namespace {

// Numbers of cudnn_graph.h: kinds of descriptors, attributes, attributes' types.
enum Kind : int {
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristics = 4,
  kExecutionPlan = 5,
  kForward = 10,
  kBackwardFilter = 11,
  kBackwardData = 12,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17
};
enum Type : int {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kDouble = 5,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicMode = 8,
  kNumericalNote = 11,
  kDescriptor = 15
};
enum Attribute : int {
  kCompType = 100,
  kConvMode = 101,
  kDilations = 102,
  kFilterStrides = 103,
  kPostPaddings = 104,
  kPrePaddings = 105,
  kSpatialDims = 106,
  kHeuristicsMode = 200,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kConfigEngine = 300,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kAlignment = 900,
  kElementType = 901,
  kDimensions = 902,
  kStrides = 903,
  kUniqueId = 906,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineNotes = 1303
};
enum Note : int { kTensorCore = 0, kDownConverts = 1, kNondeterministic = 4 };
constexpr int kModeA = 3, kModeFallback = 2, kCrossCorrelation = 1;
constexpr int64_t kMostConfigs = 16, kX = 1, kY = 2, kW = 3;

class Built {  // a descriptor that is destroyed with it
 public:
  explicit Built(Kind kind) {
    if (library().create_descriptor(kind, &d_) != 0) d_ = nullptr;
  }
  Built(const Built&) = delete;
  Built& operator=(const Built&) = delete;
  ~Built() {
    if (d_) library().destroy_descriptor(d_);
  }
  template <class T> Built& set(Attribute a, Type t, const T* values, int64_t n) {
    good_ = good_ && d_ && library().set_attribute(d_, a, t, n, values) == 0;
    return *this;
  }
  template <class T> Built& set(Attribute a, Type t, const T& value) { return set(a, t, &value, 1); }
  Built& set(Attribute a, const Built& part) { return set(a, kDescriptor, part.d_); }
  bool finish() { return good_ = good_ && d_ && library().finalize(d_) == 0; }
  Descriptor get() const { return d_; }
  Descriptor give() { return std::exchange(d_, nullptr); }

 private:
  Descriptor d_ = nullptr;
  bool good_ = true;
};

// A dim of one element has any stride: cuDNN looks for those of a layout.
Dims plain_strides(IntArrayRef sizes, bool last) {
  if (!last) return contiguous_strides(sizes);
  Dims strides(sizes.size());
  int64_t step = strides[1] = 1;
  step = sizes[1];
  for (size_t d = sizes.size(); d-- > 2; step *= sizes[d]) strides[d] = step;
  strides[0] = step;
  return strides;
}

bool describe(Built& d, const Tensor& t, int64_t id, bool last) {
  const Dims strides = plain_strides(t->sizes(), last);
  return d.set(kElementType, kDataType, type_number(t->dtype()))
      .set(kDimensions, kInt64, t->sizes().data(), t->dim())
      .set(kStrides, kInt64, strides.data(), t->dim())
      .set(kUniqueId, kInt64, id)
      .set(kAlignment, kInt64, int64_t(alignment_of(t)))
      .finish();
}

bool describe(Built& d, const Geometry& g, bool wide) {
  const int64_t n = int64_t(g.stride.size());
  return d.set(kCompType, kDataType, type_number(wide ? DType::f64 : DType::f32))
      .set(kConvMode, kConvolutionMode, kCrossCorrelation)
      .set(kSpatialDims, kInt64, n)
      .set(kPrePaddings, kInt64, g.padding.data(), n)
      .set(kPostPaddings, kInt64, g.padding.data(), n)
      .set(kFilterStrides, kInt64, g.stride.data(), n)
      .set(kDilations, kInt64, g.dilation.data(), n)
      .finish();
}

// The attributes of an operation: its factors, its convolution, its tensors.
struct Numbers {
  Kind kind;
  int alpha, beta, convolution, w, x, y;
};
constexpr Numbers kOperations[] = {{kForward, 700, 701, 702, 703, 704, 705},
    {kBackwardData, 706, 707, 708, 709, 710, 711}, {kBackwardFilter, 712, 713, 714, 715, 716, 717}};

bool describe(Built& d, const Numbers& n, const Built& c, const Built& w, const Built& x, const Built& y, bool wide) {
  const float one = 1, none = 0;
  const double one_wide = 1, none_wide = 0;
  const Type type = wide ? kDouble : kFloat;
  if (wide)
    d.set(Attribute(n.alpha), type, one_wide).set(Attribute(n.beta), type, none_wide);
  else
    d.set(Attribute(n.alpha), type, one).set(Attribute(n.beta), type, none);
  return d.set(Attribute(n.convolution), c)
      .set(Attribute(n.w), w)
      .set(Attribute(n.x), x)
      .set(Attribute(n.y), y)
      .finish();
}

// Whether the settings allow what the engine of a configuration does to numbers.
bool allowed(Descriptor config, DType t) {
  Built engine(kEngine);
  Descriptor e = engine.get();
  int64_t found = 0;
  std::array<int, 32> notes{};
  if (library().get_attribute(config, kConfigEngine, kDescriptor, 1, &found, &e) != 0 ||
      library().get_attribute(e, kEngineNotes, kNumericalNote, int64_t(notes.size()), &found, notes.data()) != 0)
    return false;
  const auto has = [&](Note n) {
    return std::find(notes.begin(), notes.begin() + found, int(n)) != notes.begin() + found;
  };
  if (settings().deterministic && has(kNondeterministic)) return false;
  return t != DType::f32 || settings().allow_tf32 || !(has(kTensorCore) || has(kDownConverts));
}

}  // namespace

int type_number(DType t) {
  return t == DType::f32 ? 0 : t == DType::f64 ? 1 : t == DType::f16 ? 2 : t == DType::bf16 ? 9 : -1;
}

int alignment_of(const Tensor& t) {
  const auto at = reinterpret_cast<uintptr_t>(t->data()) | 16;
  return int(at & (~at + 1));
}

std::unique_ptr<Plan> Plan::make(Handle h, const Convolution& c) {
  const Library& l = library();
  const bool wide = c.x->dtype() == DType::f64;
  Built x(kTensor), y(kTensor), w(kTensor), geometry(kConvolution);
  const Numbers& numbers = kOperations[int(c.way)];
  Built operation(numbers.kind), graph(kOperationGraph);
  if (!describe(x, c.x, kX, c.last) || !describe(y, c.y, kY, c.last) || !describe(w, c.w, kW, c.last) ||
      !describe(geometry, c.geometry, wide) || !describe(operation, numbers, geometry, w, x, y, wide) ||
      !graph.set(kGraphHandle, kHandle, h).set(kGraphOperations, operation).finish())
    return nullptr;
  for (int mode : {kModeA, kModeFallback}) {
    Built ranking(kHeuristics);
    if (!ranking.set(kHeuristicsGraph, graph).set(kHeuristicsMode, kHeuristicMode, mode).finish()) continue;
    std::vector<std::unique_ptr<Built>> configs;
    std::vector<Descriptor> ranked;
    for (int64_t i = 0; i < kMostConfigs; ++i) {
      configs.push_back(std::make_unique<Built>(kEngineConfig));
      ranked.push_back(configs.back()->get());
    }
    int64_t found = 0;
    if (l.get_attribute(ranking.get(), kHeuristicsResults, kDescriptor, kMostConfigs, &found, ranked.data()) != 0)
      continue;
    for (int64_t i = 0; i < std::min(found, kMostConfigs); ++i) {
      if (!allowed(ranked[size_t(i)], c.x->dtype())) continue;
      Built plan(kExecutionPlan);
      if (!plan.set(kPlanHandle, kHandle, h).set(kPlanConfig, kDescriptor, ranked[size_t(i)]).finish()) continue;
      int64_t workspace = 0, given = 0;
      if (l.get_attribute(plan.get(), kPlanWorkspace, kInt64, 1, &given, &workspace) != 0) continue;
      if (workspace < 0 || size_t(workspace) > kMostWorkspace) continue;
      return std::unique_ptr<Plan>(new Plan(plan.give(), size_t(workspace)));
    }
  }
  return nullptr;
}

Plan::~Plan() {
  if (plan_) library().destroy_descriptor(plan_);
}

bool Plan::run(Handle h, const Convolution& c, void* workspace) const {
  Built pack(kVariantPack);
  const int64_t ids[] = {kX, kY, kW};
  const void* pointers[] = {c.x->data(), c.y->data(), c.w->data()};
  return pack.set(kPackPointers, kPointer, pointers, 3)
             .set(kPackIds, kInt64, ids, 3)
             .set(kPackWorkspace, kPointer, workspace)
             .finish() &&
         library().execute(h, plan_, pack.get()) == 0;
}

}  // namespace shim::cudnn
