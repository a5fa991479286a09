"""Entries of the cache that somebody forged, with right checksums: each is refused in one sentence, or is a
program that may run; nothing that an entry names is called but what a plan may name.
"""

import json
import random
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from stored_programs import compiled, entries

from fuse_mlir.compiler.base.pointer_effects import PointerEffects
from fuse_mlir.compiler.driver.program_entry import (
    TrainingLink,
    fits,
    link_bytes,
    read_inference,
    read_program,
    read_training,
)
from fuse_mlir.compiler.frontend.autograd.step_data import Look, TrainingStep
from fuse_mlir.compiler.frontend.user_kernels.facts import UserKernelFacts, facts_bytes, read_facts
from fuse_mlir.compiler.runtime.cache.entry_bytes import from_entry
from fuse_mlir.compiler.runtime.errors import RunError
from fuse_mlir.compiler.runtime.kernels.cubin import CompiledCubin
from fuse_mlir.compiler.runtime.module_text import read_module
from fuse_mlir.compiler.runtime.plans.bound_plan import LaunchPlan
from fuse_mlir.compiler.runtime.plans.extern_function import bind_externs
from fuse_mlir.compiler.runtime.plans.plan import Plan
from fuse_mlir.compiler.runtime.torch_names import resolve

#: Names that must never be called.
NASTY = (
    "os.system", "subprocess.run", "builtins.eval", "builtins.__import__", "torch.load", "torch.hub.load",
    "operator.attrgetter", "operator.methodcaller", "operator.call", "_operator.setitem", "math.__loader__",
    "torch.ops.load_library", "load_library.default.x", "aten.mm.__class__", "aten.__class__.default",
    "aten.from_file.default", "higher_order.__class__", "higher_order.cond.__class__", "__import__('os')",
    "prims.mm.default\nimport os", "aten.mm.default); import os; (",
)  # fmt: skip
VALUES = (
    None,
    True,
    -1,
    0,
    1 << 40,
    10**400,
    1.5,
    float("nan"),
    "",
    "x",
    "lambda: 0",
    [],
    {},
    [[]],
    {"a": 1},
)
LENGTH = struct.Struct("<Q")


def model(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return ((x @ x.T).relu() + 1).softmax(-1).sum(0, dtype=torch.float64)


#: What runs code or makes objects of any class.
RUNS = ("exec", "compile", "os.system", "subprocess.Popen", "pickle.find_class")


class Watch:
    """Tells what Python is asked to run while it is on.

    Nothing takes a hook off again, and Dynamo makes thousands of events for each graph (each ``id`` is one).
    So the hook is no Python function but a dict's own, which keeps what is first said with each event.
    """

    def __init__(self) -> None:
        self._first: dict[str, Any] = {}
        sys.addaudithook(self._first.setdefault)

    def start(self) -> None:
        """From now on what runs is noticed."""
        for event in RUNS:
            self._first.pop(event, None)

    def stop(self) -> list[str]:
        """What ran since the start."""
        seen = [event for event in RUNS if event in self._first]
        self._first.update(dict.fromkeys((*RUNS, *self._first)))  # with no argument: nobody is kept alive
        return seen


@pytest.fixture(scope="module")
def watch() -> Watch:
    return Watch()


@pytest.fixture(scope="module")
def bodies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What an entry of each kind stores."""
    folder = tmp_path_factory.mktemp("cache")
    compiled(folder, model, products="auto")  # one part is a call
    found = {}
    for suffix in (".program", ".captured", ".kernel"):
        path: Path = entries(folder, suffix)[0]
        found[suffix] = from_entry(path.name, path.read_bytes())
    look = Look((6, 24), (24, 1), "float32", "cpu")
    step = TrainingStep((look, look), (True, False), (("input", 0), ("made", 0)), (look,), (look, None))
    found[".trained"] = link_bytes(TrainingLink(step, "0" * 64, "1" * 64))
    found[".facts"] = facts_bytes(UserKernelFacts({"x": PointerEffects(read=True)}, False))
    return found


def places(data: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values inside some data."""
    if way:
        yield way
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*way, key))


def at(data: Any, way: Iterable[Any]) -> Any:
    """What is there."""
    for key in way:
        data = data[key]
    return data


def forged_data(data: Any, draw: random.Random) -> Any:
    """JSON that differs somewhere."""
    data = json.loads(json.dumps(data))
    ways = list(places(data))
    *way, last = draw.choice(ways)
    holder = at(data, way)
    what = draw.randrange(6)
    if what == 0:
        del holder[last]
    elif what == 3:
        holder[last] = json.loads(json.dumps(at(data, draw.choice(ways))))
    elif what == 4 and isinstance(holder[last], str):
        text, place = holder[last], draw.randrange(len(holder[last]) + 1)
        forged = draw.choice("()[]{}<>\"'\\$%:;,.=-+0aé\n\0")
        holder[last] = text[:place] + forged + text[place + draw.randrange(2) :]
    elif what == 1 and isinstance(holder, list):
        holder.insert(last, holder[draw.randrange(len(holder))])
    elif what == 2:
        holder[last] = {draw.choice(("OutputResult", "os.system", "tuple", "__class__")): holder[last]}
    else:
        holder[last] = draw.choice((*VALUES, *NASTY))
    return data


