"""What passes are written with: ``@main`` and its calls, kernels' bodies and signatures, tensors, names.
None of it is a pass, and none of it imports one.
"""
