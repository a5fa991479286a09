"""docs/rewrites.md: the rewrites of FX graphs, from the tables of ``rewrites/stages.py`` and docstrings."""

import inspect
import sys
from collections.abc import Iterator

from ..compiler.rewrites.rewriting import Rewrite
from ..compiler.rewrites.stages import STAGES, Stage
from ._markdown import markdown, table
from ._rewrite_tests import TESTS

_INTRODUCTION = """\
# Rewrites of FX graphs

A rewrite changes an FX graph before the import. An MLIR pass would come too late for it. A rewrite calls
other library ops of torch, changes what AOTAutograd saves for the backward pass, or chooses strides, which
torch's meta functions propagate. The rewrites run in the stages below, from top to bottom
(`compiler/rewrites/stages.py`). Some are in two stages.

**Which rewrite did this?** A rewrite that fires leaves one remark for each graph and stage in which it fires,
with its name, how often it fired there, the new nodes and your lines:

```text
passed: pad-products: rewritten, count=1: the sizes of a 16-bit matrix product are padded with zeros to whole
    vectors of the tensor cores [constant_pad_nd + mm_1 + slice_1] at model.py:12
```

`graph.remarks` has it; `options={"remarks": "text"}` writes it to the log
([Read a remark](../README.md#read-a-remark)). The remarks of the stages `captured` and `joint` are in
`graph.remarks` of the first graph that is compiled afterwards, which with gradients is the forward graph. A
graph from the program cache has the remarks that were stored with it. If the captured graph is in the cache,
no rewrite runs (`compiler/driver/cache_hit.py`).

`option` in the tables is one of `torch.compile(.., options={..})`. `epilogues` and `layouts` are on for
graphs on a GPU, unless the option says otherwise. What is always on has no switch. Sub-graphs of higher-order
ops get `gathers` alone, when they are imported.
"""


def rewrites_page(header: str) -> str:
    """Every stage with its rewrites in order, then every rewrite."""
    lines = [*_INTRODUCTION.splitlines(), ""]
    for stage in STAGES:
        lines += [*_stage_section(stage), ""]
    every = {step.rewrite.name: step.rewrite for stage in STAGES for step in stage.steps}
    for rewrite in every.values():
        lines += [*_rewrite_section(rewrite), ""]
    return header + "\n".join(lines).rstrip() + "\n"


def _stage_section(stage: Stage) -> Iterator[str]:
    yield from (f"## Stage: {stage.name}", "", stage.graph, "")
    rows = [
        (f"[`{s.rewrite.name}`](#{s.rewrite.name})", s.rewrite.remark, s.switch.value, s.reason)
        for s in stage.steps
    ]
    yield from table(("rewrite", "what it does", "runs", "why here"), rows)


def _rewrite_section(rewrite: Rewrite) -> Iterator[str]:
    module = sys.modules[rewrite.apply.__module__]
    summary, _, rest = inspect.cleandoc(module.__doc__ or "").partition("\n\n")
    steps = {stage.name: s for stage in STAGES for s in stage.steps if s.rewrite is rewrite}
    switches = dict.fromkeys(s.switch.value for s in steps.values())
    tests = TESTS[rewrite.name]
    yield from (f"## {rewrite.name}", "", markdown(summary), "", markdown(rest, "python"), "")
    rows = [
        ("stage", ", ".join(f"`{name}`" for name in steps)),
        ("runs", ", ".join(switches)),
        ("remark", f"`passed: {rewrite.name}: rewritten, count=..: {rewrite.remark}`"),
        ("source", f"`compiler/{module.__name__.partition('.compiler.')[2].replace('.', '/')}.py`"),
        ("tests", f"`test/py/{tests.file}`: `{tests.fires}`; it must not fire: `{tests.stays}`"),
    ]
    yield from table(("", ""), rows)


__all__ = ["rewrites_page"]
