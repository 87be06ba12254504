"""What is kept of operators: PyTorch's tags, registered fakes, the types that schemas are inferred from."""

from __future__ import annotations

import shim_torch as torch
from shim_torch._library import simple_registry

aten = torch.ops.aten


def test_tags():
    assert aten.add.Tensor.tags == [torch.Tag.core, torch.Tag.pointwise, torch.Tag.pt2_compliant_tag]
    assert aten.add_.Tensor.tags == [torch.Tag.inplace, torch.Tag.pointwise, torch.Tag.pt2_compliant_tag]
    assert aten.add.out.tags == [torch.Tag.out, torch.Tag.pointwise, torch.Tag.pt2_compliant_tag]
    assert torch.Tag.dynamic_output_shape in aten.nonzero.default.tags
    assert torch.Tag.nondeterministic_seeded in aten.bernoulli.default.tags
    assert torch.Tag.data_dependent_output in aten._local_scalar_dense.default.tags
    assert torch.Tag.inplace_view in aten.transpose_.default.tags
    assert torch.Tag.generated in aten._to_copy.out.tags


def test_tags_of_ones_own_operators_are_those_given():
    with torch.library._scoped_library("registrations", "DEF") as lib:
        lib.define("tagged(Tensor x) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,))
        lib.define("plain(Tensor x) -> Tensor")
        assert torch.ops.registrations.tagged.default.tags == [torch.Tag.pt2_compliant_tag]
        assert torch.ops.registrations.plain.default.tags == []


def test_a_registered_fake_is_found_with_its_place():
    with torch.library._scoped_library("registrations", "DEF") as lib:
        lib.define("faked(Tensor x) -> Tensor")
        entry = simple_registry.singleton.find("registrations::faked")
        assert entry.fake_impl.kernel is None

        def fake(x):
            return x.new_empty(3)

        torch.library.impl_abstract("registrations::faked", func=fake, lib=lib)
        kernel = entry.abstract_impl.kernel
        assert kernel.func is fake and kernel.source.startswith(__file__)
        assert torch.ops.registrations.faked(torch.empty(2, device="meta")).shape == (3,)


def test_a_fake_of_a_custom_op_is_found_with_its_place():
    @torch.library.custom_op("registrations::made", mutates_args=())
    def made(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @made.register_fake
    def fake(x):
        return x.new_empty(x.shape)

    kernel = simple_registry.singleton.find("registrations::made").fake_impl.kernel
    assert kernel.func is fake and kernel.source == f"{__file__}:{fake.__code__.co_firstlineno}"


def test_types_of_results():
    found = torch._library.infer_schema.SUPPORTED_RETURN_TYPES
    assert found[torch.Tensor] == "Tensor" and found[list[torch.Tensor]] == "Tensor[]" and found[int] == "SymInt"
