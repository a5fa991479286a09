"""What reads a user's Triton kernel is computed where that stores it: results by those in float64."""

import re

import pytest
import torch
from compiling import Compiled
from repository import LIT
from user_epilogues import CASES, inputs_of, require_close
from user_kernels import triton_without_a_gpu

from fuse_mlir.compiler.analysis.user_fusion.user_writer import EPILOGUE_RULES, EpilogueRefused

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

#: Models whose launches differ where sizes are symbols: no tile is known to hold a row then.
DYNAMIC = {
    "matmul_bias_gelu",
    "transposed_copy",
    "binary_epilogue",
    "halves",
    "several_readers",
    "with_scales",
}


def together(models):
    """One function of several models: compiling takes about as long as for one."""

    def run(*inputs):
        results, rest = [], list(inputs)
        for model in models:
            count = len(CASES[model]) - 2
            results.append(model(*rest[:count]))
            del rest[:count]
        return results

    return run


def compiled(models, dynamic=False, **options):
    inputs = [inputs_of(model) for model in models]
    run = Compiled(together(models), options, dynamic=dynamic)
    with triton_without_a_gpu(), torch.no_grad():
        results = run(*(x for given in inputs for x in given))
    for model, found, given in zip(models, results, inputs, strict=True):
        require_close(model, found, given)
    [graph] = run.graphs
    return [
        r.rule for r in graph.remarks.items if r.pass_name == "fuse-user-epilogues" and r.kind == "missed"
    ]


def test_results():
    assert compiled(CASES, interpret_level="planned", verify="on") == [
        rule for rule, *_ in CASES.values() if rule
    ]


def test_sizes_may_be_symbols():
    assert compiled([model for model in CASES if model.__name__ in DYNAMIC], dynamic=True) == []


def test_every_rule_has_a_section_and_a_remark():
    files = sorted((LIT / "passes").glob("fuse-user-epilogues-*.mlir"))
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    assert sorted(re.findall(r"^// Rule (\S+)\.$", text, re.MULTILINE)) == sorted(EPILOGUE_RULES)
    missed = re.findall(r"^// REMARK(?:-NEXT)?: missed: fuse-user-epilogues: (\S+)$", text, re.MULTILINE)
    assert set(missed) == set(EPILOGUE_RULES)
    with pytest.raises(AssertionError, match="no rule is named"):
        EpilogueRefused("mismatch", "they differ")
