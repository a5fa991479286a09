"""Extern ops on the CPU: arguments rebuilt from attributes, results, sizes that they make, mutation, names."""
# ruff: noqa: E501  (modules as text)

import pytest
import torch
from interpreted_modules import V4, X, extern

from fuse_mlir.compiler.runtime.errors import RunError
from fuse_mlir.compiler.runtime.extern_calls import resolve
from fuse_mlir.compiler.runtime.interpreter.program import InterpretedProgram, run_module


def test_extern_arguments_are_rebuilt():
    module = extern(
        "%y = call @cat(%x, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>\nreturn %y : tensor<2x4xf32>",
        """func.func private @cat(tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
             attributes {fuse.extern = "aten.cat.default", fuse.args = [[#fuse.arg<1 : i64>, #fuse.arg<0 :
             i64>], 1], fuse.kwargs = {}}""",
        "%x: tensor<2x2xf32>",
        "tensor<2x4xf32>",
    )
    x = torch.rand(2, 2)
    assert torch.equal(run_module(module, [x])[0], torch.cat([x, x], 1))


def test_extern_keywords_types_and_devices():
    text = """
  %y = call @full(%n) : (index) -> tensor<?xbf16, #fuse.layout<"s0", "1", "0", "cuda:0">>
  return %y : tensor<?xbf16, #fuse.layout<"s0", "1", "0", "cuda:0">>"""
    declaration = """func.func private @full(index) -> tensor<?xbf16, #fuse.layout<"s0", "1", "0", "cuda:0">> attributes {
        fuse.extern = "aten.full.default", fuse.args = [[#fuse.arg<0 : i64>], 2.5],
        fuse.kwargs = {dtype = bf16, device = #fuse.torch<"device:cuda:0">, layout = #fuse.torch<"layout:strided">, pin_memory = false}}"""
    module = extern(
        text,
        declaration,
        '%n: index {fuse.sym = "s0"}',
        'tensor<?xbf16, #fuse.layout<"s0", "1", "0", "cuda:0">>',
    )
    (y,) = run_module(module, [3])
    assert y.tolist() == [2.5] * 3 and y.dtype == torch.bfloat16 and y.device.type == "cpu"
    assert run_module(module, [3], shadow=True)[0].dtype == torch.float64


def test_extern_none_results_are_dropped_and_several_kept():
    module = extern(
        f"%v, %i = call @sort(%x) : ({V4}) -> ({V4}, tensor<4xi64>)\nreturn %v, %i : {V4}, tensor<4xi64>",
        f"""func.func private @sort({V4}) -> ({V4}, tensor<4xi64>)
             attributes {{fuse.extern = "aten.sort.default", fuse.args = [#fuse.arg<0 : i64>, -1, true], fuse.kwargs = {{}}}}""",
        f"%x: {V4}",
        f"{V4}, tensor<4xi64>",
    )
    v, i = run_module(module, [X])
    assert v.tolist() == [4.0, 3.0, 2.0, 1.0] and i.tolist() == [3, 2, 1, 0]


UNBACKED = 'tensor<?x1xi64, #fuse.layout<"u0,1", "1,u0", "0", "cpu">>'


def test_unbacked_sizes_come_from_results():
    declarations = f"""
func.func private @count({V4}) -> (index {{fuse.sym = "u0"}}) attributes {{fuse.extern = "aten.sym_numel.default", fuse.args = [#fuse.arg<0 : i64>]}}
func.func private @nonzero({V4}, index) -> {UNBACKED} attributes {{fuse.extern = "aten.nonzero.default", fuse.args = [#fuse.arg<0 : i64>]}}"""
    module = extern(
        f"%n = call @count(%x) : ({V4}) -> index\n%y = call @nonzero(%x, %n) : ({V4}, index) -> {UNBACKED}\nreturn %y, %n : {UNBACKED}, index",
        declarations,
        f"%x: {V4}",
        f"{UNBACKED}, index",
    )
    y, n = run_module(module, [X])
    assert n == 4 and y.flatten().tolist() == [0, 1, 2, 3]
    with pytest.raises(
        RunError,
        match=r"result 0 of extern op aten.nonzero.default has sizes \[1, 1\], its type says \[4, 1\]",
    ):
        run_module(module, [torch.tensor([0.0, 1.0, 0.0, 0.0])])


def test_extern_mutation_and_alias():
    module = extern(
        f"%y = call @add_(%x, %x) : ({V4}, {V4}) -> {V4}\nreturn %x, %y : {V4}, {V4}",
        f"""func.func private @add_({V4}, {V4}) -> {V4} attributes {{fuse.extern = "aten.add_.Tensor", fuse.mutated = array<i64: 0>,
             fuse.aliases = {{"0" = 0 : i64}}, fuse.args = [#fuse.arg<0 : i64>, #fuse.arg<1 : i64>], fuse.kwargs = {{alpha = 2}}}}""",
        f"%x: {V4}",
        f"{V4}, {V4}",
    )
    x = X.clone()
    a, b = run_module(module, [x])
    assert torch.equal(x, 3 * X) and a.data_ptr() == b.data_ptr() == x.data_ptr()


def test_extern_results_get_the_promised_strides():
    type_ = 'tensor<3x2xf32, #fuse.layout<"3,2", "1,3", "0", "cpu">>'
    module = extern(
        f"%y = call @neg(%x) : (tensor<3x2xf32>) -> {type_}\nreturn %y : {type_}",
        f'func.func private @neg(tensor<3x2xf32>) -> {type_} attributes {{fuse.extern = "aten.neg.default", fuse.args = [#fuse.arg<0 : i64>]}}',
        "%x: tensor<3x2xf32>",
        type_,
    )
    x = torch.rand(3, 2)
    (y,) = run_module(module, [x])
    assert torch.equal(y, -x) and y.stride() == (1, 3)


def test_host_objects_by_name():
    declaration = f"""func.func private @cond(i1, {V4}) -> {V4} attributes {{fuse.extern = "higher_order.cond", fuse.args =
        [#fuse.arg<0 : i64>, #fuse.torch<"object:yes">, #fuse.torch<"object:no">, [#fuse.arg<1 : i64>]]}}"""
    module = extern(
        f"%y = call @cond(%c, %x) : (i1, {V4}) -> {V4}\nreturn %y : {V4}",
        declaration,
        f"%c: i1, %x: {V4}",
        V4,
    )
    objects = {"yes": lambda x: x + 1, "no": lambda x: x - 1}
    program = InterpretedProgram(module, objects=objects)
    assert torch.equal(program([True, X])[0], X + 1) and torch.equal(program([False, X])[0], X - 1)
    with pytest.raises(RunError, match="names the object 'yes', which only the process that"):
        InterpretedProgram(module)


def test_unknown_operators_are_named():
    with pytest.raises(RunError, match=r"no operator is called 'aten.no_such_thing.default'"):
        resolve("aten.no_such_thing.default")
    assert resolve("operator.add")(2, 3) == 5 and resolve("math.sqrt")(4.0) == 2.0
