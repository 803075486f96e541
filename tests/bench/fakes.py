"""Runs that no program made."""

from harness.programs import Run


def make_run(losses=(4.0, 3.0), grad_norms=(1.0, 1.0), step_seconds=(9.0, 1.0), rss=2**30, first_step=0.5, others=0.0):
    return Run(
        losses=list(losses),
        grad_norms=list(grad_norms),
        step_seconds=list(step_seconds),
        first_step_seconds=first_step,
        peak_bytes=rss,
        cpu_seconds=3.0,
        wall_seconds=4.0,
        load_before=0.25,
        others_cores=others,
    )
