"""How addresses go through control flow and casts, on small functions: blocks that branch to each other,
loops whose turns are not known, addresses in memory.
"""

import pytest

from fuse_mlir.compiler.analysis.user_kernel.effects import KernelEffects, kernel_effects
from fuse_mlir.compiler.analysis.user_kernel.maps import PointerAccess, access_maps
from fuse_mlir.compiler.ir.context import make_context
from fuse_mlir.compiler.mlir import ir

P, PP = "!tt.ptr<i32>", "!tt.ptr<!tt.ptr<i32>>"
STORE = '"tt.store"(%{}, %n) : (!tt.ptr<i32>, i32) -> ()'
LOAD = '"tt.load"(%{}) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (!tt.ptr<i32>) -> i32'


def parsed(body: str, third: str = P) -> ir.Module:
    """A kernel of pointers %x, %y and %z, an integer %n and a bool %c."""
    types = f"{P}, {P}, {third}, i32, i1"
    text = f"""
    "tt.func"() ({{
    ^bb0(%x: {P}, %y: {P}, %z: {third}, %n: i32, %c: i1):
      {body}
    }}) {{function_type = ({types}) -> (), sym_name = "k", sym_visibility = "public"}} : () -> ()"""
    context = make_context()
    context.allow_unregistered_dialects = True
    return ir.Module.parse(text, context)


def effects(body: str, third: str = P) -> KernelEffects:
    module = parsed(body, third)
    return kernel_effects(module.body.operations[0])


def accesses(body: str) -> tuple[PointerAccess, ...]:
    module = parsed(body)
    return access_maps(module.body.operations[0])


def short(found: KernelEffects) -> str:
    """ "r" and "w" for each pointer, "-" for one that is not accessed."""
    return " ".join("r" * e.read + "w" * e.written or "-" for e in found.arguments if e is not None)


END = '"tt.return"() : () -> ()'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # a loop gives on its second value, which its condition does not see
        (
            f"""%r:2 = scf.while (%a = %x, %b = %y) : ({P}, {P}) -> ({P}, {P}) {{
              %v = {LOAD.format("a")}
              scf.condition(%c) %b, %a : {P}, {P}
            }} do {{
            ^bb1(%d: {P}, %e: {P}):
              scf.yield %d, %e : {P}, {P}
            }}
            {STORE.format("r#1")}
            {END}""",
            "rw rw -",
        ),
        # what a loop gives is in its condition alone
        (
            f"""%r = scf.while (%a = %x) : ({P}) -> {P} {{
              scf.condition(%c) %y : {P}
            }} do {{
            ^bb1(%d: {P}):
              scf.yield %x : {P}
            }}
            {STORE.format("r")}
            {END}""",
            "- w -",
        ),
        # the body of a loop takes what the condition gives, and gives it to the next turn
        (
            f"""%r = scf.while (%a = %x) : ({P}) -> {P} {{
              %v = {LOAD.format("a")}
              scf.condition(%c) %y : {P}
            }} do {{
            ^bb1(%d: {P}):
              {STORE.format("d")}
              scf.yield %z : {P}
            }}
            {END}""",
            "r w r",
        ),
        # blocks with arguments: a jump, and both sides of a branch
        (f"cf.br ^a(%x, %y : {P}, {P})\n^a(%p: {P}, %q: {P}):\n{STORE.format('q')}\n{END}", "- w -"),
        (
            f"""cf.cond_br %c, ^a(%x : {P}), ^b(%y, %z : {P}, {P})
            ^a(%p: {P}):
              {STORE.format("p")}
              {END}
            ^b(%q: {P}, %r: {P}):
              %v = {LOAD.format("r")}
              {END}""",
            "w - r",
        ),
        # a bound of a loop that is an address is in the loop's number
        (
            f"""%a = "tt.ptr_to_int"(%x) : ({P}) -> i64
            %one = arith.constant 1 : i64
            %b = arith.addi %a, %one : i64
            scf.for %k = %a to %b step %one : i64 {{
              %p = "tt.int_to_ptr"(%k) : (i64) -> {P}
              {STORE.format("p")}
            }}
            {END}""",
            "w - -",
        ),
        # the larger of two addresses is either
        (
            f"""%a = "tt.ptr_to_int"(%x) : ({P}) -> i64
            %b = "tt.ptr_to_int"(%z) : ({P}) -> i64
            %m = arith.maxsi %a, %b : i64
            %p = "tt.int_to_ptr"(%m) : (i64) -> {P}
            {STORE.format("p")}
            {END}""",
            "w - w",
        ),
        (f"{END}", "- - -"),
    ],
)
def test_addresses_are_followed(body, expected):
    found = effects(body)
    assert short(found) == expected and found.why is None and not found.has_effect


