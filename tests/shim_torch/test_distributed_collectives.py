"""torch.distributed of one process: stores, groups and collectives; values and errors are PyTorch 2.13's with gloo."""

from __future__ import annotations

from datetime import timedelta

import pytest

import shim_torch as torch
from shim_torch import distributed as dist


@pytest.fixture
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def test_stores_as_pytorchs(tmp_path):
    store = dist.HashStore()
    store.set_timeout(timedelta(milliseconds=20))
    with pytest.raises(dist.DistStoreError, match="Wait timeout"):
        store.get("none")
    found = [store.compare_set("k", *pair) for pair in (("", "v"), ("x", "w"), ("v", "w"))]
    assert [*found, store.compare_set("z", "q", "w"), store.check(["z"])] == [b"v", b"v", b"w", b"q", False]
    store.append("a", "b")
    store.append("a", "c")
    store.multi_set(["x", "y"], ["1", b"2"])
    assert store.get("a") == b"bc" and store.multi_get(["x", "y"]) == [b"1", b"2"]
    assert (store.num_keys(), store.delete_key("x"), store.delete_key("x"), store.num_keys()) == (4, True, False, 3)
    store.queue_push("q", "1")
    assert (store.queue_len("q"), store.queue_pop("q"), store.queue_len("q")) == (1, b"1", 0)
    assert (store.add("n", 3), store.add("n", -1), store.get("n")) == (3, 2, b"2")
    with pytest.raises(TypeError, match="incompatible function arguments"):
        store.set("a", 1)
    files = dist.FileStore(str(tmp_path / "store"), 1)
    files.set("a", "1")
    assert files.path.endswith("store") and files.num_keys() == 2 and files.timeout == timedelta(seconds=300)
    inner = dist.PrefixStore("o", dist.PrefixStore("p", files))
    inner.set("k", "1")
    assert files.get("p/o/k") == b"1" and inner.check(["k"]) and inner._underlying_non_prefix_store is files


def test_a_store_waits_for_other_threads():
    import threading

    store = dist.HashStore()
    threading.Timer(0.05, store.set, ("late", "1")).start()
    store.wait(["late"], timedelta(seconds=20))
    assert store.get("late") == b"1"


@pytest.mark.parametrize("method", ["file", "tcp", "env"])
def test_ways_to_start(method, tmp_path, monkeypatch):
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "localhost"), ("MASTER_PORT", "29500")):
        monkeypatch.setenv(name, value)
    url = {"file": f"file://{tmp_path}/x", "tcp": "tcp://127.0.0.1:29777", "env": None}[method]
    dist.init_process_group("gloo", init_method=url, rank=0 if url else -1, world_size=1 if url else -1)
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo")
    dist.destroy_process_group()
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        dist.destroy_process_group()


def test_what_nothing_tells(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="env:// rendezvous: environment variable RANK expected, but not set"):
        dist.init_process_group("gloo")
    with pytest.raises(ValueError, match="file:// rendezvous: rank parameter missing"):
        dist.init_process_group("gloo", init_method="file:///tmp/none")
    with pytest.raises(AssertionError, match="world_size must be positive if using store"):
        dist.init_process_group("gloo", store=dist.HashStore())
    with pytest.raises(AssertionError, match="Cannot specify both init_method and store"):
        dist.init_process_group("gloo", store=dist.HashStore(), init_method="env://", rank=0, world_size=1)
    with pytest.raises(AssertionError, match="Unknown backend type wat"):
        dist.init_process_group("wat", store=dist.HashStore(), rank=0, world_size=1)


@pytest.mark.parametrize(
    ("backend", "found"),
    [(None, ("undefined", "gloo")), ("GLOO", ("gloo", "gloo")), ("cpu:gloo", ("cpu:gloo", "gloo"))],
)
def test_names_of_groups(backend, found):
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    world = dist.group.WORLD
    assert (dist.get_backend(), world.name(), world.group_name, world.group_desc) == (*found, "0", "default_pg")
    assert dist.new_group([0]).group_name == "1" and dist.get_pg_count() == 2
    dist.destroy_process_group()


def test_groups(group):
    part = dist.new_group([0])
    assert (part.rank(), part.size(), dist.get_process_group_ranks(part), dist.get_group_rank(part, 0)) == (
        0,
        1,
        [0],
        0,
    )
    assert dist.distributed_c10d._resolve_process_group(part.group_name) is part
    assert dist.get_backend_config() == "cpu:gloo,cuda:gloo"
    for ranks, text in (
        ([0, 1], "less or equal to the world size"),
        ([1], "Rank 1 is out of range"),
        ([0, 0], "duplicate"),
    ):
        with pytest.raises(ValueError, match=text):
            dist.new_group(ranks)
    with pytest.raises(ValueError, match="Rank 0 has appeared in both subgroup"):
        dist.new_subgroups_by_enumeration([[0], [0]])
    with pytest.raises(ValueError, match="Rank 1 is out of range"):
        dist.new_subgroups_by_enumeration([[0], [1], [0]])
    mine, every = dist.new_subgroups_by_enumeration([(0,)])
    assert every == [mine] and mine.size() == 1
    dist.destroy_process_group(part)
    with pytest.raises(ValueError, match="is not registered, please create group"):
        dist.get_rank(part)


