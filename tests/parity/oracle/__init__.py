"""Computes the CornerNet family as plainly as possible: the expected values of the parity cases.

Each module that names a file of cases in FILE has
    inputs()                     the inputs of the small set, as Tensors and metadata
    expected(stored, metadata)   the expected values that belong to such inputs
    tolerance(name)              how far a value may be apart: (absolute, relative, floor)
and may have share(name, got, wanted, tolerance), how much of it is used, for values that are compared in another way.
"""
