"""Kernels of typical shapes that tiling rules are tried on, and what rules choose: shared by tests, no test
itself.
"""

from dataclasses import replace

from tiling_cases import Case, parsed, tensor

from fuse_mlir.compiler.analysis.kernel.shape import KernelShape
from fuse_mlir.compiler.analysis.tiling.rules import choose
from fuse_mlir.compiler.cost.devices import hardware_named
from fuse_mlir.compiler.ir.kernel import Kernel, string

LOAD = "load x[d0, d1] -> v\n"
COPY = LOAD + "store v -> o[d0, d1]"
MAXIMA = LOAD + "fold max v[d1] -> m : f32\nstore m -> a[d0]"
COLUMNS = LOAD + "fold max v[d0] -> m : f32\nstore m -> b[d1]"
#: The greatest of 24 sums of each column.
MANY_SUMS = (
    LOAD
    + "".join(f"fold sum v[d0] -> s{n} : f32\n" for n in range(24))
    + "".join(
        f"%t{n} = arith.maximumf %{f't{n - 1}' if n > 1 else 's0'}, %s{n} : f32\n" for n in range(1, 24)
    )
    + "store t23 -> b[d1]"
)
CENTRED = LOAD + "fold max v[d0] -> m : f32\n%q = arith.subf %v, %m : f32\nstore q -> o[d0, d1]"
#: The gradient of a norm: each row is reduced, and what comes of it is summed down the columns.
ROWS_AND_COLUMNS = (
    LOAD
    + "fold sum v[d1] -> m : f32\n%q = arith.subf %v, %m : f32\nfold sum v[d0] -> c : f32\n"
    + "store q -> o[d0, d1]\nstore c -> b[d1]"
)
SEARCH = (
    LOAD
    + '%i = "fuse.index"() {expr = "d1"} : () -> i64\n'
    + '%m, %w = "fuse.argreduce"(%v, %i) {kind = "argmax", over = ["d1"]} : (f32, i64) -> (f32, i64)\n'
    + "store m -> a[d0]"
)
COUNTED = LOAD + '%m, %k = "fuse.welford"(%v) {over = ["d1"]} : (f32) -> (f32, f32)\nstore m -> a[d0]'
GROUPS = (
    "load x[d0, d1, d2] -> v\nfold sum v[d1,d2] -> t : bf16\n%w = arith.mulf %v, %t : bf16\n"
    "fold max w[d2] -> m : bf16\n%q = arith.subf %w, %m : bf16\nstore q -> o[d0, d1, d2]"
)
#: Rows that are weighted, each by a number, and summed.
SHARED_NUMBERS = (
    LOAD + "load y[d0] -> w\n%p = arith.mulf %v, %w : f32\nfold sum p[d0] -> m : f32\nstore m -> b[d1]"
)
CENTRED_ROWS = COUNTED.replace("store m -> a[d0]", "%q = arith.subf %v, %m : f32\nstore q -> o[d0, d1]")
SCAN = '%{0} = "fuse.scan"(%v) {{kind = "sum", over = "{1}", reverse = {2}}} : (f32) -> f32\n'


def scans(over):
    both = SCAN.format("f", over, "false") + SCAN.format("g", over, "true")
    return LOAD + both + "%q = arith.addf %f, %g : f32\nstore q -> o[d0, d1]"


#: A running sum down the columns.
FORWARD = LOAD + SCAN.format("f", "d0", "false") + "store f -> o[d0, d1]"

#: 20 values that live at once, and their sum.
MANY = "".join(f"%z{n} = arith.mulf %{f'z{n - 1}' if n else 'v'}, %v : f32\n" for n in range(20))
SUM = "".join(f"%y{n} = arith.addf %{f'y{n - 1}' if n else 'm'}, %z{n} : f32\n" for n in range(20))


#: A running sum down the columns, while these 20 values live.
FORWARD_OF_MANY = LOAD + MANY + SCAN.format("m", "d0", "false") + SUM + "store y19 -> o[d0, d1]"


