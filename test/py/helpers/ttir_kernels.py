"""Hand-written TTIR in generic form, shared by the tests of compiling and of launching."""

BLOCK = 256


def add_kernel(name: str = "add_kernel", value: str = "arith.addf") -> str:
    """out[i] = value(x[i], y[i]) for i < n, BLOCK elements a program; arguments x, y, out, n (i32)."""
    vec, ptr, pvec, mask = "tensor<256xf32>", "!tt.ptr<f32>", "tensor<256x!tt.ptr<f32>>", "tensor<256xi1>"
    index, aligned = "tensor<256xi32>", "{tt.divisibility = 16 : i32}"
    return f'''
"builtin.module"() ({{
  "tt.func"() ({{
  ^bb0(%x: {ptr}, %y: {ptr}, %out: {ptr}, %n: i32):
    %pid = "tt.get_program_id"() {{axis = 0 : i32}} : () -> i32
    %block = "arith.constant"() {{value = 256 : i32}} : () -> i32
    %base = "arith.muli"(%pid, %block) : (i32, i32) -> i32
    %lane = "tt.make_range"() {{start = 0 : i32, end = 256 : i32}} : () -> {index}
    %bases = "tt.splat"(%base) : (i32) -> {index}
    %i = "arith.addi"(%bases, %lane) : ({index}, {index}) -> {index}
    %ns = "tt.splat"(%n) : (i32) -> {index}
    %m = "arith.cmpi"(%i, %ns) {{predicate = 2 : i64}} : ({index}, {index}) -> {mask}
    %xs = "tt.splat"(%x) : ({ptr}) -> {pvec}
    %ys = "tt.splat"(%y) : ({ptr}) -> {pvec}
    %os = "tt.splat"(%out) : ({ptr}) -> {pvec}
    %xp = "tt.addptr"(%xs, %i) : ({pvec}, {index}) -> {pvec}
    %yp = "tt.addptr"(%ys, %i) : ({pvec}, {index}) -> {pvec}
    %op = "tt.addptr"(%os, %i) : ({pvec}, {index}) -> {pvec}
    %xv = "tt.load"(%xp, %m) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : ({pvec}, {mask}) -> {vec}
    %yv = "tt.load"(%yp, %m) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : ({pvec}, {mask}) -> {vec}
    %s = "{value}"(%xv, %yv) : ({vec}, {vec}) -> {vec}
    "tt.store"(%op, %s, %m) : ({pvec}, {vec}, {mask}) -> ()
    "tt.return"() : () -> ()
  }}) {{function_type = ({ptr}, {ptr}, {ptr}, i32) -> (), sym_name = "{name}", sym_visibility = "public",
      arg_attrs = [{aligned}, {aligned}, {aligned}, {{}}]}} : () -> ()
}}) : () -> ()
'''


