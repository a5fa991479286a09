"""A pass of one's own over the FX graph: `options={"fx_pass": f}`.

`f` gets every `torch.fx.Graph` that AOTAutograd made (forward, backward, inference) before it becomes MLIR.
This one turns division by a power of two into a product with the reciprocal: the same number to the last bit,
and cheaper. Run it: `python examples/custom_fx_pass.py`.
"""

import math
import sys

import torch

import fuse_mlir

DIVIDE, MULTIPLY = torch.ops.aten.div.Tensor, torch.ops.aten.mul.Tensor


def division_to_product(graph: torch.fx.Graph) -> None:
    """x / c -> x * (1 / c) for a number c that is a power of two."""
    for node in graph.find_nodes(op="call_function", target=DIVIDE):
        divisor = node.args[1]
        if isinstance(divisor, int | float) and is_power_of_two(divisor):
            node.target = MULTIPLY
            node.args = (node.args[0], 1.0 / divisor)


def is_power_of_two(number: float) -> bool:
    """Whether 1 / number is exact: +-2^k that is neither 0 nor infinite nor subnormal in float32."""
    return math.isfinite(number) and abs(math.frexp(number)[0]) == 0.5 and 2**-126 <= abs(number) <= 2**126


def attention_weights(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """softmax(q k^T / 8): q [t, 64], k [s, 64] -> [t, s]."""
    return torch.softmax(q @ k.mT / 8.0, dim=-1)


def main() -> int:
    """Prints the ops before and after the pass; 0 when the results are equal to the last bit."""
    seen: list[str] = []

    def fx_pass(graph: torch.fx.Graph) -> None:
        seen.append("before: " + ", ".join(str(n.target) for n in graph.nodes if n.op == "call_function"))
        division_to_product(graph)
        seen.append("after:  " + ", ".join(str(n.target) for n in graph.nodes if n.op == "call_function"))

    q, k = torch.randn(16, 64), torch.randn(32, 64)
    plain = torch.compile(attention_weights, backend=fuse_mlir.backend)(q, k)
    torch._dynamo.reset()
    changed = torch.compile(attention_weights, backend=fuse_mlir.backend, options={"fx_pass": fx_pass})(q, k)
    print("\n".join(seen))
    equal = torch.equal(plain, changed)
    print(f"results are {'equal to the last bit' if equal else 'DIFFERENT'}")
    return 0 if equal and seen else 1


if __name__ == "__main__":
    sys.exit(main())
