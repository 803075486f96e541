import pytest
import run_vit
from harness import losses

ROW = run_vit.ROWS[0]


def made(norm=3.0, loss=6.9):
    return {"losses": [loss, 6.8], "first_grad_norm": norm}


def test_losses_and_the_first_gradient_norm_must_agree():
    assert run_vit.loss_difference(ROW, made(), made(norm=3.01, loss=6.91)) == pytest.approx(0.01 / 6.91)
    with pytest.raises(losses.Differ, match="losses differ by"):
        run_vit.loss_difference(ROW, made(), made(loss=7.1))
    with pytest.raises(losses.Differ, match="gradient norms of the first step differ by 6.000%"):
        run_vit.loss_difference(ROW, made(norm=3.18), made())
