"""Every rule that a remark can name is seen by a test: in lit, or where pytest reads remarks.

Rules are found in the source, by what the code calls them: what is given for a parameter or a field
``rule``, what a constant of that name says, and the first of two strings that a function gives back which
says whether a pass is refused.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from repository import LIT, ROOT

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
#: How a remark is printed, and how a test of one gives its rule.
REMARK = re.compile(r"(?:passed|missed|analysis): [a-z0-9-]+: ([a-z0-9-]+)")
QUOTED = re.compile(r"[\"']([a-z0-9-]+)[\"']")
#: Functions with a parameter ``rule`` whose calls are of a common name: only those of remarks count.
COMMON = {"add": "remarks", "check": "remarks", "lower": "remarks"}


def strings(value: ast.AST) -> Iterator[str]:
    return (n.value for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def places(nodes: list[ast.AST]) -> dict[str, set[int]]:
    """The name of a function or class -> at which of its arguments a rule is given."""
    found = defaultdict[str, set[int]](set)
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            fields = [s for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)]
            names = [s.target.id for s in fields if "ClassVar" not in ast.unparse(s.annotation)]
            if "rule" in names:
                found[node.name].add(names.index("rule"))
            for method in (s for s in node.body if isinstance(s, ast.FunctionDef)):
                names = [a.arg for a in method.args.args if a.arg not in ("self", "cls")]
                if "rule" in names:
                    found[node.name if method.name == "__init__" else method.name].add(names.index("rule"))
        elif isinstance(node, ast.FunctionDef):
            names = [a.arg for a in node.args.args]
            if "rule" in names and names[0] not in ("self", "cls"):
                found[node.name].add(names.index("rule"))
    return found


def given(nodes: list[ast.AST], at: dict[str, set[int]]) -> Iterator[ast.AST]:
    """The expressions that say which rule it is."""
    for node in nodes:
        if isinstance(node, ast.Call):
            func = node.func
            name = (
                func.attr
                if isinstance(func, ast.Attribute)
                else func.id
                if isinstance(func, ast.Name)
                else ""
            )
            if name in at and COMMON.get(name, "") in ast.unparse(func):
                yield from (node.args[i] for i in at[name] if i < len(node.args))
            yield from (k.value for k in node.keywords if k.arg == "rule")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id.lower() == "rule":
                yield node.value
        elif isinstance(node, ast.FunctionDef) and "refus" in node.name and node.returns is not None:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Tuple):
                    yield inner.value.elts[0]


def rules(sources: list[str]) -> set[str]:
    nodes = [
        node
        for text in sources
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Call | ast.Assign | ast.AnnAssign)
    ]
    return {s for e in given(nodes, places(nodes)) for s in strings(e) if NAME.fullmatch(s)}


def texts(folder: Path, *suffixes: str) -> list[str]:
    return [p.read_text(encoding="utf-8") for p in sorted(folder.rglob("*")) if p.suffix in suffixes]


def test_every_rule_is_seen() -> None:
    found = rules([t for name in ("passes", "compiler") for t in texts(ROOT / name, ".py")])
    assert len(found) > 100
    here = Path(__file__).read_text(encoding="utf-8")
    seen = {rule for t in texts(LIT, ".mlir") for rule in REMARK.findall(t)}
    tests = (t for t in texts(ROOT / "test" / "py", ".py") if t != here)
    seen |= {rule for t in tests for rule in (*QUOTED.findall(t), *REMARK.findall(t))}
    assert not found - seen, "rules that no test names"


def test_rules_are_found_wherever_they_are_written() -> None:
    source = """
class Choice:
    kind: str
    rule: str = ""
class Refused(Exception):
    def __init__(self, rule, message): ...
class Pass:
    RULE: ClassVar[str] = "of-a-constant"
    def run(self, remarks):
        remarks.add("pass", "missed", "of-a-remark" if one else "of-another", "a sentence")
        Choice("kind", "of-a-field")
        Choice(rule="by-keyword", kind="kind")
        raise Refused("of-an-error", "a sentence")
    def _refusal(self) -> tuple[str, str] | None:
        return "of-a-refusal", "a sentence"
class Remarks:
    def add(self, pass_name, kind, rule, message): ...
"""
    assert rules([source]) == {
        "by-keyword", "of-a-constant", "of-a-field", "of-a-refusal", "of-a-remark", "of-an-error",
        "of-another",
    }  # fmt: skip
