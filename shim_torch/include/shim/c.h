#pragma once
// The C functions behind the C++ headers of extensions. Private to one version of shim-torch: an extension is compiled against
// this file and refuses to load beside another version (SHIM_CXX_STAMP). What the stable C ABI has already is used from there.
#include <stddef.h>
#include <stdint.h>

#define SHIM_CXX_INTERFACE 2
#define SHIM_CXX_API extern "C" __attribute__((visibility("default")))

// A value both ways. Arguments are borrowed; results are owned, their lists made by malloc() and freed by shim_cxx_release().
enum ShimTag : uint32_t {
  SHIM_NONE,
  SHIM_INT,
  SHIM_DOUBLE,
  SHIM_BOOL,
  SHIM_COMPLEX,  // d and im
  SHIM_TENSOR,   // p: a handle; null is an undefined tensor
  SHIM_STRING,   // p: n bytes, and a zero after them in results
  SHIM_INTS,     // p: n int64_t
  SHIM_DOUBLES,
  SHIM_BOOLS,    // p: n bytes
  SHIM_TENSORS,  // p: n handles
  SHIM_LIST,     // p: n cells; im: SHIM_TUPLE where it is a tuple
  SHIM_DTYPE,    // i
  SHIM_DEVICE,   // i: the type, im-less; n: the index, 0xffffffff for none
  SHIM_LAYOUT,
  SHIM_MEMORY_FORMAT,
  SHIM_OBJECT,  // p: a Python object (generators)
  SHIM_DICT,    // p: 2 n cells, key and value in turn
  SHIM_STREAM   // i: the cudaStream_t; n: the device's index
};
constexpr double SHIM_TUPLE = 1;
typedef struct ShimCell {
  uint32_t tag, n;
  union {
    int64_t i;
    double d;
    const void* p;
  };
  double im;
} ShimCell;

typedef struct ShimOp ShimOp;
typedef struct ShimTensor ShimTensor;  // what the stable C ABI calls AtenTensorHandle
typedef struct ShimView {              // pointers hold while the tensor's geometry is unchanged
  const int64_t *sizes, *strides;
  int64_t dim, numel, offset, itemsize;
  int32_t dtype, device_type, device_index;
} ShimView;
// A kernel gives 0, or -1 after shim_cxx_set_error(); no exception leaves it.
typedef int (*ShimKernel)(void* context, const ShimCell* args, size_t n, ShimCell* results, size_t m);

// Of errors: the numbers are those of Python's classes as shim_cxx_error() tells them.
enum ShimKind : int {
  SHIM_RUNTIME,
  SHIM_TYPE,
  SHIM_VALUE,
  SHIM_INDEX,
  SHIM_NOT_IMPLEMENTED,
  SHIM_OUT_OF_MEMORY,
  SHIM_LINALG = 99,
  SHIM_PYTHON = 100,       // any other class: the exception itself is kept, and raised again by shim_cxx_raise()
  SHIM_ACCELERATOR = 1000  // of a device's driver; its error's number is added
};
SHIM_CXX_API int shim_cxx_error(const char** text);                // the kind of this thread's last error
SHIM_CXX_API void shim_cxx_set_error(int kind, const char* text);  // what a kernel failed with
SHIM_CXX_API void shim_cxx_raise(int kind, const char* text);  // sets the Python exception; the caller holds the GIL

// Operators. The entry of none is null.
SHIM_CXX_API const ShimOp* shim_cxx_op(const char* name, const char* overload);
SHIM_CXX_API int shim_cxx_call(
    const ShimOp*, const char* name, const ShimCell* args, size_t n, ShimCell* results, size_t wanted);
SHIM_CXX_API void shim_cxx_release(ShimCell* cells, size_t n);
SHIM_CXX_API int shim_cxx_implement(
    const char* ns, const char* key, const char* name, ShimKernel, void* context, const char* inferred_schema);