def softmax_kernel(columns: int = 256, hint: str = "") -> str:
    """out[row] = softmax(x[row]) over `columns` (a power of two) f32; arguments x, out; one row a program.

    hint: further attributes of the load.
    """
    vec, ptr, pvec = f"tensor<{columns}xf32>", "!tt.ptr<f32>", f"tensor<{columns}x!tt.ptr<f32>>"
    index = f"tensor<{columns}xi32>"
    segments = "operandSegmentSizes = array<i32: 1, 0, 0>" + (f", {hint}" if hint else "")
    return f"""
"builtin.module"() ({{
  "tt.func"() ({{
  ^bb0(%x: {ptr}, %out: {ptr}):
    %row = "tt.get_program_id"() {{axis = 0 : i32}} : () -> i32
    %columns = "arith.constant"() {{value = {columns} : i32}} : () -> i32
    %base = "arith.muli"(%row, %columns) : (i32, i32) -> i32
    %lane = "tt.make_range"() {{start = 0 : i32, end = {columns} : i32}} : () -> {index}
    %bases = "tt.splat"(%base) : (i32) -> {index}
    %i = "arith.addi"(%bases, %lane) : ({index}, {index}) -> {index}
    %xs = "tt.splat"(%x) : ({ptr}) -> {pvec}
    %os = "tt.splat"(%out) : ({ptr}) -> {pvec}
    %xp = "tt.addptr"(%xs, %i) : ({pvec}, {index}) -> {pvec}
    %op = "tt.addptr"(%os, %i) : ({pvec}, {index}) -> {pvec}
    %v = "tt.load"(%xp) {{{segments}}} : ({pvec}) -> {vec}
    %max = "tt.reduce"(%v) ({{
    ^bb0(%a: f32, %b: f32):
      %larger = "arith.maxnumf"(%a, %b) : (f32, f32) -> f32
      "tt.reduce.return"(%larger) : (f32) -> ()
    }}) {{axis = 0 : i32}} : ({vec}) -> f32
    %maxes = "tt.splat"(%max) : (f32) -> {vec}
    %shifted = "arith.subf"(%v, %maxes) : ({vec}, {vec}) -> {vec}
    %e = "math.exp"(%shifted) : ({vec}) -> {vec}
    %sum = "tt.reduce"(%e) ({{
    ^bb0(%a: f32, %b: f32):
      %both = "arith.addf"(%a, %b) : (f32, f32) -> f32
      "tt.reduce.return"(%both) : (f32) -> ()
    }}) {{axis = 0 : i32}} : ({vec}) -> f32
    %sums = "tt.splat"(%sum) : (f32) -> {vec}
    %y = "arith.divf"(%e, %sums) : ({vec}, {vec}) -> {vec}
    "tt.store"(%op, %y) : ({pvec}, {vec}) -> ()
    "tt.return"() : () -> ()
  }}) {{function_type = ({ptr}, {ptr}) -> (), sym_name = "softmax_kernel", sym_visibility = "public",
      arg_attrs = [{{tt.divisibility = 16 : i32}}, {{tt.divisibility = 16 : i32}}]}} : () -> ()
}}) : () -> ()
"""


def transpose_kernel(n: int) -> str:
    """out = x transposed, both [n, n] f32 with n a power of two, in one program; arguments x, out.

    The tile crosses shared memory: n * n * 4 bytes and some padding.
    """
    ptr, row, column, tile = (
        "!tt.ptr<f32>",
        f"tensor<{n}x1xi32>",
        f"tensor<1x{n}xi32>",
        f"tensor<{n}x{n}xi32>",
    )
    line, vec, pvec = f"tensor<{n}xi32>", f"tensor<{n}x{n}xf32>", f"tensor<{n}x{n}x!tt.ptr<f32>>"
    return f"""
"builtin.module"() ({{
  "tt.func"() ({{
  ^bb0(%x: {ptr}, %out: {ptr}):
    %lane = "tt.make_range"() {{start = 0 : i32, end = {n} : i32}} : () -> {line}
    %r = "tt.expand_dims"(%lane) {{axis = 1 : i32}} : ({line}) -> {row}
    %c = "tt.expand_dims"(%lane) {{axis = 0 : i32}} : ({line}) -> {column}
    %n = "arith.constant"() {{value = dense<{n}> : {row}}} : () -> {row}
    %start = "arith.muli"(%r, %n) : ({row}, {row}) -> {row}
    %starts = "tt.broadcast"(%start) : ({row}) -> {tile}
    %columns = "tt.broadcast"(%c) : ({column}) -> {tile}
    %i = "arith.addi"(%starts, %columns) : ({tile}, {tile}) -> {tile}
    %xs = "tt.splat"(%x) : ({ptr}) -> {pvec}
    %os = "tt.splat"(%out) : ({ptr}) -> {pvec}
    %xp = "tt.addptr"(%xs, %i) : ({pvec}, {tile}) -> {pvec}
    %op = "tt.addptr"(%os, %i) : ({pvec}, {tile}) -> {pvec}
    %v = "tt.load"(%xp) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : ({pvec}) -> {vec}
    %t = "tt.trans"(%v) {{order = array<i32: 1, 0>}} : ({vec}) -> {vec}
    "tt.store"(%op, %t) : ({pvec}, {vec}) -> ()
    "tt.return"() : () -> ()
  }}) {{function_type = ({ptr}, {ptr}) -> (), sym_name = "transpose_kernel", sym_visibility = "public",
      arg_attrs = [{{tt.divisibility = 16 : i32}}, {{tt.divisibility = 16 : i32}}]}} : () -> ()
}}) : () -> ()
"""