def dynamic(dim, body):
    """A kernel over 4096 rows of 1024, of which one size is a symbol without a bound."""
    sizes = {d: "s0" if d == dim else n for d, n in (("d0", 4096), ("d1", 1024))}
    hint = {"s0": 4096 if dim == "d0" else 1024}
    return replace(matrix(*sizes.values(), body), sizes=hint)


def matrix(m, n, body, element="f32", strides=None):
    """A kernel over m rows of n."""
    sizes = {"o": (m, n), "a": (m,), "b": (n,)}
    stored = {name: tensor(*s, element=element) for name, s in sizes.items() if f"-> {name}[" in body}
    x = tensor(m, n, element=element, strides=strides)
    return Case({"d0": str(m), "d1": str(n)}, {"x": x}, stored, body.replace("f32", element))


HEADS = Case(
    {"d0": "64", "d1": "16", "d2": "512", "d3": "64"},
    {"x": tensor(64, 512, 16, 64, element="bf16")},
    {"o": tensor(64, 16, 512, 64, element="bf16")},
    "load x[d0, d2, d1, d3] -> v\nstore v -> o[d0, d1, d2, d3]",
)
BIAS = Case(
    {"d0": "4096", "d1": "768"},
    {"x": tensor(4096, 768), "y": tensor(768)},
    {"o": tensor(4096, 768)},
    LOAD + "load y[d1] -> w\n%s = arith.addf %v, %w : f32\nstore s -> o[d0, d1]",
)
#: ``ROWS_AND_COLUMNS`` of 1024 slices of 16 rows.
SLICES = Case(
    {"d0": "1024", "d1": "16", "d2": "768"},
    {"x": tensor(1024, 16, 768)},
    {"o": tensor(1024, 16, 768), "b": tensor(1024, 768)},
    "load x[d0, d1, d2] -> v\nfold sum v[d2] -> m : f32\n%q = arith.subf %v, %m : f32\n"
    "fold sum v[d1] -> c : f32\nstore q -> o[d0, d1, d2]\nstore c -> b[d0, d2]",
)


def components(body="load x[d0, d1, d2] -> v\nfold sum v[d1] -> m : f32\nstore m -> b[d0, d2]", points=65536):
    """Vectors of three components, 32 of each of so many points, that are added up."""
    dims = {"d0": str(points), "d1": "32"} | ({"d2": "3"} if "d2" in body else {})
    stored = {"b": tensor(points, 3)} if "-> b" in body else {"a": tensor(points)}
    return Case(dims, {"x": tensor(points, 32, 3)}, stored, body)


WEIGHED = (
    "load x[d0, d1, d2] -> v\nload y[d0, d2] -> w\n%e = math.exp %w : f32\n%l = math.log %e : f32\n"
    "%s = arith.mulf %v, %l : f32\nstore s -> o[d0, d1, d2]"
)


SCATTERED = WEIGHED.replace("load x[d0, d1, d2] -> v\n", "").replace(
    "%s =",
    "%i = arith.fptosi %l : f32 to i64\n"
    '%v = "fuse.load"(%x, %true, %zero, %i) {at = ["d0", "d1", "i0"]} '
    ": (tensor<IMAGESxf32>, i1, f32, i64) -> f32\n%s =",
)


def planes(images=64, points=16384, body=SCATTERED, count=8):
    """Images of some planes, read at a place and times a weight of each point of an image."""
    dims = {"d0": str(images), "d1": str(count), "d2": str(points)}
    full = tensor(images, count, points)
    body = body.replace("IMAGES", f"{images}x{count}x{points}")
    return Case(dims, {"x": full, "y": tensor(images, points)}, {"o": full}, body)


