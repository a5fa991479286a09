"""docs/options.md: the options of the backend, from the docstring and the fields of ``Options``."""

import dataclasses
import inspect
import os
import re
import typing

from ..compiler.base.options import MODES, Options, describe
from ._markdown import markdown

_INTRODUCTION = """\
# Options

`torch.compile(model, backend="fuse", options={...})` takes these. An unknown name is an `OptionError` that
names the nearest one, and so is a value of the wrong type. Those to know first:

- `strict`: an op that cannot be generated is an error that names the op, its shapes and your line
- `dump`, `report`: a folder with the IR after every pass; a page with what runs and what was not fused
- `verify="numeric"`, `check_values="nan"`: name the pass that changed an answer, and the launch that
  wrote a NaN first
- `rounding="eager"`: rounds after each 16-bit op inside a kernel, as eager does, in place of computing in
  float32 between them, as Inductor does ([figures](performance/tables.md#rounding))
- `products="generated"`: kernels of all products that can be one; with `attention=False` one kernel of
  [spelled-out attention](attention.md)
- `pipeline`, `fx_pass`, `output="fx"`: your own [passes](../examples/custom_pipeline.py), your own [pass
  over FX graphs](../examples/custom_fx_pass.py), the program as a [`GraphModule`](../examples/fx_output.py)
- `deterministic`: equal bits in every run and after every restart
- `cache_dir`, `cache=False`: where [compiled programs are kept](cache.md); keeps none

`mode=` sets some of them:

"""


def options_page(header: str) -> str:
    """The modes, then a section for each option: its values, its default, what it does."""
    lines = [*_INTRODUCTION.splitlines()]
    for mode, given in MODES.items():
        lines.append(f"- `{mode}`: " + (", ".join(f"`{k}={v}`" for k, v in given.items()) or "all defaults"))
    defaults, hints = _defaults(), typing.get_type_hints(Options)
    described = _descriptions()
    for field in dataclasses.fields(Options):
        lines += [
            "",
            f"## {field.name}",
            f"Takes {describe(hints[field.name])}; the default is {getattr(defaults, field.name)!r}.",
            "",
            markdown(described[field.name]),
        ]
    return header + "\n".join(lines) + "\n"


def _defaults() -> Options:
    """The defaults where the environment says nothing."""
    said = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("FUSE_MLIR_")}
    try:
        return Options()
    finally:
        os.environ.update(said)


def _descriptions() -> dict[str, str]:
    """What the docstring says of each option; paragraphs start at its margin with ``name: ``."""
    text = inspect.cleandoc(Options.__doc__ or "")
    found = re.findall(r"^(\w+): (.*?)(?=^\w+: |\Z)", text, re.MULTILINE | re.DOTALL)
    return {name: _sentence("\n".join(map(str.strip, body.splitlines()))) for name, body in found}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
