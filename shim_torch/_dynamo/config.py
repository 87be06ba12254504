"""``torch._dynamo.config``: settings of a tracer that is not here; kept so that they can be set and read back."""

recompile_limit = 8
cache_size_limit = 8
accumulated_recompile_limit = 256
suppress_errors = False
verbose = False
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
allow_unspec_int_on_nn_module = False
inline_inbuilt_nn_modules = True
disable = False
