"""A busy neighbour: products of matrices on one thread, until it is ended. Prints one line when it has begun."""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read when numpy is imported

import numpy  # noqa: E402


def main():
    generator = numpy.random.default_rng(0)
    matrix = generator.standard_normal((768, 768), dtype=numpy.float32)
    parent = os.getppid()
    print("busy", flush=True)
    while os.getppid() == parent:  # it must not outlive whoever started it
        matrix @ matrix


if __name__ == "__main__":
    main()
