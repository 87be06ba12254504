"""What a Triton kernel may write to, by its TTIR: nothing that it writes is missed."""

from __future__ import annotations

import pytest

from shim_torch_proxy.adapters.triton.effects import leaves_parameters, written_parameters

F32, PTR = "f32", "!tt.ptr<f32>"
SEVERAL = "tensor<64x!tt.ptr<f32>>"


def kernel(*lines):
    """A kernel of two addresses and a number."""
    header = f'  tt.func public @k(%x: {PTR} {{tt.divisibility = 16 : i32}} loc("x"(#loc)), %y: {PTR}, %n: i32) attributes {{noinline = false}} {{'
    return "\n".join(["module {", header, *lines, "    tt.return loc(#loc)", "  } loc(#loc)", "} loc(#loc)"])


def writes(*lines):
    known = written_parameters(kernel(*lines))
    return known[:2] if known else known


def test_what_is_read_and_what_is_written():
    assert writes(
        "    %at = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc(#loc1)",
        f"    %a = tt.splat %x : {PTR} -> {SEVERAL} loc(#loc1)",
        f"    %b = tt.addptr %a, %at : {SEVERAL}, tensor<64xi32> loc(#loc1)",
        f"    %v = tt.load %b : {SEVERAL} loc(#loc1)",
        f"    %c = tt.splat %y : {PTR} -> {SEVERAL}",
        f"    tt.store %c, %v : {SEVERAL}",
    ) == [False, True]
    read_as_a_place = [f"    %i = tt.load %x : {PTR}", f"    %p = tt.addptr %y, %i : {PTR}, i32"]
    assert writes(*read_as_a_place, f"    tt.store %p, %i : {PTR}") == [False, True]


@pytest.mark.parametrize(
    "operation",
    [
        f"    %r = tt.atomic_rmw fadd, acq_rel, gpu, %x, %v, %true : ({PTR}, f32, i1) -> f32",
        f"    %r = tt.call @helper(%x) : ({PTR}) -> f32",
        f'    %r = "new.operation"(%x) : ({PTR}) -> f32',
        f"    cf.br ^bb1(%x : {PTR})",
        f"    %q = tt.ptr_to_int %x : {PTR} -> i64",
        "    something %x",
    ],
)
def test_what_is_not_known_counts_as_a_write(operation):
    assert writes(operation) == [True, False]


def test_addresses_that_loops_carry():
    loop = [
        f"    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y) -> ({PTR}, {PTR})  : i32 {{",
        f"      %v = tt.load %p : {PTR}",
        f"      %s = tt.addptr %p, %i : {PTR}, i32",
        f"      %t = tt.addptr %q, %i : {PTR}, i32",
        f"      scf.yield %s, %t : {PTR}, {PTR}",
        "    } {tt.num_stages = 3 : i32} loc(#loc2)",
    ]
    assert writes(*loop) == [False, False]
    assert writes(*loop, f"    tt.store %r#1, %z : {PTR}") == [False, True]
    assert writes(*loop, f"    tt.store %r#0, %z : {PTR}") == [True, False]
    inside = [*loop[:2], f"      tt.store %q, %v : {PTR}", *loop[2:]]
    assert writes(*inside) == [False, True]
    crossed = [*loop[:4], f"      scf.yield %t, %s : {PTR}, {PTR}", loop[5], f"    tt.store %r#0, %z : {PTR}"]
    assert writes(*crossed) == [True, True]


def test_addresses_that_branches_choose():
    chosen = [
        f"    %r = scf.if %c -> ({PTR}) {{",
        f"      scf.yield %x : {PTR}",
        "    } else {",
        f"      scf.yield %y : {PTR}",
        "    }",
    ]
    assert writes(*chosen) == [False, False]
    assert writes(*chosen, f"    tt.store %r, %z : {PTR}") == [True, True]
    assert writes(f"    %r = arith.select %c, %y, %n : {PTR}", f"    tt.store %r, %z : {PTR}") == [False, True]


def test_what_is_not_understood():
    assert written_parameters(kernel() + "\n" + kernel()) is None
    assert writes(f"  ^bb1(%p: {PTR}):") is None
    assert writes("    scf.yield %x : " + PTR) is None
    assert writes() == [False, False]


def test_memory_that_is_no_parameter():
    assert leaves_parameters(kernel()) is None
    assert leaves_parameters(kernel("    %p = tt.int_to_ptr %v : i64 -> !tt.ptr<f32>"))
    assert leaves_parameters(kernel("    %p = tt.load %x : !tt.ptr<!tt.ptr<f32>>"))
    asm = '    %r = tt.elementwise_inline_asm "st.global.f32 [$1], 0;" {constraints = "=r,l", packed_element = 1 : i32, pure = PURE} %v : i64 -> i32'
    assert leaves_parameters(kernel(asm.replace("PURE", "false")))
    assert leaves_parameters(kernel(asm.replace("PURE", "true"))) is None
