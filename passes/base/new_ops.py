"""Scalar ops that a pass puts in front of another op of a kernel."""

from ...compiler.mlir import ir


class NewOps:
    """Makes ops in front of ``op``, at its place in the user's program."""

    def __init__(self, op: ir.Operation) -> None:
        self.location, self.point = op.location, ir.InsertionPoint(op)

    def make(self, name: str, type_: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
        """The result of a new op ``name``, of type ``type_``."""
        return ir.Operation.create(
            name, [type_], list(operands), attributes, loc=self.location, ip=self.point
        ).results[0]

    def constant(self, type_: ir.Type, number: float) -> ir.Value:
        """A constant of a float or an integer type; 1 of ``i1`` is true."""
        whole = isinstance(type_, ir.IntegerType)
        value = ir.IntegerAttr.get(type_, int(number)) if whole else ir.FloatAttr.get(type_, number)
        return self.make("arith.constant", type_, value=value)

    def negated(self, condition: ir.Value) -> ir.Value:
        """Where a condition does not hold."""
        return self.make("arith.xori", condition.type, condition, self.constant(condition.type, 1))
