"""Reproducers: a module with the pipeline to run on it, in the form that mlir-opt writes and reads."""

import json
import re
from dataclasses import replace

from ..compiler.base.dataclass import dataclass
from ._source import Source

_SECTION = re.compile(r"^\{-#\s*$.*?^#-\}\s*$", re.MULTILINE | re.DOTALL)
_PIPELINE = re.compile(r'\bpipeline:\s*("(?:[^"\\]|\\.)*")')
_VERIFY = re.compile(r"\bverify_each:\s*(true|false)")


class NotAReproducer(ValueError):
    """The input has no ``mlir_reproducer`` resource."""


@dataclass(frozen=True)
class Reproducer:
    """The contents of a reproducer.

    ``source`` is the input with blanks in place of the resource, so that line numbers stay the same.
    """

    source: Source
    pipeline: str
    verify_each: bool


def reproducer_text(module: str, pipeline: str, *, verify_each: bool) -> str:
    """``module`` followed by the resource that names the pipeline."""
    return (
        f"{module.rstrip()}\n\n{{-#\n  external_resources: {{\n    mlir_reproducer: {{\n"
        f"      pipeline: {json.dumps(pipeline)},\n      disable_threading: true,\n"
        f"      verify_each: {'true' if verify_each else 'false'}\n    }}\n  }}\n#-}}\n"
    )


def read_reproducer(source: Source) -> Reproducer:
    """Takes the resource out of a source.  Raises ``NotAReproducer``."""
    section = next((m for m in _SECTION.finditer(source.text) if "mlir_reproducer" in m[0]), None)
    pipeline = None if section is None else _PIPELINE.search(section[0])
    if section is None or pipeline is None:
        raise NotAReproducer(
            f"{source.name} is no reproducer: it has no mlir_reproducer resource with a pipeline"
        )
    verify = _VERIFY.search(section[0])
    text = source.text[: section.start()] + "\n" * section[0].count("\n") + source.text[section.end() :]
    return Reproducer(
        replace(source, text=text), json.loads(pipeline[1]), verify is None or verify[1] == "true"
    )