def test_a_loaded_address_may_be_any():
    """Also where an argument's address is given for lanes that are masked: it is one of two then."""
    load = f'"tt.load"(%z, %c, %y) {{operandSegmentSizes = array<i32: 1, 1, 1>}} : ({PP}, i1, {P}) -> {P}'
    written = effects(f"%p = {load}\n{STORE.format('p')}\n{END}", PP)
    assert short(written) == "rw rw rw" and written.has_effect
    read = effects(f"%p = {load}\n%v = {LOAD.format('p')}\n{END}", PP)
    assert short(read) == "r r r" and not read.has_effect and read.why is not None
    assert not any(e.unknown for e in read.arguments if e is not None)
    unused = effects(f"%p = {load}\n{END}", PP)
    assert short(unused) == "- - r" and unused.why is None


def test_an_address_that_text_takes_may_be_accessed():
    text = 'asm_string = "mov.b64 $0, $1;", constraints = "=l,l", packed_element = 1 : i32, pure = true'
    found = effects(
        f'%p = "tt.elementwise_inline_asm"(%x) {{{text}}} : ({P}) -> {P}\n{STORE.format("p")}\n{END}'
    )
    assert short(found) == "rw - -" and "text" in found.why and found.arguments[0].unknown
    assert not found.has_effect


def test_an_op_that_is_not_known_may_do_anything():
    found = effects(f'"other.op"() : () -> ()\n{END}')
    assert (
        short(found) == "rw rw rw" and found.has_effect and found.why == "what 'other.op' does is not known"
    )


def test_an_address_of_a_number_is_unknown_memory():
    number = "%zero = arith.constant 4096 : i64\n"
    made = f'%p = "tt.int_to_ptr"(%zero) : (i64) -> {P}\n'
    found = effects(f"{number}{made}{STORE.format('p')}\n{END}")
    assert short(found) == "rw rw rw" and found.elsewhere.written


@pytest.mark.parametrize(
    ("body", "offset"),
    [
        # a number that is loaded in each turn is another one in each
        (
            f"""%p = scf.for %k = %zero to %n step %one iter_args(%a = %x) -> ({P}) : i32 {{
              %v = {LOAD.format("y")}
              {STORE.format("a")}
              %next = "tt.addptr"(%a, %v) : ({P}, i32) -> {P}
              scf.yield %next : {P}
            }}""",
            "None",
        ),
        # the same number, loaded before the loop
        (
            f"""%v = {LOAD.format("y")}
            %p = scf.for %k = %zero to %n step %one iter_args(%a = %x) -> ({P}) : i32 {{
              {STORE.format("a")}
              %next = "tt.addptr"(%a, %v) : ({P}, i32) -> {P}
              scf.yield %next : {P}
            }}""",
            "t0*x0",
        ),
        # steps that grow from turn to turn
        (
            f"""%p = scf.for %k = %zero to %n step %one iter_args(%a = %x) -> ({P}) : i32 {{
              {STORE.format("a")}
              %next = "tt.addptr"(%a, %k) : ({P}, i32) -> {P}
              scf.yield %next : {P}
            }}""",
            "None",
        ),
        # a pointer that goes to another argument
        (
            f"""%p = scf.for %k = %zero to %n step %one iter_args(%a = %x) -> ({P}) : i32 {{
              {STORE.format("a")}
              scf.yield %y : {P}
            }}""",
            "None",
        ),
        # what a pointer is in the next turn
        (
            f"""%p = scf.for %k = %zero to %n step %one iter_args(%a = %x) -> ({P}) : i32 {{
              %next = "tt.addptr"(%a, %n) : ({P}, i32) -> {P}
              {STORE.format("next")}
              scf.yield %next : {P}
            }}""",
            "a3 + a3*t0",
        ),
        # two numbers that depend on each other
        (
            f"""%p:2 = scf.for %k = %zero to %n step %one
                iter_args(%i = %one, %j = %zero) -> (i32, i32) : i32 {{
              %at = "tt.addptr"(%x, %i) : ({P}, i32) -> {P}
              {STORE.format("at")}
              scf.yield %j, %i : i32, i32
            }}""",
            "x1",
        ),
        # a number and a pointer that move together
        (
            f"""%p:2 = scf.for %k = %zero to %n step %one iter_args(%a = %x, %i = %one) -> ({P}, i32) : i32 {{
              %at = "tt.addptr"(%a, %i) : ({P}, i32) -> {P}
              {STORE.format("at")}
              %next = "tt.addptr"(%a, %n) : ({P}, i32) -> {P}
              %j = arith.addi %i, %one : i32
              scf.yield %next, %j : {P}, i32
            }}""",
            "a3*t0 + t0 + 1",
        ),
    ],
)
def test_what_grows_in_each_turn(body, offset):
    numbers = "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
    maps = accesses(f"{numbers}{body}\n{END}")
    assert str(next(access for access in maps if access.kind == "write").offset) == offset


@pytest.mark.parametrize(("compared", "known"), [("%n, %one", False), ("%k, %one", True)])
def test_unsigned_comparisons_are_of_counts(compared, known):
    """An argument may be negative, which is a large number then."""
    body = f"""%zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      scf.for %k = %zero to %n step %one : i32 {{
        %less = arith.cmpi ult, {compared} : i32
        "tt.store"(%x, %n, %less) : ({P}, i32, i1) -> ()
      }}
      {END}"""
    assert (accesses(body)[0].mask is not None) == known
