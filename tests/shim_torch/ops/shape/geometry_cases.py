"""Sizes, strides and devices by ATen's names, and zeros in the layout of another tensor."""

from ..expressions import pattern


def inputs(torch):
    """The names that the expressions use."""
    x = pattern(torch, 2, 3, 4, seed=1)
    return {
        "torch": torch,
        "aten": torch.ops.aten,
        "prim": torch.ops.prim,
        "x": x,
        "part": x[1:, :, ::2],
        "both": lambda t: (t, t.stride()),
    }


CASES = """
aten.sym_size(x)
aten.sym_size.int(x, -1)
aten.sym_size.int(x, 3)
aten.sym_stride(x)
aten.sym_stride(part)
aten.sym_stride.int(part, 2)
aten.sym_stride.int(x, -4)
aten.sym_numel(part)
aten.sym_numel(x[:0])
aten.sym_storage_offset(part)
aten.sym_size(x[0, 0, 0])
prim.device(x)
both(aten._new_zeros_with_same_feature_meta(x, part))
both(aten._new_zeros_with_same_feature_meta(x, part, self_num_batch_dims=1))
both(aten._new_zeros_with_same_feature_meta(x, x.permute(2, 0, 1), self_num_batch_dims=2))
both(aten._new_zeros_with_same_feature_meta(x, x[0].double()))
aten._new_zeros_with_same_feature_meta(x, part).storage_offset()
""".strip().splitlines()
