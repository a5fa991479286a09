"""No op, type or attribute escapes the dialects' lit tests; the verifier's tables are the interpreter's."""

import re
from collections.abc import Iterable
from functools import cache

import pytest
from repository import LIT, ROOT

from fuse_mlir.compiler.base.diagnostics import collecting
from fuse_mlir.compiler.codegen import libdevice
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.ir.dialects import fuse, libm, tt
from fuse_mlir.compiler.ir.dialects.attributes import ATTRIBUTES, DiscardableAttribute
from fuse_mlir.compiler.mlir import ir
from fuse_mlir.compiler.runtime import torch_names
from fuse_mlir.compiler.runtime.interpreter.scalar import scalar_kernels, scalar_ops
from fuse_mlir.compiler.verifier import verify_kernel as rules
from fuse_mlir.compiler.verifier.verifier import VerificationError, verify, verify_level
from fuse_mlir.tools._dialect_docs import op_example
from fuse_mlir.tools._docs import documents
from fuse_mlir.tools._listing import dialect_classes
from fuse_mlir.tools._markdown import markdown

DIALECT = LIT / "dialect"
DOCS = ROOT / "docs"
#: Ops without a rule of their own: the bindings check their signatures, and nothing else.
TT_WITHOUT_RULES = {
    "tt.assert", "tt.clampf", "tt.dot_scaled", "tt.get_num_programs", "tt.get_program_id",
    "tt.mulhiui", "tt.precise_divf", "tt.precise_sqrt", "tt.print", "tt.print_0", "tt.print_2", "tt.print_3",
    "tt.print_4", "tt.print_5", "tt.reduce_3", "tt.reduce_return", "tt.reduce_return_2", "tt.reduce_return_3",
    "tt.reduce_return_4", "tt.reduce_return_5", "tt.return", "tt.scan", "tt.scan_return", "tt.scan_return_2",
    "tt.scan_return_3", "tt.scan_return_4", "tt.scan_return_5",
}  # fmt: skip


def text_of(*patterns: str) -> str:
    """All lit files of the dialect folder that match, without comments."""
    files = sorted(file for pattern in patterns for file in DIALECT.glob(pattern))
    assert files
    return "\n".join(re.sub(r"//.*", "", file.read_text(encoding="utf-8")) for file in files)


def names(dialect: type, *kinds: str) -> list[str]:
    """What a dialect defines, as it is spelled in IR."""
    sigils = {"ops": '"{}"', "types": "!{}", "attributes": "#{}"}
    return [sigils[kind].format(n) for kind in kinds for n in dialect_classes(dialect)[kind]]


@pytest.mark.parametrize("name", names(fuse.Fuse, "ops", "types", "attributes"))
def test_fuse_ops_shows(name: str) -> None:
    assert name in text_of("fuse-ops.mlir")


@pytest.mark.parametrize("name", names(tt.TT, "ops", "types"))
def test_tt_ops_shows(name: str) -> None:
    assert name in text_of("tt-ops.mlir")


def test_fuse_invalid_breaks_every_op() -> None:
    expected = "\n".join(f.read_text(encoding="utf-8") for f in sorted(DIALECT.glob("fuse-invalid*.mlir")))
    missing = []
    for name in dialect_classes(fuse.Fuse)["ops"]:
        own = f"expected-error@+1 {{{{'{name}' op" in expected
        # The bindings' own complaint about an operand, result or attribute does not name the op.
        signature = re.search(
            rf"expected-error@\+1 {{{{expected [^\n]*\n[^\n]*\"{re.escape(name)}\"", expected
        )
        if not (own or signature):
            missing.append(name)
    assert missing == []


def test_fuse_invalid_breaks_every_attribute_and_type() -> None:
    expected = text_of("fuse-invalid*.mlir", "layout-invalid.mlir")
    assert [n for n in names(fuse.Fuse, "types", "attributes") if n not in expected] == []


def test_tt_invalid_breaks_every_op_with_a_rule() -> None:
    expected = (DIALECT / "tt-invalid.mlir").read_text(encoding="utf-8")
    missing = {n for n in dialect_classes(tt.TT)["ops"] if f"'{n}' op" not in expected}
    assert missing == TT_WITHOUT_RULES


