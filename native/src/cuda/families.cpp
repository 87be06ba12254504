// Compiles our kernels without loading them, for tests: needs NVRTC and no GPU.
#include <string_view>

#include "cpu/special_shared.h"
#include "cuda/ctc_loss_source.h"
#include "cuda/attention_backward_source.h"
#include "cuda/attention_hopper_backward_source.h"
#include "cuda/attention_hopper_source.h"
#include "cuda/attention_source.h"
#include "cuda/embedding_bag_source.h"
#include "cuda/block_source.h"
#include "cuda/class_loss_source.h"
#include "cuda/depthwise_source.h"
#include "cuda/variance_source.h"
#include "cuda/flip_source.h"
#include "cuda/functors_source.h"
#include "cuda/gather_source.h"
#include "cuda/hopper_source.h"
#include "cuda/channels_source.h"
#include "cuda/images_source.h"
#include "cuda/scatter_reduce_source.h"
#include "cuda/keys_source.h"
#include "cuda/launch.h"
#include "cuda/foreach_source.h"
#include "cuda/norm_source.h"
#include "cuda/nvrtc.h"
#include "cuda/pad_source.h"
#include "cuda/pointwise_loss_source.h"
#include "cuda/radix_source.h"
#include "cuda/random_source.h"
#include "cuda/kthvalue_source.h"
#include "cuda/rows_source.h"
#include "cuda/scan_source.h"
#include "cuda/search_source.h"
#include "cuda/select_source.h"
#include "cuda/sort_source.h"
#include "cuda/histogram_unique_source.h"
#include "cuda/transpose_source.h"
#include "cuda/types_source.h"
#include "cuda/cross_polar_source.h"
#include "cuda/image_rearrange_source.h"

namespace shim::cuda {

std::string compile_family(std::string_view family, std::vector<std::string> macros, int architecture) {
  struct Source {
    std::string_view family;
    const char *shared, *own, *more = "", *last = "";
  };
  const Source sources[] = {{"ctc_loss", kBlockSource, kCtcLossSource}, {"attention", "", kAttentionSource},
      {"attention_backward", "", kAttentionSource, kAttentionBackwardSource},
      {"attention_hopper", "", kAttentionSource, kHopperSource, kAttentionHopperSource},
      {"attention_hopper_backward", "", kAttentionSource, kHopperSource, kAttentionHopperBackwardSource},
      {"embedding_bag", kBlockSource, kEmbeddingBagSource}, {"channels", kBlockSource, kChannelsSource},
      {"class_loss", kBlockSource, kClassLossSource}, {"depthwise", kBlockSource, kDepthwiseSource},
      {"each", special::kZetaSource, kFunctorsSource, kForeachSource}, {"flip", "", kFlipSource},
      {"gather", "", kGatherSource}, {"heads", kBlockSource, kScanSource, kHeadsSource},
      {"images", kBlockSource, kImagesSource}, {"scatter_reduce", kGatherSource, kScatterReduceSource},
      {"foreach", "", kForeachSource}, {"norm", kBlockSource, kNormSource}, {"pad", "", kPadSource},
      {"pointwise_loss", kBlockSource, kPointwiseLossSource}, {"radix", kKeysSource, kRadixSource},
      {"random", "", kRandomSource}, {"kthvalue", kKeysSource, kKthvalueSource}, {"rows", kBlockSource, kRowsSource},
      {"scan", kBlockSource, kScanSource}, {"search", "", kSearchSource},
      {"select", kKeysSource, kSortSource, kSelectSource}, {"sort", kKeysSource, kSortSource},
      {"histogram_unique", kBlockSource, kHistogramUniqueSource}, {"transpose", "", kTransposeSource},
      {"triangle", "", kTriangleSource}, {"cross_polar", "", kCrossPolarSource}, {"variance", "", kVarianceSource},
      {"image_rearrange", "", kImageRearrangeSource}};
  for (auto& m : macros) m = "-D" + m;
  for (const Source& s : sources) {
    if (s.family != family) continue;
    const nvrtc::Compiled c =
        nvrtc::compile(std::string(kTypesSource) + s.shared + s.own + s.more + s.last, architecture, macros);
    return c.cubin.empty() ? c.log : "";
  }
  return "there is no such family of kernels";
}

}  // namespace shim::cuda