def forged_body(body: bytes, draw: random.Random) -> bytes:
    """What an entry stores, changed behind its checksum."""
    if draw.randrange(8) == 0:
        at = draw.randrange(len(body))
        return body[:at] + draw.randbytes(draw.randrange(4)) + body[at + draw.randrange(4) :]
    end = 8 + LENGTH.unpack_from(body)[0]
    content = json.loads(body[8:end])
    if "plan" in content["data"] and draw.randrange(3):
        content["data"]["plan"] = forged_data(content["data"]["plan"], draw)
    else:
        content = forged_data(content, draw)
    text = json.dumps(content).encode()
    return LENGTH.pack(len(text)) + text + body[end:]


def forged_kernel(body: bytes, draw: random.Random) -> bytes:
    lengths = struct.Struct("<3Q")
    head, ptx, cubin = lengths.unpack_from(body)
    small = json.dumps(forged_data(json.loads(body[24 : 24 + head]), draw)).encode()
    return lengths.pack(len(small), ptx, cubin) + small + body[24 + head :]


def forged_facts(body: bytes, draw: random.Random) -> bytes:
    return json.dumps(forged_data(json.loads(body), draw)).encode()


def bound(plan: Plan) -> None:
    """Brings a plan to life; its operators are those that a plan may name."""
    for extern in plan.externs:
        found = resolve(extern.op)
        overload = isinstance(found, torch._ops.OpOverload | torch._ops.HigherOrderOperator)
        assert overload or extern.op.partition(".")[0] in ("math", "operator", "_operator", "torch"), (
            extern.op
        )
        assert "from_file" not in extern.op
    launchers: dict[str, Callable[..., None]] = {kernel.name: lambda *_: None for kernel in plan.kernels}
    LaunchPlan.bind(plan, launchers, bind_externs(plan, {}), lambda device, count: (0, 0))


def test_what_runs_is_watched(watch: Watch) -> None:
    watch.start()
    exec("1 + 1")
    assert watch.stop() == ["exec", "compile"]
    watch.start()
    assert watch.stop() == []


@pytest.mark.parametrize(
    ("suffix", "read", "forge", "count"),
    [
        (".program", read_program, forged_body, 550),
        (".trained", read_training, forged_body, 200),
        (".captured", read_inference, forged_body, 100),
        (".kernel", CompiledCubin.from_bytes, forged_kernel, 150),
        (".facts", read_facts, forged_facts, 60),
    ],
)
def test_a_forged_entry_is_refused_in_one_sentence_or_runs(
    suffix: str, read: Callable[[bytes], Any], forge: Any, count: int, bodies: dict[str, bytes], watch: Watch
) -> None:
    draw, body, refused = random.Random(suffix), bodies[suffix], 0
    read(body)  # its types are looked at once
    for number in range(count):
        wrong = forge(body, draw)
        watch.start()
        try:
            found = read(wrong)
        except ValueError as error:
            refused += 1
            assert str(error) and "\n" not in " ".join(str(error).split()), number
            continue
        finally:
            assert watch.stop() == [], number
        if suffix == ".program":
            try:
                bound(found[0].plan)
            except RunError as error:
                assert "\n" not in str(error)
    assert refused > count // 3


@pytest.mark.parametrize("name", NASTY)
def test_no_plan_names_what_is_no_operator(name: str) -> None:
    with pytest.raises(RunError, match="no operator is called"):
        resolve(name)


def test_a_forged_module_is_told_of_where_it_is_read() -> None:
    with pytest.raises(RunError, match="the stored module of the program cannot be read"):
        read_module("module { func.func @main( }")


def changed(body: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """An entry whose data is changed."""
    end = 8 + LENGTH.unpack_from(body)[0]
    content = json.loads(body[8:end])
    change(content["data"])
    text = json.dumps(content).encode()
    return LENGTH.pack(len(text)) + text + body[end:]


def is_argument(index: int) -> Callable[[dict[str, Any]], None]:
    """The first output becomes an argument that is handed on."""
    return lambda d: d["interface"]["outputs"].__setitem__(0, {"OutputArgument": {"index": index}})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["interface"]["inputs"].append(0), "its plan does not take"),
        (lambda d: d["interface"]["constants"].append("c"), "its plan does not take"),
        (lambda d: d["interface"].update(inputs=[-1]), "an input that is not there"),
        (lambda d: d["interface"].update(results=5), "its plan does not give 5 results"),
        (lambda d: d["interface"]["outputs"][0]["OutputResult"].update(index=1), "it has no result 1"),
        (is_argument(-1), "it hands on the input -1"),
        (lambda d: d["interface"].update(strides=[]), "the strides of each result"),
        (lambda d: d.update(kernels={}), "its kernels are not those of its plan"),
        (lambda d: next(iter(d["kernels"].values())).update(signature=[]), "its kernels are not those"),
        (
            lambda d: d["plan"]["externs"][0]["arguments"].__setitem__(0, {"Named": {"text": "object:x"}}),
            "names the object 'object:x'",
        ),
    ],
)
def test_a_program_whose_parts_do_not_fit_is_refused(
    change: Any, said: str, bodies: dict[str, bytes]
) -> None:
    with pytest.raises(ValueError, match=said):
        read_program(changed(bodies[".program"], change))


def test_a_program_takes_its_arguments_from_a_graph_that_has_them(bodies: dict[str, bytes]) -> None:
    program, _ = read_program(bodies[".program"])
    assert fits(program, 1) and not fits(program, 0)
    handed, _ = read_program(changed(bodies[".program"], is_argument(3)))
    assert fits(handed, 4) and not fits(handed, 3)
    read_program(changed(bodies[".program"], is_argument(0)))
