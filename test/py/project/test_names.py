"""A name means one thing: no two public classes of the compiler, its passes and its tools share theirs.

The classes of a dialect are left out: they are named after its ops, and each dialect is a namespace.
"""

import ast
from collections import defaultdict

from repository import ROOT


def public_classes() -> dict[str, list[str]]:
    """The files that define a class, by the class's name."""
    found: dict[str, list[str]] = defaultdict(list)
    for top in ("compiler", "integrations", "logs", "passes", "tools"):
        for path in sorted((ROOT / top).rglob("*.py")):
            if path.parent.name == "dialects":
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(path.relative_to(ROOT).as_posix())
    return found


def test_no_two_classes_share_a_name():
    assert {name: files for name, files in public_classes().items() if len(files) > 1} == {}
