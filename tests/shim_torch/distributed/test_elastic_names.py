"""``torch.distributed.elastic``: what programs that subclass its agents import; expected values are PyTorch 2.13's."""

from __future__ import annotations

import logging
import socket

import pytest

from shim_torch.distributed.elastic import metrics
from shim_torch.distributed.elastic.agent.server.api import RunResult, WorkerSpec, WorkerState
from shim_torch.distributed.elastic.agent.server.local_elastic_agent import LocalElasticAgent
from shim_torch.distributed.elastic.multiprocessing import Std, start_processes
from shim_torch.distributed.elastic.utils import macros
from shim_torch.distributed.elastic.utils.distributed import get_free_port, get_socket_with_port
from shim_torch.distributed.elastic.utils.logging import get_logger


def test_an_argument_names_the_local_rank():
    given = ["x", macros.local_rank, 3, None, "$local_rank-${local_rank}", "$other", "$$local_rank"]
    assert macros.substitute(given, "5") == ["x", "5", 3, None, "5-5", "$other", "$local_rank"]
    assert given[1] == "${local_rank}"


def test_a_free_port_can_be_bound():
    port = get_free_port()
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", port))
    with get_socket_with_port() as listening:
        socket.create_connection(listening.getsockname()[:2]).close()


def test_the_environment_says_a_loggers_level(monkeypatch):
    monkeypatch.delenv("LOGLEVEL", raising=False)
    assert get_logger("an.agent").level == logging.WARNING
    assert get_logger().name == __name__
    monkeypatch.setenv("LOGLEVEL", "INFO")
    assert get_logger("an.agent").level == logging.INFO
    monkeypatch.setenv("LOGLEVEL", "10")
    with pytest.raises(ValueError, match="Unknown level: '10'"):
        get_logger("an.agent")


def test_numbers_go_to_the_handler_of_their_group(monkeypatch):
    monkeypatch.setattr(metrics.api, "_of_groups", dict(metrics.api._of_groups))
    seen = []

    class Handler(metrics.MetricHandler):
        def emit(self, metric_data):
            seen.append((metric_data.group_name, metric_data.name, metric_data.value))

    metrics.put_metric("nobody", 1)
    metrics.configure(Handler(), "g")
    metrics.put_metric("a", 1, "g")
    metrics.put_metric("b", 2)
    metrics.getStream("g").add_value("q", 2)
    metrics.configure(Handler())
    metrics.put_metric("b", 2, "new")
    metrics.put_metric("c", 3)
    assert seen == [("g", "a", 1), ("g", "q", 2), ("new", "b", 2), ("torchelastic", "c", 3)]
    with pytest.raises(TypeError, match="abstract"):
        metrics.MetricHandler()


def test_calls_emit_how_they_ended(monkeypatch, capsys):
    monkeypatch.setattr(metrics.api, "_of_groups", {None: metrics.ConsoleMetricHandler()})

    @metrics.prof
    def works():
        return 3

    @metrics.prof(group="g")
    def fails():
        raise ValueError

    assert works() == 3
    with pytest.raises(ValueError):
        fails()
    names = [
        line.split("]: ")[0].split("[")[-1] + line.rsplit(".<locals>", 1)[1]
        for line in capsys.readouterr().out.splitlines()
    ]
    assert names == [
        "torchelastic.works.success=1",
        "torchelastic.works.duration.ms=0",
        "g.fails.failure=1",
        "g.fails.duration.ms=0",
    ]


def test_states_and_results_of_workers():
    assert [s for s in WorkerState if WorkerState.is_running(s)] == ["HEALTHY", "UNHEALTHY"]
    assert RunResult(WorkerState.FAILED).is_failed()
    done = RunResult(WorkerState.SUCCEEDED)
    assert (done.is_failed(), done.return_values, done.failures) == (False, {}, {})


def test_where_the_output_of_workers_goes():
    assert Std.from_str("2") is Std.ERR
    assert Std.from_str("0:1,1:3") == {0: Std.OUT, 1: Std.ALL}
    for text in ("4", "x", "0:5", "0:1,1", ""):
        with pytest.raises(ValueError, match="does not match"):
            Std.from_str(text)


def test_agents_are_named_and_refused():
    class Agent(LocalElasticAgent):
        pass

    for made in (Agent, WorkerSpec, start_processes):
        with pytest.raises(
            NotImplementedError, match=r"torch.distributed.elastic.*torchrun's agent is of another kind"
        ):
            made()
