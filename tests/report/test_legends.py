"""What the legends of the page's charts show."""

import pytest
from conftest import report_of, rows_of
from playwright.sync_api import Locator
from stores import entity_id

MODELS = [f"model-{number:02}" for number in range(11)]


@pytest.mark.parametrize("width", [390, 1280])
def test_legends_of_long_names_are_within_the_chart(page_of, width):
    reader = page_of("long_names", "explore", width=width)
    plot = reader.page.locator("#scatter .plot").bounding_box()
    names = reader.page.locator("#scatter .role-legend-label text")
    assert names.count() == 4 and names.last.text_content().startswith("the-one-with")
    assert all(box["x"] + box["width"] <= plot["x"] + plot["width"] for box in map(Locator.bounding_box, names.all()))


def test_a_legend_has_what_the_filter_leaves_in_the_same_drawing(page_of):
    reader = page_of("vit", "explore")
    legend = reader.page.locator("#scatter .role-legend-label text")
    assert {"gemini", "torch_ddp", "bf16", "fp32"} < set(legend.all_text_contents())
    reader.page.evaluate("() => { window.drawing = document.querySelector('#scatter .plot svg') }")
    reader.go("explore?f.a_plugin=gemini,torch_ddp")
    assert {"gemini", "torch_ddp"} < set(legend.all_text_contents())
    assert "FULL_SHARD" not in legend.all_text_contents()
    assert reader.page.evaluate("window.drawing.isConnected"), "a filter compiles no chart anew"


def test_eleven_values_have_eleven_colours(samples, read, tmp_path):
    runs = [rows_of(samples, "one")[0] for _ in MODELS]
    for number, run in enumerate(runs):
        run["entity"]["model_name"] = MODELS[number]
        run |= {"entity_id": entity_id(run["entity"]), "uid": f"{number:032x}"}
    page = report_of(runs, tmp_path)
    for dark in [False, True]:
        reader = read(page.as_uri() + "#explore", dark=dark)
        symbols = reader.page.locator("#scatter .role-legend-symbol path")
        assert len(set(symbols.evaluate_all("(all) => all.map((one) => getComputedStyle(one).fill)"))) == len(MODELS)


def test_a_shape_in_a_legend_is_not_drawn_with_the_dashes_of_its_line(page_of):
    reader = page_of("demo", "scaling")
    reader.see_all()
    chart = reader.page.locator("#throughput_by_batch")
    assert chart.locator(".role-legend-label text").all_text_contents() == ["full", "lora", "128", "256"]
    shapes = chart.locator(".role-legend").last.locator(".role-legend-symbol path")
    assert shapes.count() == 2
    assert not any(shapes.evaluate_all("(all) => all.map((one) => one.getAttribute('stroke-dasharray'))"))
    lines = chart.locator(".mark-line path").evaluate_all("(all) => all.map((o) => o.getAttribute('stroke-dasharray'))")
    assert sorted(lines) == ["1,0", "1,0", "4,2", "4,2"]
