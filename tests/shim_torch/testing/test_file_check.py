"""torch.testing.FileCheck; texts are PyTorch's."""

from __future__ import annotations

import pytest

from shim_torch.testing import FileCheck

TEXT = "a bar\nb baz"


@pytest.mark.parametrize(
    "check",
    [
        FileCheck().check("a").check("baz"),
        FileCheck().check_dag("baz").check_dag("bar"),
        FileCheck().check_regex("b[az]+"),
        FileCheck().check_count("b", 3),
        FileCheck().check("a").check_next("b"),
        FileCheck().check("a").check_same("bar"),
        FileCheck().check_not("q"),
        FileCheck().check("baz").check_not("bar"),
    ],
)
def test_found(check):
    check.run(TEXT)


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (
            FileCheck().check("foo"),
            'Expected to find "foo" but did not find it\nSearched string:\na bar\n~~~ <--- HERE\nb baz\nFrom CHECK: foo\n',
        ),
        (
            FileCheck().check("a").check_not("bar").check("baz"),
            'Expected to not find "bar" but found it\na bar\n  ~~~ <--- HERE\nb baz\nFrom CHECK-NOT: bar\n',
        ),
        (
            FileCheck().check_count("b", 1, exactly=True),
            'Expected to not find "b" but found it\na bar\nb baz\n~ <--- HERE\nFrom CHECK-NOT: b\n',
        ),
        (
            FileCheck().check("a").check_next("zz"),
            'Expected to find "zz" but did not find it\nSearched string:\na bar\nb baz\nFrom CHECK-NEXT: zz\n',
        ),
        (
            FileCheck().check("a").check_same("baz"),
            'Expected to not find "\\n" but found it\na bar\nb baz\nFrom CHECK-SAME: baz\n',
        ),
        (
            FileCheck().check_count("b", 4),
            'Expected to find "b" but did not find it\nSearched string:\na bar\nb baz\nFrom CHECK-COUNT-4: b\n',
        ),
    ],
)
def test_not_found(check, text):
    with pytest.raises(RuntimeError) as caught:
        check.run(TEXT)
    assert str(caught.value) == text


def test_checks_in_comments():
    FileCheck().run("# CHECK: a\n# CHECK-NOT: q\n", "a")
    with pytest.raises(RuntimeError, match='Expected to find "foo"'):
        FileCheck().run("# CHECK: foo\n", "a")
    with pytest.raises(RuntimeError, match="No checks have been added"):
        FileCheck().run("a")
