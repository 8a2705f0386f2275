"""A kernel for C: softmax becomes a shared library with a header, and main.c calls it.

    python examples/c/run.py

Needs a C compiler (`cc`).
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np

import tirscript
from tirscript.examples.softmax import softmax

HERE = Path(__file__).resolve().parent


def numbers(folder: Path) -> str:
    """What the C program prints that is linked with the library, both made in `folder`."""
    tirscript.build(softmax).export(folder / "libkernels.so", header=folder / "softmax.h")
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{folder}"]
    program = folder / "program"
    command = ["cc", *strict, str(HERE / "main.c"), f"-L{folder}", "-lkernels", f"-Wl,-rpath,{folder}", "-o", program]
    subprocess.run(command, check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        printed = numbers(Path(name))
    print(printed)
    x = np.array([[0, 1, 2, 3], [1, 1, 1, 1]], "float32")
    power = np.exp(x - x.max(axis=1, keepdims=True))
    found = np.array([line.split() for line in printed.splitlines()[:2]], "float32")
    np.testing.assert_allclose(found, power / power.sum(axis=1, keepdims=True), atol=1e-6)
    print("the C program printed what numpy computes")
