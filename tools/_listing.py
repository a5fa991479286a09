"""``--list-passes`` and ``--show-dialects``."""

import dataclasses
from collections.abc import Mapping

from ..compiler.ir.dialects import fuse, tt
from ..compiler.mlir import ext
from ..passes.pass_base import Pass
from ..passes.pipeline_text import option_name, option_text, option_types


def list_passes(passes: Mapping[str, type[Pass]]) -> str:
    """Each pass with its summary and its options, with their types and defaults.

    A pass that cannot be imported is listed with the error.
    """
    return "".join(f"{line}\n" for name in passes for line in _pass_lines(name, passes))


def _pass_lines(name: str, passes: Mapping[str, type[Pass]]) -> list[str]:
    try:
        cls = passes[name]
    except Exception as error:
        return [f"--{name}", f"      cannot be imported: {type(error).__name__}: {error}"]
    lines = [f"--{name}", f"      {summary(cls)}"]
    types = option_types(cls)
    for field in dataclasses.fields(cls):
        default = "" if field.default is dataclasses.MISSING else f" = {option_text(field.default)}"
        lines.append(f"      {option_name(field.name)}: {types[field.name]}{default}")
    return lines


def summary(cls: type) -> str:
    """The first sentence of a class's docstring, on one line."""
    lines: list[str] = []
    for line in (cls.__doc__ or "").strip().splitlines():
        if not line.strip():
            break
        lines.append(line.strip())
    return " ".join(lines)


def show_dialects() -> str:
    """The project's dialects with their ops, types and attributes."""
    lines: list[str] = []
    for dialect in (fuse.Fuse, tt.TT):
        kinds = dialect_classes(dialect)
        lines.append(f"{dialect.DIALECT_NAMESPACE}: {summary(dialect)}")
        for kind, classes in kinds.items():
            if classes:
                lines.append(f"  {kind}: {', '.join(sorted(classes))}")
    return "\n".join(lines) + "\n"


def dialect_classes(dialect: type[ext.Dialect]) -> dict[str, dict[str, type]]:
    """Full name -> class, of the ops, types and attributes of a dialect in their order of definition."""
    return {
        "ops": {cls.OPERATION_NAME: cls for cls in dialect.operations},
        "types": {cls.type_name: cls for cls in dialect.types},
        "attributes": {cls.attr_name: cls for cls in dialect.attributes},
    }
