"""What differs between two versions of torch and matters here:
``python -m fuse_mlir.tools.torch_differences OLD NEW``.

OLD and NEW are interpreters, such as ``.venv/bin/python`` and ``.venv-torch-2.15.0/bin/python``. It prints
- ops that this compiler's sources name: overloads that are gone, that are new, or that have another schema;
- functional collectives, named or not: what starts and what waits must be known (``fx/in_flight.py``);
- higher-order ops that are gone or new, and whether the sources name them;
- switches that are new: one that changes results must be in keys (``fx/torch_state.py``), or be refused.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ._private_names import package_sources

_COLLECTIVES = ("_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "symm_mem", "_dtensor")
#: Overloads of named tensors, which no graph holds.
_NAMED = re.compile(r"\.\w*(?:names|dimname)\w*$", re.IGNORECASE)
_PACKET = re.compile(r"\b(?:aten|prims|prim|inductor|quantized|quantized_decomposed)\.(\w+)")


def main(arguments: list[str] | None = None) -> int:
    """Prints the differences. The exit code is 0 also where there are some."""
    given = sys.argv[1:] if arguments is None else arguments
    if len(given) != 2:
        print("usage: torch_differences OLD NEW, two interpreters with a torch each", file=sys.stderr)
        return 2
    old, new = (_facts_of(interpreter) for interpreter in given)
    sources = "\n".join(package_sources(Path(__file__).resolve().parents[1]).values())
    print(f"torch {old['version']} -> {new['version']}")
    for line in differences(old, new, sources):
        print(line)
    return 0


def differences(old: Mapping[str, Any], new: Mapping[str, Any], sources: str) -> Iterator[str]:
    """The lines about what ``_torch_facts`` says of two versions, and the text of this package's sources."""
    packets = {match[0] for match in _PACKET.finditer(sources)}
    yield "ops that the sources name:"
    yield from _schemas(old["ops"], new["ops"], lambda name: _packet(name) in packets)
    yield "functional collectives:"
    yield from _schemas(
        old["ops"], new["ops"], lambda name: name.startswith(tuple(f"{c}." for c in _COLLECTIVES))
    )
    yield "higher-order ops:"
    for name in sorted(set(old["higher_order"]) ^ set(new["higher_order"])):
        known = "named" if re.search(rf"\b{re.escape(name)}\b", sources) else "not named"
        yield f"  {'new' if name in new['higher_order'] else 'gone'}: {name} ({known} in the sources)"
    yield "switches:"
    for name in sorted(set(old["settings"]) ^ set(new["settings"])):
        yield f"  {'new' if name in new['settings'] else 'gone'}: {name}"


def _packet(name: str) -> str:
    """The packet of an overload; "" for one of named tensors."""
    return "" if _NAMED.search(name) else name.rpartition(".")[0]


def _schemas(old: Mapping[str, str], new: Mapping[str, str], chosen: Callable[[str], bool]) -> Iterator[str]:
    for name in sorted(name for name in {*old, *new} if chosen(name)):
        if name not in new:
            yield f"  gone: {old[name]}"
        elif name not in old:
            yield f"  new: {new[name]}"
        elif old[name] != new[name]:
            yield f"  was: {old[name]}\n  now: {new[name]}"


def _facts_of(interpreter: str) -> dict[str, Any]:
    script = Path(__file__).with_name("_torch_facts.py")
    done = subprocess.run([interpreter, str(script)], stdout=subprocess.PIPE, check=True)
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


if __name__ == "__main__":
    sys.exit(main())