def product(*rows):
    """A vector, or several, times 14336 x 4096 weights."""
    loads = "".join(f"load {r}[d1] -> v{r}\n%p{r} = arith.mulf %v{r}, %w : f32\n" for r in rows)
    sums = "".join(f"fold sum p{r}[d1] -> s{r} : f32\nstore s{r} -> o{r}[d0]\n" for r in rows)
    return Case(
        {"d0": "14336", "d1": "4096"},
        {"y": tensor(14336, 4096)} | {r: tensor(4096) for r in rows},
        {f"o{r}": tensor(14336) for r in rows},
        f"load y[d0, d1] -> w\n{loads}{sums}",
    )


def of_its_row(outputs, summed, element="f32", own=False):
    """A vector over its norm, times weights.  ``own``: each row of weights has a vector of its own."""
    widen = element != "f32"
    place, values = ("d0, d1", f"{outputs}, {summed}") if own else ("d1", str(summed))
    body = f"load x[{place}] -> v\nload y[d0, d1] -> w\n"
    if widen:
        body += f"%vw = arith.extf %v : {element} to f32\n%ww = arith.extf %w : {element} to f32\n"
    v, w = ("vw", "ww") if widen else ("v", "w")
    body += f"""%q = arith.mulf %{v}, %{v} : f32
fold sum q[d1] -> t : f32
%r = math.rsqrt %t : f32
%n = arith.mulf %{v}, %r : f32
%p = arith.mulf %n, %{w} : f32
fold sum p[d1] -> s : f32
store s -> o[d0]"""
    sizes = [int(n) for n in values.split(", ")]
    inputs = {"x": tensor(*sizes, element=element), "y": tensor(outputs, summed, element=element)}
    return Case({"d0": str(outputs), "d1": str(summed)}, inputs, {"o": tensor(outputs)}, body)


def matmul(m, n, k, behind="store c -> o[d0, d1]", sizes=None, **inputs):
    """A product of bfloat16."""
    body = "load x[d0, d2] -> a\nload y[d2, d1] -> b\n"
    body += '%c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32\n'
    operands = {"x": tensor(m, k, element="bf16"), "y": tensor(k, n, element="bf16")}
    dims = {"d0": str(m), "d1": str(n), "d2": str(k)}
    return Case(dims, operands | inputs, {"o": tensor(m, n)}, body + behind, sizes=sizes or {})


