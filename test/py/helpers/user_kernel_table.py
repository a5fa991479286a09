"""What the analysis of users' kernels finds beside torch's own, as the table in ``docs/user-kernels.md``.

python test/py/helpers/user_kernel_table.py            # prints the table
python test/py/helpers/user_kernel_table.py --write    # puts it into the page
"""

import argparse
import logging
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import effectful_kernels as effectful
import torch
from repository import ROOT
from torch import Tensor
from torch._higher_order_ops import triton_kernel_wrap
from torch._subclasses.fake_tensor import FakeTensorMode
from user_kernel_models import LAUNCHES

from fuse_mlir.compiler.frontend.user_kernels.analysed_facts import facts_of
from fuse_mlir.compiler.frontend.user_kernels.facts import UserKernelFacts

PAGE = ROOT / "docs" / "user-kernels.md"
BEGIN, END = "<!-- begin: user_kernel_table.py -->\n", "<!-- end: user_kernel_table.py -->\n"


class _Driver:
    """Triton's driver of a machine with an H100, for torch's analysis, which asks for its target."""

    @staticmethod
    def get_current_target() -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)


def launches() -> Iterator[tuple[Any, dict[str, Any]]]:
    """The kernels and their arguments."""
    for launch in LAUNCHES:
        yield launch.kernel, launch.arguments()
    x, numbers = torch.ones(64), torch.zeros(64, dtype=torch.int64)
    one = {"x": x, "n": 64, "block": 64}
    yield effectful.descriptor_add_kernel, {**one, "out": x}
    yield (
        effectful.descriptor_scatter_kernel,
        {**one, "rows": numbers.int(), "out": x, "width": 8, "block": 8},
    )
    yield effectful.through_table_kernel, {**one, "table": numbers}
    yield effectful.assert_kernel, one
    yield effectful.print_kernel, one
    yield effectful.print_and_double_kernel, {**one, "out": x}
    yield effectful.pure_kernel, one
    yield effectful.sometimes_kernel, {**one, "a": x, "b": x}


def torch_finds(kernel: Any, given: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """The tensors that torch's analysis says are read, and those that it says are written."""
    tensors = {name for name, value in given.items() if isinstance(value, Tensor)}
    with FakeTensorMode() as mode:
        fake = {name: mode.from_tensor(v) if name in tensors else v for name, v in given.items()}
    import triton

    with mock.patch.object(type(triton.runtime.driver), "active", _Driver):
        accesses = triton_kernel_wrap.identify_accessed_tensors(kernel, fake, {}).read_writes
    return {d.name for d in accesses.reads} & tensors, {d.name for d in accesses.writes} & tensors


def table() -> str:
    """The differences, with how many kernels there are, as Markdown."""
    logging.getLogger(triton_kernel_wrap.__name__).setLevel(logging.ERROR)
    rows, count = [], 0
    for kernel, given in launches():
        count += 1
        reads, writes = torch_finds(kernel, given)
        facts = facts_of(kernel, given, {})
        ours = {name for name, effects in facts.parameters.items() if effects.read}
        written = set(facts.written)
        row = [_also(ours - reads), _also(reads - ours), _also(written - writes), _effect(facts)]
        assert not writes - written, "torch finds a write that the analysis does not"
        if any(row):
            name = getattr(kernel, "fn", kernel).__name__
            rows.append(f"| `{name}` | {' | '.join(cell or '-' for cell in row)} |")
    head = ["| kernel | also read | not read | also written | effect |", "|---|---|---|---|---|"]
    said = f"{count} kernels, {len(rows)} with differences:\n"
    return "\n".join([said, *head, *rows, ""])


def _also(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _effect(facts: UserKernelFacts) -> str:
    return "must run" if facts.effect else ""


def page(text: str) -> str:
    """The page with a new table."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())
