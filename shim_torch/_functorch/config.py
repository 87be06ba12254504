"""``torch._functorch.config``: switches of the ahead-of-time compiler, read by others; nothing here depends on them."""

functionalize_rng_ops = False
fake_tensor_allow_unsafe_rng_cpu = True
debug_assert = False
debug_partitioner = False
static_weight_shapes = True
cse = True
enable_autograd_cache = False
activation_memory_budget = 1.0
ban_recompute_fusible_nodes = True
donated_buffer = False
