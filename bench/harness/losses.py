"""Are both sides doing the same work? Losses and gradient norms of every step must agree."""

import math


class Differ(Exception):
    """The two programs did not train the same thing; their times must not be compared."""


def largest_difference(ours, theirs):
    """Largest relative difference of two curves of one length."""
    if len(ours) != len(theirs) or not ours:
        raise Differ(f"{len(ours)} steps of ours against {len(theirs)} of the peer")
    if not all(map(math.isfinite, [*ours, *theirs])):
        raise Differ(f"not every number is finite: {ours} {theirs}")
    return max(abs(a - b) / max(abs(b), 1e-12) for a, b in zip(ours, theirs, strict=True))


def check(row, ours, theirs):
    """(loss difference, gradient norm difference) of two runs; raises Differ beyond the row's tolerances."""
    loss = largest_difference(ours.losses, theirs.losses)
    norm = largest_difference(ours.grad_norms, theirs.grad_norms)
    if loss > row.loss_tolerance:
        raise Differ(f"losses differ by {loss:.3%}, more than {row.loss_tolerance:.4%}: {ours.losses} {theirs.losses}")
    if norm > row.grad_norm_tolerance:
        raise Differ(
            f"gradient norms differ by {norm:.3%}, more than {row.grad_norm_tolerance:.4%}:"
            f" {ours.grad_norms} {theirs.grad_norms}"
        )
    return loss, norm