// Tensors. Counted: retain and drop.
SHIM_CXX_API void shim_cxx_retain(ShimTensor*);
SHIM_CXX_API void shim_cxx_drop(ShimTensor*);
SHIM_CXX_API int shim_cxx_view(const ShimTensor*, ShimView*);
SHIM_CXX_API void* shim_cxx_data(const ShimTensor*, int* failed);
SHIM_CXX_API int shim_cxx_item(ShimTensor*, ShimCell* result);
enum ShimFact : int {
  SHIM_IS_CONTIGUOUS,  // of a memory format
  SHIM_REQUIRES_GRAD,
  SHIM_IS_LEAF,
  SHIM_VERSION,
  SHIM_BUMP_VERSION,
  SHIM_SET_REQUIRES_GRAD,
  SHIM_IS_PINNED,
  SHIM_USES,
  SHIM_STORAGE_BYTES,
  SHIM_LAYOUT_OF
};
SHIM_CXX_API int64_t shim_cxx_fact(ShimTensor*, int fact, int64_t value);  // -1: failed

// The thread's modes: 0 or 1 sets one, -1 asks; what it was.
SHIM_CXX_API int shim_cxx_grad_mode(int on);
SHIM_CXX_API int shim_cxx_inference_mode(int on);
SHIM_CXX_API int shim_cxx_below_autograd(int on);  // kernels of Autograd keys are passed over
SHIM_CXX_API int shim_cxx_default_dtype(int dtype);
// Runs f over pieces of the range on the pool, the GIL released meanwhile.
SHIM_CXX_API int shim_cxx_parallel_for(
    int64_t begin, int64_t end, int64_t grain, void (*f)(int64_t, int64_t, void*), void* context);
SHIM_CXX_API void* shim_cxx_unlock(void);  // releases the GIL, if this thread holds it
SHIM_CXX_API void shim_cxx_lock(void*);    // what shim_cxx_unlock() gave

// Generators: reserves `value` numbers a thread, and the seed and the offset of the first; the device's type and index; the seed.
enum ShimGenerator : int { SHIM_PHILOX, SHIM_GENERATOR_DEVICE, SHIM_GENERATOR_SEED };
SHIM_CXX_API int shim_cxx_generator(const ShimCell* generator, int what, uint64_t value, uint64_t answer[2]);
SHIM_CXX_API int shim_cxx_default_generator(int32_t device_type, int32_t index, ShimCell* result);

// Python objects; the caller holds the GIL. A tag says what is wanted; 1: it is none.
SHIM_CXX_API int shim_cxx_from_python(uint32_t tag, void* object, ShimCell* result);
SHIM_CXX_API void* shim_cxx_to_python(const ShimCell*);  // a new reference; null with the exception set

// What Python does, by the name of a function of shim_torch._impl.extensions.cxx_calls; a C++ function as Python's, of values.
SHIM_CXX_API int shim_cxx_python(const char* name, const ShimCell* args, size_t n, ShimCell* result);
SHIM_CXX_API int shim_cxx_callable(ShimKernel, void* context, void (*destroy)(void*), ShimCell* result);
// Instances of custom classes (torch::class_): the Python object of what C++ holds, and back. The kind names the C++ type.
SHIM_CXX_API int shim_cxx_holder(void* holder, void (*destroy)(void*), const char* kind, ShimCell* result);
SHIM_CXX_API int shim_cxx_held(const ShimCell* object, const char* kind, void** holder);

// Autograd functions (torch::autograd::Function). `ctx` is the Python context, borrowed.
typedef struct ShimFunction {
  const char* name;
  int (*forward)(void* state, void* ctx, ShimCell* result);                                       // SHIM_TENSORS
  int (*backward)(void* state, void* ctx, ShimTensor* const* grads, size_t n, ShimCell* result);  // SHIM_TENSORS
  void (*destroy)(void* state);
} ShimFunction;
SHIM_CXX_API int shim_cxx_apply(
    const ShimFunction*, void* state, ShimTensor* const* inputs, size_t n, ShimCell* outputs);
enum ShimContext : int { SHIM_SAVE, SHIM_SAVED, SHIM_DIRTY, SHIM_NOT_DIFFERENTIABLE, SHIM_MATERIALIZE, SHIM_NEEDS };
SHIM_CXX_API int shim_cxx_context(void* ctx, int what, const ShimCell* given, ShimCell* result);