def widened(slices):
    """4 rows times int8 weights [14336, 4096], summed in so many slices, which are added up then."""
    return Case(
        {"d0": "4", "d1": "14336", "d2": str(4096 // slices), "d3": str(slices)},
        {"x": tensor(4, 4096, element="bf16"), "y": tensor(14336, 4096, element="i8")},
        {"o": tensor(4, 14336)},
        f"load x[d0, d3*{4096 // slices} + d2] -> a\nload y[d1, d3*{4096 // slices} + d2] -> n\n"
        '%b = arith.sitofp %n : i8 to bf16\n%c = "fuse.dot"(%a, %b) {over = ["d2"]} : (bf16, bf16) -> f32\n'
        "fold sum c[d3] -> s : f32\nstore s -> o[d0, d1]",
    )


def chain(rows, columns=64):
    """A product of a product of bfloat16, of ``columns`` and 64 columns."""
    body = "%h = arith.truncf %c : f32 to bf16\nload v[d1, d3] -> q\n"
    body += '%g = "fuse.dot"(%h, %q) {over = ["d1"]} : (bf16, bf16) -> f32\nstore g -> o[d0, d3]'
    case = matmul(rows, columns, 64, body, v=tensor(columns, 64, element="bf16"))
    return replace(case, dims={**case.dims, "d3": "64"})


def attention(rows, columns):
    """A product of weights, exp of a product, and their sum, of bfloat16 with 64 columns: on line."""
    body = "load v[d1, d3] -> q\n"
    body += '%g, %m, %l = "fuse.online_dot"(%c, %q) {over = ["d1"]} : (f32, bf16) -> (f32, f32, f32)\n'
    body += "%w = arith.divf %g, %l : f32\nstore w -> o[d0, d3]"
    case = matmul(rows, columns, 64, body, v=tensor(columns, 64, element="bf16"))
    output = {"o": tensor(rows, 64)}
    return replace(case, dims={**case.dims, "d3": "64"}, outputs=output)


COLUMN_MAXIMA = "fold max c[d1] -> m : f32\n%s = arith.subf %c, %m : f32\nstore s -> o[d0, d1]"


def weighed(batch, rows, columns, element="f32", more="", **changed):
    """Vectors times a matrix each: its rows are weighed by the vector's elements, and summed."""
    body = "load x[d0, d1] -> v\nload y[d0, d1, d2] -> w\n%p = arith.mulf %v, %w : f32\n"
    body += f"fold sum p[d1] -> s : f32\n{more}store s -> o[d0, d2]"
    inputs = {"x": tensor(batch, rows, element=element), "y": tensor(batch, rows, columns, element=element)}
    dims = {"d0": str(batch), "d1": str(rows), "d2": str(columns)}
    output = {"o": tensor(batch, columns, element=element)}
    return replace(Case(dims, inputs, output, body.replace("f32", element)), **changed)


def one_by_one_of_batch(batch, extent, element="f32", turned=True):
    """Square matrices, multiplied one by one, of which the right one may lie along the sum."""
    loads = "".join(
        f"load x[d0, d1, {j}] -> a{j}\nload y[d0, {j}, d2] -> b{j}\n%p{j} = arith.mulf %a{j}, %b{j} : f32\n"
        for j in range(extent)
    )
    adds = "".join(
        f"%s{j} = arith.addf %{f's{j - 1}' if j > 1 else 'p0'}, %p{j} : f32\n" for j in range(1, extent)
    )
    body = f"{loads}{adds}store s{extent - 1} -> o[d0, d1, d2]".replace("f32", element)
    whole = tensor(batch, extent, extent, element=element)
    strides = f"{extent * extent},1,{extent}" if turned else None
    right = tensor(batch, extent, extent, element=element, strides=strides)
    return Case(
        {f"d{n}": str(s) for n, s in enumerate((batch, extent, extent))},
        {"x": whole, "y": right},
        {"o": whole},
        body,
    )


def one_by_one(rows, columns, summed):
    """Rows times a small matrix, multiplied one by one."""
    loads = "".join(
        f"load x[d0, {j}] -> a{j}\nload y[{j}, d1] -> b{j}\n%p{j} = arith.mulf %a{j}, %b{j} : f32\n"
        for j in range(summed)
    )
    adds = "".join(
        f"%s{j} = arith.addf %{f's{j - 1}' if j > 1 else 'p0'}, %p{j} : f32\n" for j in range(1, summed)
    )
    return Case(
        {"d0": str(rows), "d1": str(columns)},
        {"x": tensor(rows, summed), "y": tensor(summed, columns)},
        {"o": tensor(rows, columns)},
        f"{loads}{adds}store s{summed - 1} -> o[d0, d1]",
    )


def pairs(m, n, more=""):
    """The largest difference of each of m numbers and all of n others; all differences are stored, too."""
    return Case(
        {"d0": str(m), "d1": str(n)},
        {"x": tensor(m), "y": tensor(n)},
        {"o": tensor(m, n), "a": tensor(m)},
        "load x[d0] -> v\nload y[d1] -> w\n%s = arith.subf %v, %w : f32\nstore s -> o[d0, d1]\n"
        f"fold max s[d1] -> m : f32\n{more}store m -> a[d0]",
    )


def pairs_of_batch(batch, m, n):
    """The largest difference of each of m numbers and all of n others, in each part of a batch."""
    return Case(
        {"d0": str(batch), "d1": str(m), "d2": str(n)},
        {"x": tensor(batch, m), "y": tensor(batch, n)},
        {"a": tensor(batch, m)},
        "load x[d0, d1] -> v\nload y[d0, d2] -> w\n%s = arith.subf %v, %w : f32\n"
        "fold max s[d2] -> m : f32\nstore m -> a[d0, d1]",
    )


def headed(batch, rows, heads, columns, gap=0):
    """Numbers of heads, weighed by others that lie in an order of their own; stored, and summed over rows."""
    head = columns + gap
    strides = f"{rows * heads * head},{heads * head},{head},1" if gap else None
    body = "load x[d0, d1, d2, d3] -> v\nload w[d2, d0, d1] -> u\n%p = arith.mulf %v, %u : f32\n"
    return Case(
        {f"d{n}": str(size) for n, size in enumerate((batch, rows, heads, columns))},
        {"x": tensor(batch, rows, heads, columns), "w": tensor(heads, batch, rows)},
        {"o": tensor(batch, rows, heads, columns, strides=strides), "a": tensor(batch, heads, columns)},
        f"{body}store p -> o[d0, d1, d2, d3]\nfold sum p[d1] -> s : f32\nstore s -> a[d0, d2, d3]",
    )


def small_and_both(batch, rows, columns):
    """The sums of the rows of small matrices, and differences from the largest elements of their columns."""
    body = "load x[d0, d1, d2] -> v\nfold sum v[d2] -> s : f32\nfold max v[d1] -> m : f32\n"
    return Case(
        {f"d{n}": str(size) for n, size in enumerate((batch, rows, columns))},
        {"x": tensor(batch, rows, columns)},
        {"a": tensor(batch, rows), "o": tensor(batch, rows, columns)},
        f"{body}store s -> a[d0, d1]\n%d = arith.subf %v, %m : f32\nstore d -> o[d0, d1, d2]",
    )


def weighed_rows(m, n):
    """The sum of each row of n elements, by weights that all rows share."""
    body = "load y[d1] -> w\n%p = arith.mulf %v, %w : f32\nfold sum p[d1] -> s : f32\nstore s -> o[d0]"
    return replace(
        matrix(m, n, LOAD + body), inputs={"x": tensor(m, n), "y": tensor(n)}, outputs={"o": tensor(m)}
    )


def woven(parts, element="bf16"):
    """Images woven together along rows, as a pixel shuffle does."""
    return Case(
        {"d0": "4096", "d1": "512", "d2": str(parts)},
        {"x": tensor(parts, 4096, 512, element=element)},
        {"o": tensor(4096, 512, parts, element=element)},
        "load x[d2, d0, d1] -> v\nstore v -> o[d0, d1, d2]",
    )


def shape_of(case):
    """Keeps the module alive as long as the shape."""
    module = parsed(case.text())
    ops = [op.operation for op in module.body.operations]
    [func] = [op for op in ops if string(op.attributes["sym_name"]) == "k"]
    with module.context:
        shape = KernelShape.of(Kernel.of(func))
        shape.module = module
    return shape


def chosen(case):
    shape = shape_of(case)
    with shape.module.context:
        return choose(shape, hardware_named("h200"))


def text_of(tile):
    axes = ", ".join(f"{'*'.join(a.dims)} {a.kind} {a.block}" for a in tile.axes)
    return f"{axes}; {tile.num_warps} warps, {tile.num_stages} stages"


def taps(images: int = 64, channels: int = 32, length: int = 1024, count: int = 5) -> Case:
    """The sum of neighbours, each times a weight that a channel has."""
    body = "\n".join(
        f"""load x[d0, d1, {f"d2 + {k}" if k else "d2"}] -> v{k}
load w[d1, {k}] -> w{k}
%p{k} = arith.mulf %v{k}, %w{k} : f32
%s{k} = arith.addf %p{k}, {f"%s{k - 1}" if k else "%zero"} : f32"""
        for k in range(count)
    )
    return Case(
        {"d0": str(images), "d1": str(channels), "d2": str(length)},
        {"x": tensor(images, channels, length + count - 1), "w": tensor(channels, count)},
        {"o": tensor(images, channels, length)},
        f"{body}\nstore s{count - 1} -> o[d0, d1, d2]",
    )
