"""``torch.testing._internal``: suites of unittest as PyTorch's and its libraries' tests write them."""

from __future__ import annotations

import unittest

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.testing._internal import common_utils, composite_compliance, optests
from shim_torch.testing._internal.common_utils import TestCase, instantiate_parametrized_tests, parametrize, subtest


def run(case: type) -> unittest.TestResult:
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    return result


def test_assert_equal_is_wider_than_assert_close():
    case = TestCase()
    case.assertEqual(torch.tensor([1.0, 2.0]), [1.0, 2.0])
    case.assertEqual(torch.tensor([1, 2]), np.array([1, 2]))
    case.assertEqual(torch.tensor(3), 3)
    case.assertEqual(3, 3.0)
    case.assertEqual("a", "a")
    case.assertEqual({"a": (torch.float32, {1, 2})}, {"a": (torch.float32, {1, 2})})
    case.assertEqual(torch.tensor(float("nan")), torch.tensor(float("nan")))
    case.assertNotEqual(torch.tensor([1.0]), torch.tensor([2.0]))
    with pytest.raises(AssertionError, match="The values for attribute 'dtype' do not match"):
        case.assertEqual(torch.tensor([1.0]), torch.tensor([1]))
    case.assertEqualIgnoreType(torch.tensor([1.0]), torch.tensor([1]))
    with pytest.raises(AssertionError, match="note$"):
        case.assertEqual(torch.tensor([1.0]), torch.tensor([1.5]), "note", rtol=0, atol=0.1)


def test_parametrized_methods():
    seen = []

    class Case(TestCase):
        @parametrize("x", [1, 2])
        @parametrize("y,z", [(3, 4), subtest((5, 6), name="large")])
        def test_it(self, x, y, z):
            seen.append((x, y, z))

    names = {n for n in dir(instantiate_parametrized_tests(Case)) if n.startswith("test")}
    assert names == {"test_it_x_1_y_3_z_4", "test_it_x_1_large", "test_it_x_2_y_3_z_4", "test_it_x_2_large"}
    assert run(Case).wasSuccessful()
    assert sorted(seen) == [(1, 3, 4), (1, 5, 6), (2, 3, 4), (2, 5, 6)]


def test_names_of_rows():
    class Case(TestCase):
        @parametrize(
            "x", [1, -2.5, True, None, "a.b", torch.half, torch.device("cpu"), (1, 2), len, int, 2j, np.int64(3)]
        )
        def test_it(self, x):
            pass

    names = {n.removeprefix("test_it_") for n in dir(instantiate_parametrized_tests(Case)) if n.startswith("test")}
    texts = {"x_1", "x_-2_5", "x_True", "x_a_b", "float16", "cpu"}
    assert names == texts | {f"x{n}" for n in (3, 7, 8, 9, 10, 11)}


def test_random_numbers_are_the_same_in_every_test():
    draws = []

    class Case(TestCase):
        def test_a(self):
            draws.append(torch.rand(3).tolist())

        def test_b(self):
            draws.append(torch.rand(3).tolist())

    assert run(Case).testsRun == 2 and draws[0] == draws[1]


def test_small_helpers():
    assert common_utils.numpy_to_torch_dtype_dict[np.float32] is torch.float32
    before = torch.get_rng_state()
    with common_utils.freeze_rng_state():
        torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    with common_utils.set_default_dtype(torch.float64):
        assert torch.ones(1).dtype is torch.float64
    assert composite_compliance.is_inplace(torch.ops.aten.add_.Tensor)
    assert not composite_compliance.is_inplace(torch.ops.aten.add.Tensor)
    assert composite_compliance.is_view_fn(torch.ops.aten.view.default)
    assert not composite_compliance.is_view_fn(torch.ops.aten.mul.Tensor)


def test_checks_of_operators_over_a_suite():
    library = torch.library.Library("checked_here", "DEF")
    library.define("good(Tensor x) -> Tensor")
    library.impl("good", lambda x: x * 2, "CompositeExplicitAutograd")
    library.define("writes(Tensor x) -> Tensor")
    library.impl("writes", lambda x: x.add_(1) * 1, "CompositeExplicitAutograd")

    class Case(unittest.TestCase):
        def test_good(self):
            assert torch.ops.checked_here.good(torch.ones(2)).tolist() == [2, 2]

        def test_writes(self):
            torch.ops.checked_here.writes(torch.ones(2))

    optests.generate_opcheck_tests(Case, ["checked_here"], None, {}, ["test_schema"])
    failed = [str(test) for test, _ in run(Case).failures + run(Case).errors]
    assert failed and all("test_schema__test_writes" in name for name in failed)
