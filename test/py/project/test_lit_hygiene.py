"""No lit test may be vacuous: what a file expects is read by a RUN line, and every RUN line is judged.

`problems(text)` holds the rules, each a sentence. One test applies them to every file under test/lit; the
others show that each rule fires on a file that breaks it and keeps quiet on a file that does not.
`missing_cases(texts)` does the same for what the files of a pass show: where it fires, where it must not, and
what it answers bad input.
"""

import re
import shlex
from pathlib import Path

import pytest
from repository import LIT

from fuse_mlir.passes.registry import PASSES

LIT_FILES = sorted(
    path
    for path in LIT.rglob("*")
    if path.suffix in (".mlir", ".py") and path.name != "lit.cfg.py" and "Inputs" not in path.parts
)

# A comment that opens with a word in capitals and a colon is a directive, unless the word is one of these.
NOT_PREFIXES = frozenset({"RUN", "COM", "REQUIRES", "UNSUPPORTED", "XFAIL", "DEFINE", "REDEFINE", "NOTE"})
RUN_LINE = re.compile(r"(?://|^\s*#)\s*RUN:\s?(.*)", re.MULTILINE)
DIRECTIVE = re.compile(
    r"(?://|^\s*#)\s*(?P<prefix>[A-Z][A-Z0-9_-]*?)"
    r"(?P<kind>-LABEL|-NEXT|-SAME|-NOT|-DAG|-EMPTY|-COUNT-\d+)?(?:\{LITERAL\})?:",
    re.MULTILINE,
)
EXPECTATION = re.compile(r"expected-(?:error|warning|remark|note)\b")
CONTROL = ("|", "||", "&&", ";", "&")
JUDGES = ("cmp", "diff")


def run_lines(text: str) -> list[str]:
    """The RUN lines of a lit file, continued lines (a final backslash) joined."""
    joined: list[str] = []
    continues = False
    for match in RUN_LINE.finditer(text):
        line = match[1].rstrip()
        body = line.removesuffix("\\").rstrip()
        if continues:
            joined[-1] += " " + body.lstrip()
        else:
            joined.append(body)
        continues = line.endswith("\\")
    return joined


def commands_of(line: str) -> list[tuple[str, list[str]]]:
    """The commands of a RUN line, each with the control operator before it ("" for the first)."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;")
    lexer.whitespace_split = True
    lexer.commenters = ""
    commands: list[tuple[str, list[str]]] = [("", [])]
    for token in lexer:
        if token in CONTROL:
            commands.append((token, []))
        else:
            commands[-1][1].append(token)
    return commands


def program_of(words: list[str]) -> str:
    """The program that a command runs, past lit's `not` and `env`."""
    rest = list(words)
    while rest and (rest[0] in ("not", "env", "--crash") or "=" in rest[0]):
        rest.pop(0)
    return rest[0] if rest else ""


def selected_prefixes(words: list[str]) -> list[str]:
    """The prefixes that one FileCheck command names with --check-prefix, or else CHECK."""
    chosen: list[str] = []
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, separator, value = word.partition("=")
        if option.lstrip("-") in ("check-prefix", "check-prefixes") and word.startswith("-"):
            chosen.extend((value if separator else following).split(","))
    return chosen or ["CHECK"]


def judged_later(line: str, later: list[str]) -> bool:
    """Whether the line writes a temporary file (`%t`, `%t.name`) that a later RUN line reads."""
    written = re.findall(r"(?:-o\s*|>\s*)(%t[\w.]*)", line)
    return any(re.search(re.escape(name) + r"(?![\w.])", text) for name in written for text in later)