def test_collectives_copy(group):
    x = torch.arange(4.0)

    def into(function, *arguments, **options):
        out = torch.zeros(4)
        function(out, *arguments, **options)
        return out.tolist()

    expected = [0.0, 1.0, 2.0, 3.0]
    assert into(dist.all_gather_into_tensor, x) == into(dist.reduce_scatter_tensor, x) == expected
    assert into(dist.scatter, [x], 0) == into(dist.reduce_scatter, [x]) == into(dist.all_to_all_single, x) == expected
    lists = [torch.zeros(4)], [torch.zeros(4)], [[torch.zeros(4)]]
    dist.all_gather(lists[0], x)
    dist.gather(x, lists[1], group_dst=0)
    dist.all_gather_coalesced(lists[2], [x])
    assert lists[0][0].tolist() == lists[1][0].tolist() == lists[2][0][0].tolist() == expected
    work = dist.all_reduce(x, op=dist.ReduceOp.MAX, async_op=True)
    assert work.wait() and work.is_completed() and work.get_future().value()[0] is x and work.result() == [x]
    y = torch.zeros(4)
    ops = [dist.P2POp(dist.isend, x, 0), dist.P2POp(dist.irecv, y, 0)]
    assert [w.wait() for w in dist.batch_isend_irecv(ops)] == [True, True] and y.tolist() == expected
    objects = [None]
    dist.scatter_object_list(objects, [{"a": 1}], 0)
    assert objects == [{"a": 1}] and dist.monitored_barrier() is None
    with dist._coalescing_manager(group, async_ops=True) as manager:
        dist.all_reduce(x)
    manager.wait()
    leaf = torch.ones(2, requires_grad=True)
    dist.broadcast(leaf, 0)
    dist.all_gather_into_tensor(leaf, torch.zeros(2))
    assert leaf.tolist() == [0.0, 0.0] and leaf.requires_grad and leaf.is_leaf


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: dist.all_reduce([1]), TypeError, "Expected parameter `tensor` of type torch.Tensor"),
        (lambda x: dist.all_gather(x, x), TypeError, r"Expected parameter `tensor_list` of type List\[torch.Tensor\]"),
        (lambda x: dist.all_gather([x.int()], x), ValueError, "different dtypesFound torch.int32 and  torch.float32"),
        (
            lambda x: dist.all_gather([x, x], x),
            RuntimeError,
            r"invalid output tensor list at index 0 \(expected length 1, got 2\)",
        ),
        (
            lambda x: dist.all_gather([x[:3]], x),
            RuntimeError,
            r"invalid tensor size at index 0 \(expected \(4\), got \(3\)\)",
        ),
        (lambda x: dist.broadcast(x, 3), RuntimeError, "ProcessGroupGloo::broadcast: invalid root rank: 3"),
        (lambda x: dist.broadcast(x), ValueError, "Must specify global_rank or group_rank"),
        (lambda x: dist.broadcast(x, 0, group_src=0), ValueError, "Can't specify both group_rank and global_rank"),
        (lambda x: dist.gather(x), ValueError, "``gather_list`` must be specified on destination rank"),
        (lambda x: dist.gather(x, [x], dst=1), ValueError, "``gather_list`` must NOT be specified on non-destination"),
        (lambda x: dist.scatter(x, [x, x]), RuntimeError, "Incorrect input list size 2"),
        (lambda x: dist.reduce_scatter(x, [x, x]), RuntimeError, "invalid input tensor list size, must be world size"),
        (lambda x: dist.all_to_all([x, x], [x]), RuntimeError, "output tensor list size 2 does not match world size 1"),
        (lambda x: dist.all_to_all_single(x, x, [3], [3]), RuntimeError, "Split sizes doesn't match total dim 0 size"),
        (lambda x: dist.send(x, 0), ValueError, "destination rank should not be the same as the rank of the current"),
        (lambda x: dist.recv(x, 1), ValueError, "Invalid source rank: 1 is no rank of a group of 1 processes"),
        (lambda x: dist.P2POp(print, x, 0), ValueError, "Invalid ``op``"),
        (
            lambda x: dist.all_reduce(x.to(torch.complex64), op=dist.ReduceOp.MAX),
            ValueError,
            "does not support RedOpType.MAX",
        ),
        (lambda x: dist.split_group(None, [[0]]), RuntimeError, "No device associated with the default pg"),
    ],
)
def test_errors(group, call, error, text):
    with pytest.raises(error, match=text):
        call(torch.arange(4.0))