def test_every_libm_function_of_interpreter_and_codegen_is_allowed() -> None:
    assert scalar_ops.LIBM.keys() - libm.ARITY.keys() == set()
    assert {f.name for f in libdevice.FUNCTIONS} - libm.ARITY.keys() == set()
    assert {f.name: f.arity for f in libdevice.FUNCTIONS} == {
        f.name: libm.ARITY[f.name] for f in libdevice.FUNCTIONS
    }


def test_kinds_are_those_of_the_interpreter() -> None:
    assert set(rules.REDUCE_KINDS) == scalar_kernels._FOLDS.keys()
    assert set(rules.SCAN_KINDS) == scalar_kernels._SCANS.keys()


def module(text: str) -> ir.Module:
    return ir.Module.parse(text, make_context())


def test_all_broken_rules_are_reported_at_once_and_counted() -> None:
    broken = module("""
        func.func @main(%x: tensor<8xf32>) {
          %a = "fuse.size"(%x) {dim = 1 : i64, symbol = "s0"} : (tensor<8xf32>) -> index
          %b = "fuse.size"(%x) {dim = 2 : i64, symbol = "s1"} : (tensor<8xf32>) -> index
          return
        }""")
    with collecting(broken.context) as said, pytest.raises(VerificationError, match="breaks 2 rules"):
        verify(broken)
    assert [d.position and d.position.line for d in said.items] == [3, 4]


def test_verifying_changes_nothing() -> None:
    text = (DIALECT / "fuse-ops.mlir").read_text(encoding="utf-8")
    sound = module(text)
    before = str(sound)
    verify(sound)
    assert str(sound) == before


def chain(count: int) -> str:
    """A module with ``count`` kernels of six ops, called one after the other."""
    t = "tensor<8x64xf32>"
    lines = [f"func.func @main(%x0: {t}) -> {t} {{"]
    for i in range(count):
        lines.append(f'%e{i} = "fuse.empty"() {{syms = []}} : () -> {t}')
        lines.append(f"%x{i + 1} = call @k{i}(%x{i}, %e{i}) : ({t}, {t}) -> {t}")
    lines.append(f"return %x{count} : {t} }}")
    for i in range(count):
        lines.append(f"""func.func private @k{i}(%x: {t}, %o: {t}) -> {t}
          attributes {{fuse.kernel, fuse.dims = {{d0 = "8", d1 = "64"}}, fuse.ties = array<i64: 1>}} {{
          %g = arith.constant true
          %z = arith.constant 0.0 : f32
          %v = "fuse.load"(%x, %g, %z) {{at = ["d0", "d1"]}} : ({t}, i1, f32) -> f32
          %w = arith.addf %v, %z : f32
          %r = "fuse.store"(%o, %w, %g) {{at = ["d0", "d1"], mode = "set"}} : ({t}, f32, i1) -> {t}
          return %r : {t} }}""")
    return "\n".join(lines)


def test_the_verifier_does_a_fixed_amount_of_work_per_kernel() -> None:
    """Counted in calls of Python functions, which no busy machine changes; 2000 kernels take 0.3 s."""
    import sys

    def calls(count: int) -> int:
        sound = module(chain(count))
        seen = 0

        def count_call(frame: object, event: str, argument: object) -> None:
            nonlocal seen
            seen += event == "call"

        sys.setprofile(count_call)
        try:
            verify(sound)
        finally:
            sys.setprofile(None)
        return seen

    few, many = calls(50), calls(150)
    assert (many - few) / 100 < 400
    assert many < 3.2 * few


def test_generated_pages_are_what_the_docstrings_say() -> None:
    """Else: python -m fuse_mlir.tools.gen_docs"""
    for page, text in documents(DOCS).items():
        assert page.read_text(encoding="utf-8") == text, page.name


def attribute_names(sources: Iterable[str]) -> set[str]:
    """The strings of sources that are names in the namespace, but for what the dialect defines."""
    found = {name for source in sources for name in re.findall(r'"(fuse\.[a-z_]+)"', source)}
    return found - {name for kind in dialect_classes(fuse.Fuse).values() for name in kind}


def test_every_attribute_that_the_code_names_is_described() -> None:
    files = [f for top in ("compiler", "passes", "tools") for f in (ROOT / top).rglob("*.py")]
    table = ROOT / "compiler" / "ir" / "dialects" / "attributes.py"
    named = attribute_names(f.read_text(encoding="utf-8") for f in files if f != table)
    described = [attribute.name for attribute in ATTRIBUTES]
    named -= torch_names._DEFINED_HERE.keys()  # ops of the runtime
    assert sorted(described) == sorted(named | {"fuse.sym"})  # also the name of an op


