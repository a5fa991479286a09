"""``compile_budget``: what can be kept is kept, and what breaks it is told with its decision and line."""

import logging
from typing import Any

import pytest
import torch
from compiling import Compiled
from made_up_gpu import made_up_gpu

import fuse_mlir
from fuse_mlir.compiler.base.options import OptionError, Options

pytestmark = pytest.mark.usefixtures("fresh_dynamo")


def broken_in_two(x):
    y = x + 1
    torch._dynamo.graph_break()
    return (y * 2).sum(0).exp()


LINE = broken_in_two.__code__.co_firstlineno + 1
SHAPES = ((3,), (3, 4))


def warnings(caplog: pytest.LogCaptureFixture, budget: dict[str, Any], **options: Any) -> list[str]:
    """What is told of the budget while two shapes are compiled; the answers are compared."""
    graphs: list[Any] = []
    chosen = {"compile_budget": budget, "cache": False, "on_compiled": graphs.append, **options}
    compiled = torch.compile(broken_in_two, backend=fuse_mlir.backend, dynamic=False, options=chosen)
    with caplog.at_level(logging.WARNING):
        for shape in SHAPES:
            torch.testing.assert_close(compiled(torch.ones(shape)), broken_in_two(torch.ones(shape)))
    said = [r.getMessage().replace(__file__, "FILE") for r in caplog.records]
    caplog.clear()
    return [f"{len(graphs)} graphs", *(text for text in said if "compile_budget" in text)]


def test_graphs_over_the_count_run_in_torch(caplog) -> None:
    """The dictionary is the budget: another torch.compile that gets it goes on with it."""
    limit = {"graphs": 1}
    kept, first, *rest = warnings(caplog, limit)
    behind = f"is behind the graph break at FILE:{LINE + 1} (TORCH_LOGS=graph_breaks says why)"
    assert kept == "1 graphs" and len(rest) == 2
    assert first == f"compile_budget: 2 graphs and not 1: the one at FILE:{LINE + 2} {behind}; torch runs it"
    again = "is compiled again for other arguments (TORCH_LOGS=recompiles says which); torch runs it"
    assert rest[0] == f"compile_budget: 3 graphs and not 1: the one at FILE:{LINE} {again}"
    torch._dynamo.reset()
    assert warnings(caplog, limit)[0] == "0 graphs"
    torch._dynamo.reset()
    assert warnings(caplog, dict(limit))[0] == "1 graphs"


def test_the_seconds_name_what_took_most(caplog) -> None:
    kept, over, after, *_ = warnings(caplog, {"seconds": 1e-6})
    assert (
        kept == "1 graphs"
        and over.startswith("compile_budget: ")
        and " s and not 1e-06 s; most took " in over
    )
    assert f"of the inference graph at FILE:{LINE}, 0." in over
    assert f"the 1e-06 s were spent before the graph at FILE:{LINE + 2}; most took" in after
    torch._dynamo.reset()
    assert "no graph was compiled in them; torch runs it" in warnings(caplog, {"seconds": 0})[1]


def held(x):
    a, b = x.sum(1), x.cumsum(1).sort(1).values
    return a[:, None] * b.cos()


def test_a_memory_plan_names_the_launch_and_what_it_holds(caplog) -> None:
    options = {"interpret_level": "planned", "cache": False}
    compiled = Compiled(held, {"compile_budget": {"peak_bytes": 5000}, **options})
    with caplog.at_level(logging.WARNING):
        compiled(torch.randn(32, 64))
    (told,) = [r.getMessage() for r in caplog.records if "compile_budget" in r.getMessage()]
    line = held.__code__.co_firstlineno + 1
    assert "the inference graph allocates " in told and "bytes at a time and not 5000, " in told
    at = f"at {__file__}:{line}"
    assert f"while sort {at} runs it has 8192 of cumsum {at}, 8192 of sort {at}" in told
    (remark,) = [r for r in compiled.graphs[0].remarks.items if r.rule == "peak-bytes"]
    assert remark.message in told and f'{__file__}":{line}:' in remark.locations[0]
    caplog.clear()
    enough = {"peak_bytes": 100_000, "graphs": 1, "seconds": 600}
    Compiled(held, {"compile_budget": enough, **options})(torch.randn(32, 64))
    assert "compile_budget" not in caplog.text


@pytest.mark.parametrize("options", [{"compile_budget": {"peak_bytes": 1}}, {"memory_limit": 1}])
def test_a_graph_without_a_memory_plan_is_told_of(options: dict[str, Any], caplog) -> None:
    """On a CPU nothing plans memory by default, so nothing keeps a limit of it."""
    with caplog.at_level(logging.WARNING):
        Compiled(held, {**options, "cache": False})(torch.randn(32, 64))
    [name] = options
    (told,) = [r.getMessage() for r in caplog.records if name in r.getMessage()]
    assert told.startswith(f"{name}: nothing checks the memory of the inference graph, which has no plan: ")


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        ({"graphs": 0}, "BudgetExceeded: compile_budget: 1 graph and not 0: the one at "),
        ({"seconds": 1e-6}, "BudgetExceeded: compile_budget: [0-9]"),
        ({"peak_bytes": 1}, "BudgetExceeded: compile_budget: the inference graph allocates "),
    ],
)
def test_strict_raises(budget, sentence) -> None:
    compiled = Compiled(held, {"compile_budget": budget, "strict": True, "interpret_level": "planned"})
    with pytest.raises(Exception, match=sentence) as caught:
        compiled(torch.randn(32, 64))
    assert "torch runs it" not in str(caught.value)


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        ({"second": 1}, "has 'second': it limits seconds, graphs, peak_bytes"),
        ({"seconds": -1}, "has seconds=-1: expected a number of at least 0"),
        ({"seconds": float("nan")}, "has seconds=nan: expected a number of at least 0"),
        ({"seconds": "60"}, "has seconds='60': expected a number of at least 0"),
        ({"graphs": 1.5}, "has graphs=1.5: expected an integer of at least 0"),
        ({"graphs": True}, "has graphs=True: expected an integer of at least 0"),
        ({"peak_bytes": None}, "has peak_bytes=None: expected an integer of at least 0"),
        (60, "takes a dict of seconds, graphs and peak_bytes or None, got 60"),
    ],
)
def test_what_is_no_budget_is_refused(budget, sentence) -> None:
    with pytest.raises(OptionError) as caught:
        Options.of({"compile_budget": budget})
    assert str(caught.value) == f"option 'compile_budget' {sentence}"


def test_searches_have_the_seconds_that_are_left_and_keys_do_not_know(tmp_path) -> None:
    options = {"autotune": True, "cache_dir": str(tmp_path), "compile_budget": {"seconds": 1e-6}}
    assert Options.of(options).text() == Options.of({**options, "compile_budget": None}).text()
    assert told_of(options) == ["what is not measured is as the rules choose: no time is left"]


def test_a_search_that_its_own_seconds_end_is_no_matter_of_the_budget(tmp_path) -> None:
    options = {"autotune": True, "cache_dir": str(tmp_path), "autotune_seconds": 0}
    assert told_of({**options, "compile_budget": {"seconds": 600}}) == told_of(options) == []


def told_of(options: dict[str, Any]) -> list[str]:
    """The remarks on the budget of a graph that is compiled as for a GPU."""
    compiled = Compiled(lambda x: (x * 2).softmax(1).sum(0), options)
    with made_up_gpu():
        compiled(torch.randn(64, 64))
    return [r.message for r in compiled.graphs[0].remarks.items if r.pass_name == "compile-budget"]
