"""Modules as a slip of the hand or a bug leaves them: the project's own .mlir files with a few changes each.

A seed draws everything: one number gives one text, on every machine.
"""

import random
import re
from dataclasses import dataclass, replace
from functools import cache

from repository import ROOT

from fuse_mlir.tools._source import Source, split

FOLDERS = (ROOT / "test" / "lit", ROOT / "examples")

_COMMENT = re.compile(r"(?<![:/])//.*")
_PASSES = re.compile(
    r"--pass-pipeline='?(builtin\.module\([^'\n|]*\))'?|(--default-pipeline(?:=(?:scheduled|tiled|planned))?(?!=))"
)

#: What is changed, by kind: how it looks, and what may take its place beside others of its kind, separated by
#: two blanks.
_KINDS = {
    "type": (
        r"tensor<(?:[^<>]|<[^<>]*>)*>|!\w+\.\w+(?:<[^<>]*>)?|\b(?:f32|f64|f16|bf16|u?i\d+|index)\b",
        r"""
        f32  f64  bf16  i1  i64  ui8  index  none  complex<f32>  vector<4xf32>  memref<4xf32>  tuple<>
        () -> ()  tensor<8xf32>  tensor<f32>  tensor<?xf32>  tensor<*xf32>  tensor<0x4xf32>  tensor<6xi32>
        tensor<4x!tt.ptr<f32>>  tensor<8xtensor<4xf32>>  tensor<8xindex>  !tt.ptr<f32>
        !tt.ptr<tensor<4xf32>>  !fuse.token  tensor<4xf32, #fuse.layout<"4", "1", "0", "cpu">>
        tensor<?xf32, #fuse.layout<"s0", "1", "d0", "">>
        tensor<?xf32, #fuse.layout<"s0", "-1", "-9", "cuda:0">>  tensor<4xf32, "rows">
        """,
    ),
    "value": (
        r"%[A-Za-z_]\w*|%\d+",
        r"""
        %arg0  %0  %x#1
        """,
    ),
    "symbol": (
        r"@\w+",
        r"""
        @main  @nothing  @"a b"  @f::@g
        """,
    ),
    "op": (
        r'"(?:fuse|tt|func|builtin)\.\w+"(?=\()|\b(?:arith|math|scf|func|cf)\.\w+|\bcall\b|\breturn\b',
        r"""
        "fuse.store"  "fuse.load"  "fuse.reduce"  "fuse.view"  "fuse.after"  "fuse.base"  "fuse.scan"
        "tt.splat"  "tt.reduce"  "tt.load"  "tt.return"  "tt.func"  "func.func"  "builtin.module"
        "func.call"  "arith.constant"  arith.addf  arith.divsi  math.exp  scf.for
        """,
    ),
    "text": (
        r'"[^"\n]*"(?!\()',
        r"""
        ""  "d0"  "d9"  "i0"  "v0"  "s0"  "s0 +"  "(((d0)))"  "d0 * d0"  "-1"  "1 floordiv 0"  "d0 mod 0"
        "d0 + 99999999999999999999"  "9223372036854775807"  1 : i64  -1 : i64  1.5 : f64  unit  []  {}
        ["d0"]  [1 : i64]  array<i64: 1>  @main  f32  #fuse.arg<7 : i64>  #fuse.torch<"x">
        dense<1.0> : tensor<4xf32>
        """,
    ),
    "number": (
        r"(?<![\w.%@#!\"])-?\d+(?:\.\d+(?:e[-+]?\d+)?)?(?![\w.])",
        r"""
        0  -1  1  2  3  7  16  4096  2147483648  -9223372036854775808  9223372036854775807  1.5
        0x7FC00000
        """,
    ),
    "size": (
        r"(?<=[<x])(?:\d+|\?)(?=x)",
        r"""
        0  1  2  3  8  64  ?  65536  4611686018427387904
        """,
    ),
    "list": (
        r"\[[^\[\]\n]*\]|\{[^{}\n]*\}|array<[^>\n]*>",
        r"""
        []  ["d0"]  ["d0", "d1"]  ["i0"]  ["s0"]  [1 : i64]  ["d0", 1 : i64]  {}  {d0 = "8"}  {d0 = "s9"}
        {"0" = 0 : i64}  {"9" = 9 : i64}  array<i64>  array<i64: 0>  array<i64: 1, 1>  array<i64: -1>
        array<i32: 1, 1, 1>  unit
        """,
    ),
}
_ATTRIBUTE = re.compile(
    r'[\w."]+ = (?:\[[^\[\]\n]*\]|\{[^{}\n]*\}|array<[^>\n]*>|"[^"\n]*"|@\w+|-?[\d.]+(?: : \w+)?)'
    r"(?:, )?"
)


@dataclass(frozen=True)
class Mutant:
    """A changed text, what it was made from, and the passes that its origin's test runs, as arguments."""

    text: str
    origin: str
    passes: tuple[str, ...]


