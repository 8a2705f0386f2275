"""Kernels to read and to run.

Each file holds a kernel of the file's name, `inputs(rng, large)` that makes the arguments of a call, and `reference`,
which does the same to the same arguments with numpy.
"""