def problems(text: str) -> list[str]:
    """Every reason why the lit file could pass without testing what it says; none for a sound file."""
    lines = run_lines(text)
    if not lines:
        return ["there is no RUN line"]
    found: list[str] = []
    selected: list[str] = []
    verifies = False
    for number, line in enumerate(lines):
        here = f"RUN line `{line}`"
        commands = commands_of(line)
        verifies_here = any(w.split("=")[0] == "--verify-diagnostics" for _, words in commands for w in words)
        verifies |= verifies_here
        checks = [(operator, words) for operator, words in commands if program_of(words) == "FileCheck"]
        compares = any(program_of(words) in JUDGES for _, words in commands)
        if "%s" not in line and not compares:
            found.append(f"{here} does not read the file: it has no %s")
        if any(operator in ("||", ";", "&") for operator, _ in commands):
            found.append(f"{here} can drop a failure: `||`, `;` and `&` are not allowed")
        if not (checks or verifies_here or compares or judged_later(line, lines[number + 1 :])):
            found.append(f"{here} is not judged: no FileCheck, no --verify-diagnostics, no cmp or diff")
        for operator, words in checks:
            if operator != "|" and not any(w.startswith(("<", "--input-file")) for w in words):
                found.append(f"{here} gives FileCheck no input")
            if "%s" not in words:
                found.append(f"{here} does not let FileCheck read this file: it has no %s")
            prefixes = selected_prefixes(words)
            if len(prefixes) > 1:
                found.append(f"{here} gives FileCheck several prefixes; it takes one")
            selected.extend(prefixes)

    kinds: dict[str, list[str]] = {}
    for match in DIRECTIVE.finditer(text):
        if match["prefix"] not in NOT_PREFIXES:
            kinds.setdefault(match["prefix"], []).append(match["kind"] or "")
    found += [f"{prefix}: is selected by no RUN line" for prefix in kinds if prefix not in selected]
    for prefix in dict.fromkeys(selected):
        if prefix not in kinds:
            found.append(f"{prefix} is selected by a RUN line and occurs nowhere")
        elif all(kind == "-NOT" for kind in kinds[prefix]):
            found.append(f"{prefix} only says what must not occur: one line must say what does")
    expects = EXPECTATION.search(text) is not None
    if verifies and not expects:
        found.append("--verify-diagnostics has no expected-error, -warning, -remark or -note to verify")
    if expects and not verifies:
        found.append("an expected diagnostic is read by no RUN line: none has --verify-diagnostics")
    return found


def test_lit_root_is_where_lit_looks() -> None:
    assert (LIT / "lit.cfg.py").is_file()


@pytest.mark.parametrize("path", LIT_FILES, ids=lambda path: path.relative_to(LIT).as_posix())
def test_lit_file_is_not_vacuous(path: Path) -> None:
    found = problems(path.read_text(encoding="utf-8"))
    assert not found, "\n".join(found)


def missing_cases(texts: list[str]) -> list[str]:
    """What the lit files of one pass do not show."""
    found: list[str] = []
    if not any(
        re.search(r"^\s*// [A-Z-]+?(?:-LABEL|-SAME|-NEXT|-DAG)?: ", text, re.MULTILINE) for text in texts
    ):
        found.append("no file shows what the pass does: there is no CHECK line")
    if not any(re.search(r"^\s*// Must not fire: ", text, re.MULTILINE) for text in texts):
        found.append("no case opens with `// Must not fire: ` and a reason")
    if not any(
        "expected-error" in text or any("not fuse-opt" in r for r in run_lines(text)) for text in texts
    ):
        found.append("no case is bad input: no expected-error, no RUN line with `not fuse-opt`")
    return found


def files_by_pass() -> dict[str, list[Path]]:
    """The lit files of each pass: `<pass>.mlir`, and `<pass>-<more>.mlir` where that names no other pass."""
    passes = sorted(PASSES.keys() & {p.stem for p in LIT_FILES})
    files: dict[str, list[Path]] = {name: [] for name in passes}
    for path in LIT_FILES:
        if path.parent.name == "passes":
            owners = [name for name in passes if path.stem == name or path.stem.startswith(f"{name}-")]
            if owners:
                files[max(owners, key=len)].append(path)
    return files


@pytest.mark.parametrize("name", files_by_pass())
def test_pass_fires_does_not_fire_and_refuses(name: str) -> None:
    missing = missing_cases([path.read_text(encoding="utf-8") for path in files_by_pass()[name]])
    assert not missing, "\n".join(missing)


def test_case_checker_accepts_and_rejects() -> None:
    fires, quiet = "// CHECK-LABEL: @main", "// Must not fire: one reader."
    refuses = "// expected-error @+1 {{no dim}}"
    assert missing_cases([f"{fires}\n{quiet}", refuses]) == []
    assert missing_cases([f"{fires}\n{quiet}\n// RUN: not fuse-opt %s 2>&1 | FileCheck %s"]) == []
    assert [p.split(":")[0] for p in missing_cases([""])] == [
        "no file shows what the pass does",
        "no case opens with `// Must not fire",
        "no case is bad input",
    ]