@cache
def corpus(largest: int = 9000) -> tuple[tuple[Mutant, ...], ...]:
    """Each .mlir file of the tests and examples, in its parts of at most ``largest`` characters each, without
    those that a test expects to be refused as they are.
    """
    files = []
    for path in sorted(p for folder in FOLDERS for p in folder.rglob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        passes = dict.fromkeys((p and f"--pass-pipeline={p}") or d for p, d in _PASSES.findall(text))
        parts = []
        for number, part in enumerate(split(Source("", text))):
            if "expected-error" in part.text:
                continue
            lines = [line for line in _COMMENT.sub("", part.text).split("\n") if line.strip()]
            origin = f"{path.relative_to(ROOT).as_posix()}, part {number}"
            parts.append(Mutant("\n".join([*lines, ""]), origin, tuple(passes)))
        files.append(tuple(part for part in parts if len(part.text) <= largest))
    return tuple(filter(None, files))


def mutant(seed: int, files: tuple[tuple[Mutant, ...], ...] | None = None) -> Mutant:
    """What ``seed`` makes of a part of ``files`` (the corpus by default): one to three changes."""
    draw = random.Random(seed)
    origin = draw.choice(draw.choice(files or corpus()))
    text = origin.text
    for _ in range(draw.choice((1, 1, 2, 3))):
        text = draw.choice(_CHANGES)(draw, text)
    return replace(origin, text=text)


def _another(draw: random.Random, text: str) -> str:
    """A type, a value, a name, a text or a number becomes another, in one place or wherever it stands."""
    pattern, others = _KINDS[draw.choice(sorted(_KINDS))]
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    old = draw.choice(found)
    present = sorted({f[0] for f in found})
    new = draw.choice(present if draw.random() < 0.4 else re.split(r"\s{2,}", others.strip()))
    if draw.random() < 0.4:
        return re.sub(pattern, lambda f: new if f[0] == old[0] else f[0], text)
    return text[: old.start()] + new + text[old.end() :]


def _inside_text(draw: random.Random, text: str) -> str:
    """A part of a text changes: of an index expression, a kind, a name."""
    found = list(re.finditer(r'(?<=")[^"\n]*(?="(?!\())', text))
    if not found:
        return text
    old = draw.choice(found)
    pieces = re.findall(r"\w+|\W", old[0]) or [""]
    i = draw.randrange(len(pieces))
    others = re.split(" ", "d0 d7 s0 s9 i0 v0 u0 0 -1 3 99999999999999999999 floordiv mod * ( ) , x")
    pieces[i] = draw.choice(("", pieces[i] * 2, *others, " floordiv ", " mod ", " * "))
    return text[: old.start()] + "".join(pieces) + text[old.end() :]


def _without(draw: random.Random, text: str) -> str:
    """An attribute goes, or comes from elsewhere."""
    found = list(_ATTRIBUTE.finditer(text))
    if not found:
        return text
    old = draw.choice(found)
    other = "" if draw.random() < 0.6 else draw.choice(found)[0].removesuffix(", ")
    other += ", " if other and old[0].endswith(", ") else ""
    return text[: old.start()] + other + text[old.end() :]


def _lines(draw: random.Random, text: str) -> str:
    """A line goes, comes twice, changes its place, or comes from another file."""
    lines = text.split("\n")
    i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
    match draw.randrange(4):
        case 0:
            del lines[i]
        case 1:
            lines.insert(j, lines[i])
        case 2:
            lines[i], lines[j] = lines[j], lines[i]
        case _:
            lines.insert(i, draw.choice(draw.choice(draw.choice(corpus())).text.split("\n")))
    return "\n".join(lines)


def _functions(draw: random.Random, text: str) -> str:
    """A function or a module goes, comes twice under another name, or comes from another file."""
    starts = [f.start() for f in re.finditer(r"^ *(?:func\.func|\"tt\.func\"|module)\b", text, re.MULTILINE)]
    if not starts:
        return text
    i = draw.randrange(len(starts))
    start, end = starts[i], (*starts, len(text))[i + 1]
    match draw.randrange(3):
        case 0:
            return text[:start] + text[end:]
        case 1:
            return text + re.sub(r"@\w+", "@copy", text[start:end], count=1)
        case _:
            return text + draw.choice(draw.choice(corpus())).text


def _broken(draw: random.Random, text: str) -> str:
    """The end is missing, or a piece of the middle; or there is a character that means something."""
    start = draw.randrange(len(text) + 1)
    length = draw.choice((0, 1, 20, len(text)))
    return text[:start] + draw.choice(("", *'(){}[]<>"%@#!^,:=-\x00\té\\')) + text[start + length :]


_CHANGES = (*[_another] * 8, *[_inside_text] * 3, *[_without] * 4, *[_lines] * 3, _functions, _broken)
