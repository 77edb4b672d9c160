"""The inputs of the small set of parity cases, made from names; by file, as (tensors, metadata).

Shapes are as small as they can be for a case to mean something: each operation once with each of its quirks.
"""

PREFIX = "small/"
