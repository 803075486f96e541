import pytest
import run_vit
from harness import losses

ROW = run_vit.ROWS[0]


def made(norm=3.0, loss=6.9):
    return {"losses": [loss, 6.8], "first_grad_norm": norm}


def test_losses_and_the_first_gradient_norm_must_agree():
    found = run_vit.differences(ROW, made(), made(norm=3.0005, loss=6.91))
    assert found == pytest.approx((0.01 / 6.91, 0.0005 / 3.0005))
    with pytest.raises(losses.Differ, match="losses differ by 8.00e-02"):
        run_vit.differences(ROW, made(), made(loss=7.5))
    with pytest.raises(losses.Differ, match="gradient norms of the first step differ by 1.00e-03, at most 3.25e-04"):
        run_vit.differences(ROW, made(norm=3.003), made())


@pytest.mark.parametrize("mode", ["fp32", "amp", "bf16"])
def test_a_gradient_that_is_one_percent_too_long_is_noticed(mode):
    row = run_vit.Row("row", 8, mode)
    with pytest.raises(losses.Differ, match="gradient norms"):
        run_vit.differences(row, made(norm=3.03), made())