def scalars_kernel(types: list[str]) -> str:
    """Stores each of its scalar arguments, of the MLIR types `types`, through a pointer of its own.

    Arguments: the scalars, then one pointer for each.
    """
    pointers = [f"!tt.ptr<{'i8' if t == 'i1' else t}>" for t in types]
    arguments = [f"%a{i}: {t}" for i, t in enumerate(types)] + [f"%p{i}: {p}" for i, p in enumerate(pointers)]
    body = []
    for i, (t, p) in enumerate(zip(types, pointers, strict=True)):
        value, stored = f"%a{i}", t
        if t == "i1":
            value, stored = "%wide", "i8"
            body.append(f'"arith.extui"(%a{i}) : (i1) -> i8'.join(["%wide = ", ""]))
        body.append(f'"tt.store"(%p{i}, {value}) : ({p}, {stored}) -> ()')
    lines = "\n    ".join(body)
    return f"""
"builtin.module"() ({{
  "tt.func"() ({{
  ^bb0({", ".join(arguments)}):
    {lines}
    "tt.return"() : () -> ()
  }}) {{function_type = ({", ".join(types + pointers)}) -> (), sym_name = "scalars_kernel",
      sym_visibility = "public"}} : () -> ()
}}) : () -> ()
"""


def product_kernel(columns: int) -> str:
    """out = x @ y in float32, of bfloat16 [64, 64] and [64, columns], by one program."""
    text, aligned = "", "{tt.divisibility = 16 : i32}"
    for name, wide, of in (("x", 64, "bf16"), ("y", columns, "bf16"), ("o", columns, "f32")):
        index, pointers = f"tensor<64x{wide}xi32>", f"tensor<64x{wide}x!tt.ptr<{of}>>"
        text += f"""
    %{name}r = "tt.make_range"() {{start = 0 : i32, end = 64 : i32}} : () -> tensor<64xi32>
    %{name}c = "tt.make_range"() {{start = 0 : i32, end = {wide} : i32}} : () -> tensor<{wide}xi32>
    %{name}d = "tt.expand_dims"(%{name}r) {{axis = 1 : i32}} : (tensor<64xi32>) -> tensor<64x1xi32>
    %{name}e = "tt.expand_dims"(%{name}c) {{axis = 0 : i32}} : (tensor<{wide}xi32>) -> tensor<1x{wide}xi32>
    %{name}w = "arith.constant"() {{value = dense<{wide}> : tensor<64x1xi32>}} : () -> tensor<64x1xi32>
    %{name}m = "arith.muli"(%{name}d, %{name}w) : (tensor<64x1xi32>, tensor<64x1xi32>) -> tensor<64x1xi32>
    %{name}f = "tt.broadcast"(%{name}m) : (tensor<64x1xi32>) -> {index}
    %{name}g = "tt.broadcast"(%{name}e) : (tensor<1x{wide}xi32>) -> {index}
    %{name}i = "arith.addi"(%{name}f, %{name}g) : ({index}, {index}) -> {index}
    %{name}s = "tt.splat"(%{name}) : (!tt.ptr<{of}>) -> {pointers}
    %{name}p = "tt.addptr"(%{name}s, %{name}i) : ({pointers}, {index}) -> {pointers}"""
    loads = "\n".join(
        f'    %{n}v = "tt.load"(%{n}p) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : '
        f"(tensor<64x{w}x!tt.ptr<bf16>>) -> tensor<64x{w}xbf16>"
        for n, w in (("x", 64), ("y", columns))
    )
    made = f"tensor<64x{columns}xf32>"
    return f"""
"builtin.module"() ({{
  "tt.func"() ({{
  ^bb0(%x: !tt.ptr<bf16>, %y: !tt.ptr<bf16>, %o: !tt.ptr<f32>):{text}
{loads}
    %zero = "arith.constant"() {{value = dense<0.0> : {made}}} : () -> {made}
    %sum = "tt.dot"(%xv, %yv, %zero) {{inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32}} :
        (tensor<64x64xbf16>, tensor<64x{columns}xbf16>, {made}) -> {made}
    "tt.store"(%op, %sum) : (tensor<64x{columns}x!tt.ptr<f32>>, {made}) -> ()
    "tt.return"() : () -> ()
  }}) {{function_type = (!tt.ptr<bf16>, !tt.ptr<bf16>, !tt.ptr<f32>) -> (), sym_name = "product_kernel",
      sym_visibility = "public", arg_attrs = [{aligned}, {aligned}, {aligned}]}} : () -> ()
}}) : () -> ()
"""
