"""Dropout that does nothing shares memory with its operand, as in eager mode."""

import pytest
import torch
from compiling import Compiled
from torch import nn
from torch.nn import functional as F

pytestmark = pytest.mark.usefixtures("fresh_dynamo")

IDLE = {
    "not training": lambda x: F.dropout(x, 0.5, False),
    "zero": lambda x: F.dropout(x, 0.0),
    "keyword": lambda x: F.dropout(input=x, training=False),
    "torch": lambda x: torch.dropout(x, 0.5, False),
    "aten": lambda x: torch.ops.aten.dropout(x, 0.5, False),
    "in place": lambda x: F.dropout(x, 0.5, False, True),
    "empty": lambda x: F.dropout(x[:0], 0.5, True),
    "one dim": lambda x: F.dropout1d(x, 0.5, False),
    "alpha": lambda x: F.alpha_dropout(x, 0.5, False),
    "feature alpha": lambda x: F.feature_alpha_dropout(x, 0.5, False),
    "module": nn.Dropout(0.5).eval(),
    "module of no probability": nn.Dropout(0.0),
    "identity": nn.Identity(),
}


def written(functions):
    def function(x, y):
        results = []
        for number, operation in enumerate(functions):
            local = x * number
            operation(local).add_(1)
            results.append(local)
            operation(y).mul_(2)
        return results, y * 1

    return function


def test_what_is_written_is_in_the_operand():
    function, x = written(list(IDLE.values())), torch.randn(4, 6)
    given, wanted = torch.ones(4, 6), torch.ones(4, 6)
    compiled = Compiled(function)
    torch.testing.assert_close([compiled(x, given), given], [function(x, wanted), wanted])
    assert {"idle-dropouts"} <= {r.pass_name for r in compiled.graphs[0].remarks.items}


def test_results_share_memory():
    def function(x):
        y = x * 2
        return y, F.dropout(y, 0.5, False), F.dropout(x, 0.5, False)

    for x in (torch.randn(4), torch.randn(4, requires_grad=True)):
        a, b, c = Compiled(function)(x)
        assert a.data_ptr() == b.data_ptr() and c.data_ptr() == x.data_ptr()


def test_left_alone():
    def function(x):
        local = x + 1
        F.dropout(local, 0.5).add_(1)
        F.dropout(local, 1.0).add_(1)
        return local

    x, compiled = torch.randn(4, 6), Compiled(function)
    torch.testing.assert_close(compiled(x), x + 1)
    assert "idle-dropouts" not in {r.pass_name for r in compiled.graphs[0].remarks.items}
