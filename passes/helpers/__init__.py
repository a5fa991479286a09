"""What passes are written with: ``@main`` and its calls, kernels' bodies and signatures, names, and the
larger parts of single passes.  None of them is a pass; passes import them, and they import no pass.
"""