def test_an_attribute_without_a_description_is_found() -> None:
    assert attribute_names(['x = op.attributes["fuse.mine"]; y = "fuse.load"']) == {"fuse.mine"}


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda attribute: attribute.name)
def test_examples_of_attributes_are_read_back(attribute: DiscardableAttribute) -> None:
    """As they are printed; what each is in whole modules is in a lit test, which the verifier has seen."""
    with make_context():
        parsed = ir.DictAttr.parse(f"{{{attribute.example}}}")
        assert [item.name for item in parsed] == [attribute.name]
        assert ir.DictAttr.parse(str(parsed)) == parsed
    assert attribute.name in lit_modules()


@cache
def lit_modules() -> str:
    """All modules of the lit tests, without comments."""
    return "\n".join(re.sub(r"//.*", "", f.read_text(encoding="utf-8")) for f in sorted(LIT.rglob("*.mlir")))


@pytest.mark.parametrize("dialect", [fuse.Fuse, tt.TT], ids=["fuse", "tt"])
def test_examples_of_ops_are_lines_of_a_valid_module(dialect: type) -> None:
    text = (DIALECT / f"{dialect.DIALECT_NAMESPACE}-ops.mlir").read_text(encoding="utf-8")
    sound = module(text)
    verify(sound)
    assert str(module(str(sound))) == str(sound)
    shown = (DOCS / "dialect.md").read_text(encoding="utf-8")
    for name in dialect_classes(dialect)["ops"]:
        section = shown.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        example = "\n".join(op_example(name, text))
        assert f'"{name}"(' in example and f"```mlir\n{example}\n```" in section


def test_an_op_without_an_example_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"no fuse\.none"):
        op_example("fuse.none", '"fuse.load"()')


def test_docstrings_become_markdown() -> None:
    docstring = "Sets ``a``.\n\nBefore::\n\n    %x = f()\n\n      %y\n\nAfter::\n\n    %z\nText ``b``."
    assert markdown(docstring) == (
        "Sets `a`.\n\nBefore:\n\n```mlir\n%x = f()\n\n  %y\n```\n\nAfter:\n\n```mlir\n%z\n```\n\nText `b`."
    )


LEFT_OVER = {
    "group": (
        "scheduled",
        "%y = call @fill(%o) {fuse.group = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>",
        "fuse.group",
    ),
    "scalar kernel": (
        "tiled",
        "%y = call @fill(%o) : (tensor<8xf32>) -> tensor<8xf32>",
        "got a scalar kernel",
    ),
    "kernel": ("planned", "%y = call @fill(%o) : (tensor<8xf32>) -> tensor<8xf32>", "got a kernel"),
    "empty": (
        "planned",
        '%e = "fuse.empty"() {syms = []} : () -> tensor<8xf32>\n'
        '%y = "fuse.view"(%e) {map = ["v0"], syms = []} : (tensor<8xf32>) -> tensor<8xf32>',
        "got fuse.empty",
    ),
    "ordered group": ("scheduled", "func.call @group() : () -> ()", "fuse.control_deps"),
}


@pytest.mark.parametrize("case", LEFT_OVER)
def test_what_a_level_must_not_hold(case: str) -> None:
    level, line, message = LEFT_OVER[case]
    left = module(f"""
        func.func @main(%o: tensor<8xf32>) {{
          {line}
          return
        }}
        func.func private @group() attributes {{fuse.control_deps}} {{
          return
        }}
        func.func private @fill(%o: tensor<8xf32>) -> tensor<8xf32>
            attributes {{fuse.kernel, fuse.dims = {{d0 = "8"}}, fuse.ties = array<i64: 0>}} {{
          %true = arith.constant true
          %zero = arith.constant 0.0 : f32
          %r = "fuse.store"(%o, %zero, %true) {{at = ["d0"], mode = "set"}}
              : (tensor<8xf32>, f32, i1) -> tensor<8xf32>
          return %r : tensor<8xf32>
        }}""")
    verify(left)
    verify_level(left, "graph")
    with collecting(left.context) as said, pytest.raises(VerificationError):
        verify_level(left, level)
    assert any(message in d.message for d in said.items), said.items


def test_a_level_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="unknown level 'codegen'"):
        verify_level(module("module {}"), "codegen")
