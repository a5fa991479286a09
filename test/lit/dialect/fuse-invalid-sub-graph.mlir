// Rules about sub-graphs and the control flow around them, each broken once.
// RUN: fuse-opt %s --split-input-file --verify-diagnostics

// a sub-graph that is not there
// expected-error@+1 {{'func.func' op runs @body, and no module inside this one has that name}}
func.func private @run(tensor<8xf32>) -> tensor<8xf32> attributes {fuse.graph = @body}

// -----

// a sub-graph with a body beside its module
// expected-error@+1 {{'func.func' op expected a sub-graph to be a declaration, got a body}}
func.func private @run(%x: tensor<8xf32>) -> tensor<8xf32> attributes {fuse.graph = @body} {
  return %x : tensor<8xf32>
}
module @body {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
}

// -----

// other arguments than its @main
// expected-error@+1 {{'func.func' op expected the 1 arguments of the @main of @body, got 2}}
func.func private @run(tensor<8xf32>, index) -> tensor<8xf32> attributes {fuse.graph = @body}
module @body {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
}

// -----

// another kind of result than its @main
// expected-error@+1 {{'func.func' op expected result 0 to be like the @main of @body, tensor<8xf32>, got tensor<8xf16>}}
func.func private @run(tensor<8xf32>) -> tensor<8xf16> attributes {fuse.graph = @body}
module @body {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { return %x : tensor<8xf32> }
}

// -----

// sizes of its own: no error
func.func private @run(tensor<?xf32, #fuse.layout<"s0", "1", "4", "">>) attributes {fuse.graph = @body}
module @body {
  func.func @main(%x: tensor<?xf32, #fuse.layout<"s1", "1", "0", "">>, %s1: index {fuse.sym = "s1"}) { return }
}
// expected-error@-4 {{'func.func' op expected the 2 arguments of the @main of @body, got 1}}

// -----

// a module without a name
// expected-error@+1 {{'builtin.module' op inside a module is a sub-graph: expected it to have a name}}
module { }
func.func @main() { return }

// -----

// a module without a program
// expected-error@+1 {{'builtin.module' op @body is a sub-graph: expected it to have a function @main with a body}}
module @body { }
func.func @main() { return }

// -----

// what is wrong inside a sub-graph
module @body {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    // expected-error@+1 {{'func.call' op calls @exp, which is no kernel, extern, launch, ordered group, sub-graph, control flow}}
    %y = call @exp(%x) : (tensor<8xf32>) -> tensor<8xf32>
    return %y : tensor<8xf32>
  }
  func.func private @exp(tensor<8xf32>) -> tensor<8xf32>
}
func.func @main() { return }

// -----

// control flow is a body
// expected-error@+1 {{'func.func' op expected a control flow to have a body, got a declaration}}
func.func private @choose(i1) attributes {fuse.control_flow}

// -----

// control flow allocates nothing
func.func private @choose() -> tensor<8xf32> attributes {fuse.control_flow} {
  // expected-error@+1 {{'fuse.empty' op is not allowed in control flow: expected func.return, scf.condition, scf.for, scf.if, scf.while, scf.yield, calls, arith}}
  %a = "fuse.empty"() {syms = []} : () -> tensor<8xf32>
  return %a : tensor<8xf32>
}

// -----

// control flow launches nothing by itself, in a region neither
func.func private @choose(%p: i1, %x: tensor<8xf32>) attributes {fuse.control_flow} {
  scf.if %p {
    // expected-error@+1 {{'func.call' op expected control flow to call a sub-graph or extern, got the ordered group @group}}
    func.call @group(%x) : (tensor<8xf32>) -> ()
  }
  return
}
func.func private @group(%x: tensor<8xf32>) attributes {fuse.control_deps} { return }

