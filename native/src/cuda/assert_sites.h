#pragma once
// Device-side asserts, as kernels and the host both see them: compiled by NVRTC too, so without the standard's headers.

// X(site, the functions whose kernels have it, what did not hold): of the record's numbers {value} and {bound} are whole ones, {chance} is
// the value's bits as a double.
#define SHIM_ASSERT_SITES(X)                                                                                           \
  X(index, "indexing with tensors (index, index_put, take)",                                                           \
      "index {value} is out of bounds for dimension of size {bound}")                                                  \
  X(index_select, "index_select or embedding", "index {value} is out of bounds for dimension of size {bound}")         \
  X(index_put, "index_put", "index {value} is out of bounds for dimension of size {bound}")                            \
  X(index_fill, "index_fill", "index {value} is out of bounds for dimension of size {bound}")                          \
  X(gather, "gather", "index {value} is out of bounds for dimension of size {bound}")                                  \
  X(scatter, "scatter or index_copy", "index {value} is out of bounds for dimension of size {bound}")                  \
  X(scatter_add, "scatter_add or index_add", "index {value} is out of bounds for dimension of size {bound}")           \
  X(scatter_reduce, "scatter_reduce or index_reduce", "index {value} is out of bounds for dimension of size {bound}")  \
  X(add_runs, "embedding's gradient or index_put with accumulate",                                                     \
      "index {value} is out of bounds for dimension of size {bound}")                                                  \
  X(embedding_bag, "embedding_bag", "index {value} is out of bounds for a table of {bound} rows")                      \
  X(bag_offsets, "embedding_bag",                                                                                      \
      "offset {value} is out of order, or not from 0 to the {bound} indices that there are")                           \
  X(class_loss, "nll_loss or cross_entropy", "target {value} is out of bounds for {bound} classes")                    \
  X(margin_loss, "multi_margin_loss or multilabel_margin_loss", "target {value} is out of bounds for {bound} classes") \
  X(ctc_loss, "ctc_loss", "label {value} is out of bounds for {bound} classes")                                        \
  X(chance, "binary_cross_entropy", "input or target {chance} is not between 0 and 1")                                 \
  X(multinomial_weight, "multinomial", "probability {chance} is negative, infinite or not a number")                   \
  X(multinomial_sum, "multinomial", "the sum of a row's probabilities is not above 0")                                 \
  X(masked_scatter, "masked_scatter", "the mask is true at {value} places, and source has {bound} elements")

namespace shim::cuda {

#define SHIM_SITE(site, functions, text) site,
enum class AssertSite : int { none, SHIM_ASSERT_SITES(SHIM_SITE) };
#undef SHIM_SITE

// What the first thread that fails leaves in the host's memory. `site` is written last; `taken` keeps other threads off.
struct AssertRecord {
  int site, taken;
  long long value, bound;
  unsigned block[3], thread[3];
};

}  // namespace shim::cuda