SOUND = {
    "plain": "// RUN: fuse-opt %s | FileCheck %s\n// CHECK: x",
    "prefixes": (
        "// RUN: fuse-opt %s | FileCheck %s --check-prefix=A\n"
        "// RUN: fuse-opt %s | FileCheck --check-prefix B %s\n"
        "// A-LABEL: x\n// A-NOT: y\n// B-COUNT-2: z\n// B-NEXT: w"
    ),
    "continued": "// RUN: fuse-opt %s \\\n// RUN:   | FileCheck %s\n// CHECK: x",
    "expected failure": "// RUN: not fuse-opt %s 2>&1 | FileCheck %s\n// CHECK: x",
    "pipeline in quotes": "// RUN: fuse-opt %s --pass-pipeline='a{b=1;c},d' | FileCheck %s\n// CHECK: x",
    "diagnostics": "// RUN: fuse-opt %s --verify-diagnostics --split-input-file\n// expected-error@+1 {{no}}",
    "diagnostics and output": (
        "// RUN: fuse-opt %s --verify-diagnostics | FileCheck %s\n// expected-remark@+1 {{no}}\n// CHECK: x"
    ),
    "replay": "// RUN: fuse-opt %s -o %t.1\n// RUN: fuse-opt %t.1 -o %t.2 && cmp %t.1 %t.2",
    "temporary": "// RUN: fuse-opt %s -o %t\n// RUN: FileCheck %s < %t\n// CHECK: x",
    "python": "# RUN: %python %s | FileCheck %s\n# CHECK: x",
    "prose": "// RUN: fuse-opt %s | FileCheck %s\n// NOTE: a word\n// CHECK: x",
}

VACUOUS = {
    "no run line": ("// CHECK: x", "no RUN line"),
    "input not read": ("// RUN: fuse-opt | FileCheck %S/x.mlir\n// CHECK: x", "has no %s"),
    "check file not read": (
        "// RUN: fuse-opt %s | FileCheck other.txt\n// CHECK: x",
        "does not let FileCheck read",
    ),
    "nothing judges": ("// RUN: fuse-opt %s", "is not judged"),
    "one line of two unjudged": (
        "// RUN: fuse-opt %s --a\n// RUN: fuse-opt %s | FileCheck %s\n// CHECK: x",
        "is not judged",
    ),
    "temporary never read": (
        "// RUN: fuse-opt %s -o %t.1\n// RUN: fuse-opt %s | FileCheck %s\n// CHECK: x",
        "is not judged",
    ),
    "no input for FileCheck": (
        "// RUN: fuse-opt %s && FileCheck %s\n// CHECK: x",
        "gives FileCheck no input",
    ),
    "failure dropped": ("// RUN: fuse-opt %s | FileCheck %s || true\n// CHECK: x", "can drop a failure"),
    "failure followed": ("// RUN: fuse-opt %s | FileCheck %s; true\n// CHECK: x", "can drop a failure"),
    "prefix not selected": (
        "// RUN: fuse-opt %s | FileCheck %s\n// CHECK: x\n// OTHER-NEXT: y",
        "OTHER: is selected by no RUN line",
    ),
    "kind misspelled": (
        "// RUN: fuse-opt %s | FileCheck %s\n// CHECK: x\n// CHECK-NXT: y",
        "CHECK-NXT: is selected by no RUN line",
    ),
    "prefix misspelled": (
        "// RUN: fuse-opt %s | FileCheck %s --check-prefix=AFTER\n// AFTR: x",
        "AFTER is selected by a RUN line and occurs nowhere",
    ),
    "two prefixes": (
        "// RUN: fuse-opt %s | FileCheck %s --check-prefix=A --check-prefix=B\n// A: x\n// B: y",
        "several prefixes",
    ),
    "only negative": (
        "// RUN: fuse-opt %s | FileCheck %s\n// CHECK-NOT: x",
        "CHECK only says what must not occur",
    ),
    "nothing expected": ("// RUN: fuse-opt %s --verify-diagnostics", "has no expected-error"),
    "expectation not read": (
        "// RUN: fuse-opt %s | FileCheck %s\n// CHECK: x\n// expected-error@+1 {{no}}",
        "none has --verify-diagnostics",
    ),
}


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_checker_accepts(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(("text", "reason"), VACUOUS.values(), ids=VACUOUS)
def test_checker_rejects(text: str, reason: str) -> None:
    assert any(reason in problem for problem in problems(text)), problems(text)
