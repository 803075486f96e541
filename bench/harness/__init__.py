"""What the side-by-side benchmarks share: rows, turns, statistics, the machine, tables.

Standard library only, and small: a child's peak memory, as the kernel reports it, is never below that of the process
that started it.
"""
