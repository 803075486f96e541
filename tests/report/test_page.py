"""The report's page in Debian's Chromium: its views, what the address says of them, by mouse, on paper."""

import csv
import io
import json
import re
import statistics
import urllib.parse

import jsonschema
import pytest
from conftest import NODE_MODULES, model_of, report_of, rows_of
from stores import entity_id

VIEWS = ["overview", "explore", "scaling", "predicted", "compare", "run"]
SAMPLES = [
    "demo",
    "mixed",
    "many",
    "one",
    "none",
    "none_valid",
    "long_names",
    "repeated",
    "two_hosts",
    "vit",
    "hostile",
]
MIB = 1 << 20


def choice(figure, label):
    return figure.locator(".choice", has=figure.page.get_by_text(label, exact=True)).locator("select")


def charts_of(samples, name, view):
    return [chart["id"] for chart in model_of(samples, name)["charts"] if chart["view"] == view]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_view_of_every_report_stands(page_of, samples, name):
    reader = page_of(name)
    for view in VIEWS:
        reader.go(view)
        assert reader.page.evaluate("scrollY") == 0, f"{view} does not begin at its top"
        reader.see_all()
        assert reader.page.locator("nav [aria-current=page]").inner_text().lower() == view
        assert len(reader.text("#body").strip()) > 20, f"{view} is empty"
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= 1280, view
        assert reader.page.title() != "owned"


def test_every_chart_is_drawn(page_of, samples):
    reader = page_of("vit")
    for view in ["overview", "explore", "scaling", "predicted", "compare"]:
        reader.go(view)
        reader.see_all()
        charts = charts_of(samples, "vit", view)
        assert charts
        for chart in charts:
            marks = reader.count(
                f"#{chart} svg .mark-symbol path, #{chart} svg .mark-rect path, #{chart} svg .mark-rule line"
            )
            assert marks > 5, chart


@pytest.mark.parametrize("name,dark", [("vit", False), ("mixed", False), ("mixed", True)])
def test_axe_finds_nothing(page_of, name, dark):
    reader = page_of(name, dark=dark)
    for view in VIEWS:
        reader.go(view)
        reader.see_all()
        found = reader.axe()
        assert found == [], view + json.dumps(found, indent=1)


@pytest.mark.parametrize("name", ["mixed", "long_names", "vit", "two_hosts", "hostile"])
def test_a_phone_is_wide_enough(page_of, name):
    reader = page_of(name, width=390)
    for view in VIEWS:
        reader.go(view)
        reader.see_all()
        wide = reader.page.evaluate(
            "[...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll, .plot, nav ul') &&"
            " e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + '.' + e.className)"
        )
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390, (view, wide)
        assert wide == [], view


def boxes(locator):
    return [one.bounding_box() for one in locator.all()]


def test_a_phone_shows_which_view_it_is_and_whole_names_and_numbers(page_of):
    reader = page_of("vit", width=390)
    for view in VIEWS:
        reader.go(view)
        tab = reader.page.locator("nav [aria-current=page]").bounding_box()
        assert 0 <= tab["x"] and tab["x"] + tab["width"] <= 390, view
    reader.see_all()
    chart = reader.page.locator("#run_vit_memory")
    names = chart.locator(".role-axis-label text").all_text_contents()
    assert any("batch size" in name and "ranks" in name for name in names) and "…" not in "".join(names)
    numbers = chart.locator(".role-axis-label text:not([opacity='0'])").filter(has_text=re.compile(r"^[\d,]+$"))
    edges = [(box["x"], box["x"] + box["width"]) for box in boxes(numbers)]
    assert len(edges) > 2 and all(right + 4 < left for (_, right), (left, _) in zip(edges, edges[1:]))


def test_titles_of_panels_are_whole_where_there_is_room(page_of):
    reader = page_of("two_hosts")
    reader.see_all()
    titles = reader.page.locator("#heat_map .role-title-text text").all_text_contents()
    assert any("host workbench" in title for title in titles) and "…" not in "".join(titles)


def test_a_name_stands_nearer_to_its_own_bar_than_to_the_next(page_of):
    reader = page_of("vit", "compare?by=a_plugin")
    names = boxes(reader.page.locator("#ratios .mark-text.role-mark text"))
    points = boxes(reader.page.locator("#ratios .mark-symbol.role-mark path"))
    assert len(names) == len(points) > 10

    def middles(all_of):
        return sorted(box["y"] + box["height"] / 2 for box in all_of)

    names, points = middles(names), middles(points)
    for own, point, following in zip(names, points, names[1:]):
        assert 0 < 1.3 * (point - own) < following - point


def test_a_report_of_many_points_is_no_scroll(page_of):
    reader = page_of("vit")
    reader.see_all()
    assert reader.page.evaluate("document.documentElement.scrollHeight") <= 6000


def test_a_small_report_is_a_small_file(samples):
    assert (samples / "demo.html").stat().st_size < 1.5 * MIB


def test_the_file_loads_nothing(samples, read):
    reader = read((samples / "demo.html").as_uri())
    assert reader.page.evaluate("performance.getEntriesByType('resource').length") == 0


# What the address says


def test_filters_by_address_are_filters_by_hand(page_of):
    by_address = page_of("vit", "explore?f.a_plugin=gemini,torch_ddp&f.a_batch_size=8")
    by_hand = page_of("vit", "explore")
    total = by_hand.rows()
    for label in ["gemini", "torch_ddp"]:
        by_hand.page.get_by_role("group", name="plugin").get_by_label(re.compile(f"^{label}\\s*\\d")).check()
    by_hand.page.get_by_role("group", name="batch size").get_by_label(re.compile(r"^8\s*\d")).check()
    by_hand.settle()
    assert by_hand.rows() == by_address.rows() == 12 < total
    assert by_hand.address == by_address.address
    by_hand.page.get_by_role("button", name="remove plugin: gemini, torch_ddp").click()
    by_hand.settle()
    assert by_hand.address == "#explore?f.a_batch_size=8"
    by_hand.page.get_by_role("button", name="Show all").click()
    by_hand.settle()
    assert by_hand.rows() == total and by_hand.address == "#explore"


def test_every_value_of_a_short_axis_has_its_name(page_of):
    reader = page_of("vit", "explore", width=1180)
    names = reader.page.locator("#spread .role-axis-label text").all_text_contents()
    plugins = {"FULL_SHARD", "HYBRID_SHARD", "SHARD_GRAD_OP", "gemini", "low_level_zero", "torch_ddp", "torch_ddp_fp16"}
    shown = reader.page.locator("#spread .role-axis-label text:not([opacity='0'])").all_text_contents()
    assert plugins < set(names) and plugins < set(shown)


def test_a_crowd_is_drawn_at_every_value_and_its_median_is_that_of_all(page_of, samples):
    model = model_of(samples, "ten_thousand")
    reader = page_of("ten_thousand", "explore")
    with reader.page.expect_download() as download:
        reader.page.locator("#spread button.save").click()
    records = json.load(open(download.value.path()))["data"]["values"]
    field = choice(reader.page.locator("#spread"), "across").input_value()
    axis = next(axis for axis in model["axes"] if axis["field"] == field)
    configurations = model["configurations"]
    values = {}
    for code, state, value in zip(
        configurations["axes"][axis["name"]],
        configurations["state"],
        configurations["estimates"][model["metrics"][0]["id"]]["value"],
    ):
        if state == "valid" and value is not None:
            values.setdefault(axis["values"][code], []).append(value)
    assert len(records) < sum(map(len, values.values()))
    drawn = {record[field]: record["middle"] for record in records}
    assert drawn == pytest.approx({value: statistics.median(all_of) for value, all_of in values.items()})


def test_a_crowd_over_many_words_is_drawn_at_each_of_them_with_its_ends(samples, read, tmp_path):
    row = rows_of(samples, "demo")[0] | {"series": {}, "series_units": {}}
    words, each = [f"set {number:02}" for number in range(50)], 40
    rows = []
    for number, word in enumerate(words):
        for batch in range(each):
            entity = row["entity"] | {"dataset_id": word, "batch_size": batch + 1}
            named = {"uid": f"{each * number + batch:032x}", "entity_id": entity_id(entity)}
            speed = {"real_tokens_per_second": 1000.0 + batch}
            rows.append(row | named | {"entity": entity, "properties": row["properties"] | speed})
    reader = read(report_of(rows, tmp_path).as_uri() + "#explore?spread.x=a_dataset_id&spread.y=m_throughput")
    with reader.page.expect_download() as download:
        reader.page.locator("#spread button.save").click()
    drawn = {}
    for record in json.load(open(download.value.path()))["data"]["values"]:
        drawn.setdefault(record["a_dataset_id"], []).append(record["m_throughput"])
    assert sum(map(len, drawn.values())) < len(rows)
    assert {word: (min(values), max(values)) for word, values in drawn.items()} == {
        word: (1000, 999 + each) for word in words
    }


COLUMNS_DRAWN = """(canvas) => {
  const [red, green, blue] = getComputedStyle(document.documentElement).getPropertyValue("--c0").trim().slice(1)
    .match(/../g).map((part) => parseInt(part, 16));
  const { width, height } = canvas;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  const isDrawn = (at) => data[at + 3] > 200
    && Math.abs(data[at] - red) + Math.abs(data[at + 1] - green) + Math.abs(data[at + 2] - blue) < 30;
  const columns = Array.from({ length: width }, (_, x) => x);
  return [width, columns.filter((x) => Array.from({ length: height }, (_, y) => y)
    .some((y) => isDrawn(4 * (y * width + x))))];
}"""


def test_no_line_goes_across_steps_without_a_loss(samples, read, tmp_path):
    row, *_ = rows_of(samples, "demo")
    row["series"] = {"loss": [2] * 6 + [None] * 8 + [2] * 6}
    reader = read(report_of([row], tmp_path).as_uri() + "#run")
    figure = reader.page.locator("figure.series").filter(has_text="8 of 20 have no value")
    assert "thinned" not in figure.inner_text()
    width, drawn = figure.locator("canvas").evaluate(COLUMNS_DRAWN)
    gaps = [right - left for left, right in zip(drawn, drawn[1:]) if right - left > 2]
    assert len(gaps) == 1 and 0.3 < gaps[0] / width < 0.5


@pytest.mark.parametrize("chosen", ["", "color=-", "color=a_number_ranks", "x=a_number_ranks"])
def test_a_line_is_one_series_whatever_is_chosen(page_of, chosen):
    reader = page_of("vit", f"scaling?throughput_by_batch.{chosen}" if chosen else "scaling")
    chart = reader.page.locator("#throughput_by_batch")
    chart.scroll_into_view_if_needed()
    reader.settle()
    with reader.page.expect_download() as download:
        chart.locator("button.save").click()
    records = [one for one in json.load(open(download.value.path()))["data"]["values"] if one["state"] == "valid"]
    x = "a_number_ranks" if chosen.startswith("x=") else "a_batch_size"
    axes = [field for field in records[0] if field.startswith("a_") and field != x]
    lines = {}
    for record in records:
        lines.setdefault((record["panel"], *(record[field] for field in axes)), []).append(record[x])
    assert all(len(set(places)) == len(places) for places in lines.values())
    assert max(map(len, lines.values())) > 2
    assert chart.locator(".mark-line path").count() == len(lines)


def test_lines_over_ranks_tell_their_series_apart_and_are_of_the_throughput(page_of, samples):
    charts = {chart["id"]: chart for chart in model_of(samples, "vit")["charts"]}
    reader = page_of("vit", "scaling?speedup.y=m_step_time")
    reader.see_all()
    for name in ["speedup", "efficiency"]:
        chosen = {choice["name"]: choice["chosen"] for choice in charts[name]["choices"]}
        chart = reader.page.locator(f"#{name}")
        with reader.page.expect_download() as download:
            chart.locator("button.save").click()
        looks = {}
        for record in json.load(open(download.value.path()))["data"]["values"]:
            look = (record["panel"], record[chosen["color"]], record[chosen["shape"]])
            looks.setdefault(look, set()).add(record["series"])
        assert {len(series) for series in looks.values()} == {1}
        dashes = {path.get_attribute("stroke-dasharray") for path in chart.locator(".mark-line path").all()}
        assert len(dashes) == 3, "of two precisions and of the ideal"
        assert chosen["y"] == "m_throughput" and chart.locator(".choices").get_by_text("of", exact=True).count() == 0


def test_rows_of_panels_are_filled_evenly(page_of):
    reader = page_of("vit", "scaling?f.a_precision=bf16", width=1180)
    panels = reader.page.locator("#speedup .role-title-text text", has_text="batch size").count()
    below = reader.page.locator("#speedup .role-axis-title text", has_text="ranks").count()
    assert (panels, below) == (9, 3)


def test_counts_of_facets_are_what_a_click_shows(page_of):
    reader = page_of("vit", "explore?f.a_plugin=gemini")
    item = reader.page.get_by_role("group", name="precision").get_by_role("listitem").filter(has_text="bf16")
    count = int(item.locator(".count").inner_text())
    item.get_by_role("checkbox").check()
    reader.settle()
    assert reader.rows() == count


def test_states_are_a_filter(page_of, samples):
    counts = model_of(samples, "vit")["counts"]
    reader = page_of("vit")
    reader.page.get_by_role("link", name="out of memory").click()
    reader.settle()
    assert reader.address == "#explore?s=out_of_memory"
    assert reader.rows() == counts["out_of_memory"]
    assert set(reader.page.locator("tbody .badge").all_inner_texts()) == {"out of memory"}


def test_a_search_is_a_filter_and_keeps_the_cursor(page_of):
    reader = page_of("many", "explore")
    search = reader.page.get_by_role("searchbox")
    search.press_sequentially("lora 512 mistral")
    reader.settle()
    assert reader.rows() == 5
    assert search.evaluate("(e) => e === document.activeElement")
    assert urllib.parse.unquote_plus(reader.address) == "#explore?q=lora 512 mistral"


def test_a_brush_keeps_what_it_covers_everywhere(page_of):
    reader = page_of("vit", "explore?scatter.x=m_peak_tensor_memory")
    total = reader.rows()
    plot = reader.page.locator("#scatter svg").bounding_box()
    mouse = reader.page.mouse
    mouse.move(plot["x"] + plot["width"] * 0.3, plot["y"] + plot["height"] * 0.3)
    mouse.down()
    mouse.move(plot["x"] + plot["width"] * 0.6, plot["y"] + plot["height"] * 0.55, steps=6)
    mouse.up()
    reader.page.wait_for_function("() => location.hash.includes('r.m_throughput=')")
    reader.settle()
    assert 0 < reader.rows() < total
    low, high = re.search(r"r\.m_throughput=([\d.]+)\.\.([\d.]+)", reader.address).groups()
    shown = [
        float(cell.split()[0]) for cell in reader.page.locator("tbody tr:not(.space) td:nth-child(7)").all_inner_texts()
    ]
    assert all(float(low) * 0.99 <= value <= float(high) * 1.01 for value in shown)
    again = page_of("vit", reader.address[1:])
    assert again.rows() == reader.rows()


def test_choices_of_charts_are_in_the_address(page_of):
    reader = page_of("vit", "overview?pareto.x=m_step_seconds&heat_map.value=m_peak_tensor_memory")
    figure = reader.page.get_by_role("figure", name="Any two targets")
    assert choice(figure, "across").input_value() == "m_step_seconds"
    assert "Median step time, s" in figure.locator("svg").inner_html()
    choice(figure, "up").select_option("m_peak_resident_memory")
    reader.settle()
    assert "pareto.y=m_peak_resident_memory" in reader.address
    assert "Peak resident memory, GiB" in figure.locator("svg").inner_html()


def test_views_are_steps_of_the_history(page_of):
    reader = page_of("vit")
    reader.page.get_by_role("link", name="Scaling").click()
    reader.page.get_by_role("link", name="Run", exact=True).click()
    assert reader.address.startswith("#run")
    reader.page.go_back()
    reader.settle()
    assert reader.page.locator("nav [aria-current=page]").inner_text() == "Scaling"


def test_what_is_picked_stands_out_in_every_view_and_leads_to_its_run(page_of):
    reader = page_of("vit", "explore")
    reader.page.locator("tbody tr:not(.space)").nth(3).locator("td").nth(1).click()
    reader.settle()
    assert reader.count("tr.picked") == 1
    assert re.search(r"pick=[0-9a-f]{32}", reader.address)
    label = reader.page.locator(".picked strong").inner_text()
    reader.go("overview?" + reader.address.partition("?")[2])
    assert reader.page.locator(".picked strong").inner_text() == label
    reader.page.get_by_role("link", name="Its run").click()
    reader.settle()
    assert label in reader.page.get_by_role("region", name="The run").locator("h2").inner_text()
    run = reader.page.locator("label.choice select").first.input_value()
    reader.go(f"run?pick={run}")
    reader.page.get_by_role("button", name="Let go").click()
    reader.settle()
    assert reader.address == f"#run?run={run}"


def test_nonsense_in_an_address_does_no_harm(page_of):
    reader = page_of("vit", "nowhere?f.%=%&r.m_throughput=..&pick=1")
    for address in [
        "nowhere?f.x=1",
        "explore?f.a_plugin=%&r.m_throughput=a..b&r.=&sort=zzz&columns=zzz",
        "run?run=zzz&pick=zzz",
        "compare?by=zzz&a=1&b=2",
        "overview?pareto.x=%3Cscript%3E",
    ]:
        reader.go(address)
        assert len(reader.text("#body")) > 50, address


# The views


def test_the_front_is_that_of_the_model(page_of, samples):
    model = model_of(samples, "vit")
    (front,) = [
        f["configurations"] for f in model["fronts"] if (f["x"], f["y"]) == ("throughput", "peak_tensor_memory")
    ]
    reader = page_of("vit")
    opaque = reader.page.locator("#pareto svg g.mark-symbol.role-mark path[opacity='1']").count()
    assert opaque == len(front)


def test_every_cell_of_the_space_says_what_became_of_it(page_of, samples):
    counts = model_of(samples, "vit")["counts"]
    reader = page_of("vit")
    reader.see_all()
    texts = reader.page.locator("#heat_map svg .mark-text.role-mark text").all_text_contents()
    assert texts.count("OOM") == counts["out_of_memory"] == 22
    assert texts.count("rule") == counts["invalid"] == 18
    assert texts.count("failed") == counts["failed"] == 3
    assert texts.count("–") == counts["missing"] == 29
    assert len(texts) == 378


def test_machines_have_rankings_of_their_own(page_of):
    reader = page_of("two_hosts")
    headers = reader.page.locator(
        "#ranking svg .role-column-title text, #ranking svg .role-title text, #ranking svg .column_header text"
    )
    texts = " ".join(reader.page.locator("#ranking svg text").all_text_contents())
    assert "host laptop" in texts and "host workbench" in texts, headers.all_text_contents()


def test_a_line_through_two_points_says_so(page_of):
    reader = page_of("demo", "scaling")
    assert reader.page.get_by_role("region", name="Lines", exact=True).get_by_text("two points").count() == 4
    dotted = reader.page.locator("#step_cost svg .mark-line path[stroke-dasharray='2,4']")
    assert dotted.count() == 4
    assert page_of("vit", "scaling").page.get_by_text("two points", exact=True).count() == 0


def test_a_run_has_lanes_curves_and_values(page_of, samples):
    model = model_of(samples, "vit")
    (uid, lanes), *_ = model["runs"]["lanes"].items()
    reader = page_of("vit", f"run?run={uid}")
    reader.see_all()
    sums = reader.page.get_by_role("region", name="Sums of phases").inner_text()
    assert "forward" in sums and "load" in sums
    assert sums.count("\n") >= len(lanes["ranks"])
    assert reader.count(".lanes canvas") == 1 and reader.count(".uplot canvas") >= 2
    inked = reader.page.evaluate(
        "() => { const c = document.querySelector('.lanes canvas'); const d = c.getContext('2d')"
        ".getImageData(80, 10, 300, 10).data; return new Set(Array.from({length: 300}, (_, i) => d.slice(4 * i, 4 * i + 3).join())).size }"
    )
    assert inked >= 3, "phases have colours"
    assert "images_per_second" in reader.page.get_by_role("region", name="Values", exact=True).inner_text()


def test_looking_closer_at_lanes_again_and_again_keeps_a_few_marks(page_of, samples):
    uid, *_ = model_of(samples, "vit")["runs"]["lanes"]
    reader = page_of("vit", f"run?run={uid}")
    page = reader.page
    page.evaluate(
        "() => { const fill = CanvasRenderingContext2D.prototype.fillText; window.marks = [];"
        " CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {"
        " if (text.endsWith(' s')) window.marks.push(text); return fill.call(this, text, ...at) } }"
    )
    canvas = page.locator(".lanes canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for _ in range(8):
        page.evaluate("window.marks = []")
        page.mouse.move(box["x"] + 400, box["y"] + 12)
        page.mouse.down()
        page.mouse.move(box["x"] + 408, box["y"] + 12)
        page.mouse.up()
        marks = page.evaluate("window.marks")
        assert 0 < len(marks) <= 12 and len(set(marks)) == len(marks)
    first, last = [float(marks[at].removesuffix(" s")) for at in [0, -1]]
    assert 1e-7 < last - first < 1e-3, "there is an end to it, at a microsecond"
    page.get_by_role("button", name="Whole run").click()
    reader.settle()
    marks = page.evaluate("window.marks")
    assert 3 <= len(marks[marks.index("0 s") :]) <= 12, "the last drawing is of the whole run"


def test_predictions_have_their_error(page_of):
    reader = page_of("vit", "predicted")
    assert re.search(r"\d+ configurations: half are off by [\d.]+ % or less", reader.text())
    choice(reader.page.get_by_role("figure", name="Predicted against measured"), "of").select_option("p1")
    reader.settle()
    assert "never foretells itself" in reader.text()
    assert "Nothing here was foretold" in page_of("one", "predicted").text()


def test_what_was_foretold_and_parts_say_of_how_many_runs_they_are(page_of, samples):
    reader = page_of("repeated", "predicted")
    [foretold, *_] = model_of(samples, "repeated")["predictions"]
    assert set(foretold["n"]) == {3} and None not in foretold["low"]
    figure = reader.page.get_by_role("figure", name="Predicted against measured")
    assert figure.locator(".note").inner_text() == "measured: n 3"
    intervals = figure.locator("svg .mark-rule.role-mark > *").all()
    assert len(intervals) == len(foretold["n"])
    cells = reader.page.get_by_role("region", name="Foretold and measured", exact=True).locator("tbody small")
    assert re.fullmatch(r"(±[\d.]+|[\d.]+ to [\d.]+), n 3", cells.first.inner_text())
    reader.go("run")
    assert "n 3" in reader.page.get_by_role("region", name="Memory by phase").inner_text()
    reader = page_of("vit", "explore?columns=memory")
    assert reader.page.locator("section.table tbody small").first.inner_text() == "n 1"
    chart = reader.page.get_by_role("figure", name="Where the memory goes")
    chart.scroll_into_view_if_needed()
    reader.settle()
    assert "Each part: n 1." in chart.locator(".note").inner_text()


# The table


def test_of_ten_thousand_runs_a_list_has_those_around_the_one_that_is_chosen(page_of, samples):
    runs = model_of(samples, "ten_thousand")["runs"]["uid"]
    reader = page_of("ten_thousand", f"compare?by=run&a={runs[5000]}&b={runs[-1]}")
    for label, chosen in [("first", runs[5000]), ("second", runs[-1])]:
        shown = reader.page.get_by_label(label)
        assert shown.input_value() == chosen
        assert shown.locator("option").count() == 400


def test_ten_thousand_rows_are_few_elements(page_of):
    reader = page_of("ten_thousand", "explore")
    assert reader.rows() == 10_000
    assert reader.count("tbody tr") < 120
    reader.page.evaluate("document.querySelector('.scroll.tall').scrollTop = 1e9")
    reader.settle()
    assert reader.page.locator("tbody tr:not(.space) a").last.inner_text() == "10000"


def test_the_table_sorts_and_what_has_no_value_stays_last(page_of):
    reader = page_of("mixed", "explore")
    button = reader.page.get_by_role("button", name="throughput")
    heading = reader.page.locator("th", has=button)

    def numbers():
        return reader.page.locator("tbody td:nth-child(6)").all_inner_texts()

    button.click()
    reader.settle()
    assert heading.get_attribute("aria-sort") == "ascending"
    up = [float(text.split()[0].replace(",", "")) for text in numbers()[:6]]
    assert up == sorted(up) and numbers()[6:] == ["–", "–"]
    button.click()
    reader.settle()
    assert reader.address.endswith("sort=-m_throughput")
    assert [float(text.split()[0].replace(",", "")) for text in numbers()[:6]] == up[::-1]
    assert numbers()[6:] == ["–", "–"]


def test_columns_of_parts_are_a_choice(page_of):
    reader = page_of("vit", "explore?columns=memory")
    assert "parameters" in reader.page.locator("thead").inner_text()
    reader.page.locator(".table .tools").get_by_label("columns").select_option("time")
    reader.settle()
    assert "exposed" in reader.page.locator("thead").inner_text()


def test_the_rows_in_sight_are_saved_exactly(page_of, samples):
    reader = page_of("vit", "explore?f.a_plugin=gemini&f.a_batch_size=8&sort=-m_throughput")
    with reader.page.expect_download() as download:
        reader.page.get_by_role("button", name="Save as CSV").click()
    rows = list(csv.DictReader(io.StringIO(open(download.value.path(), newline="").read())))
    assert len(rows) == reader.rows() == 6
    exact = model_of(samples, "vit")["configurations"]["estimates"]["throughput"]["value"]
    assert [float(row["throughput, images/s"]) for row in rows] == [exact[int(row["#"]) - 1] for row in rows]


def test_charts_are_saved_as_vega_lite(page_of, samples):
    schema = json.loads((NODE_MODULES / "vega-lite/build/vega-lite-schema.json").read_text())
    reader = page_of("vit")
    for view in ["overview", "explore", "scaling", "predicted", "compare"]:
        reader.go(view)
        reader.see_all()
        for chart in charts_of(samples, "vit", view):
            with reader.page.expect_download() as download:
                reader.page.locator(f"#{chart} button.save").click()
            spec = json.loads(open(download.value.path()).read())
            assert spec["data"]["values"] and "var(--" not in json.dumps(spec)
            kind = "Facet" if "facet" in spec else "Layer" if "layer" in spec else "Unit"
            validator = jsonschema.Draft7Validator(schema | {"$ref": f"#/definitions/TopLevel{kind}Spec"})
            error = jsonschema.exceptions.best_match(validator.iter_errors(spec))
            assert error is None, (chart, error.json_path, error.message[:500])


# In the dark, on paper, without script


def luminance(color):
    """Relative luminance of "rgb(r, g, b)" as WCAG 2.2 defines it."""
    channels = [int(number) / 255 for number in re.findall(r"\d+", color)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_dark_is_dark_in_charts_too(page_of):
    for dark in [False, True]:
        reader = page_of("vit", dark=dark)
        paper, ink, label = reader.page.evaluate(
            "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,"
            " getComputedStyle(document.querySelector('#pareto svg .role-axis-label text')).fill]"
        )
        assert (luminance(paper) < 0.1) == dark
        for color in [ink, label]:
            high, low = sorted((luminance(paper), luminance(color)), reverse=True)
            assert (high + 0.05) / (low + 0.05) >= 4.5


def test_paper_has_every_chart_and_row_in_light(page_of):
    reader = page_of("many", "explore", dark=True)
    reader.page.emulate_media(media="print", color_scheme="dark")
    reader.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    reader.settle()
    assert luminance(reader.page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    assert reader.count("tbody tr:not(.space)") == 200
    assert reader.count("figure.chart svg") >= 3
    assert not reader.page.get_by_role("navigation").is_visible()
    pdf = reader.page.pdf()
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000


def test_paper_has_all_findings_and_says_how_many_rows_it_leaves_out(page_of, samples):
    reader = page_of("ten_thousand")
    page = reader.page
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    found = model_of(samples, "ten_thousand")["findings"]["list"]
    assert page.get_by_role("region", name="Findings").get_by_role("listitem").count() == len(found) > 6
    reader.go("explore")
    assert page.locator("tbody tr").count() == 1000
    assert page.locator("section.table").get_by_text("The first 1,000 of 10,000 rows.").is_visible()


# How many opaque pixels of the canvases are of the colours of the light, and of those of the dark.
LIGHT_AND_DARK = """() => ["0072b2", "5ab4ea"].map((color) => {
  const [red, green, blue] = color.match(/../g).map((part) => parseInt(part, 16));
  return [...document.querySelectorAll(".plot canvas")].reduce((sum, canvas) => {
    const { width, height } = canvas;
    const copy = Object.assign(document.createElement("canvas"), { width, height }).getContext("2d");
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    let found = 0;
    for (let at = 0; at < data.length; at += 4) {
      if (data[at] === red && data[at + 1] === green && data[at + 2] === blue && data[at + 3] === 255) found += 1;
    }
    return sum + found;
  }, 0);
})"""


def test_curves_and_lanes_are_light_on_paper_alone(page_of):
    reader = page_of("vit", "run", dark=True)
    light, dark = reader.page.evaluate(LIGHT_AND_DARK)
    assert light == 0 < dark
    reader.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert reader.page.evaluate(LIGHT_AND_DARK) == [dark, 0]
    reader.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert reader.page.evaluate(LIGHT_AND_DARK) == [0, dark]
    reader.page.emulate_media(color_scheme="light")
    reader.settle()
    assert reader.page.evaluate(LIGHT_AND_DARK) == [dark, 0]


def test_paper_asked_for_at_once_has_its_charts(browser, samples):
    """In the task in which the page stands, before it made ready what draws them."""
    page = browser.new_page()
    page.add_init_script(
        "new MutationObserver((changes, observer) => { if (!document.documentElement.dataset.ready) return;"
        " observer.disconnect(); const count = (what) => document.querySelectorAll(what).length;"
        " window.before = count('#app figure svg'); dispatchEvent(new Event('beforeprint'));"
        " window.drawn = [count('#app figure.chart'), count('#app figure.chart svg.marks')] })"
        ".observe(document, { attributes: true, subtree: true, attributeFilter: ['data-ready'] })"
    )
    page.goto((samples / "vit.html").as_uri())
    page.wait_for_function("() => window.drawn")
    charts, drawn = page.evaluate("window.drawn")
    assert page.evaluate("window.before") == 0 and charts == drawn > 2
    page.close()


def test_without_script_everything_that_matters_can_be_read(samples, read):
    reader = read((samples / "vit.html").as_uri(), java_script_enabled=False)
    page = reader.page
    assert page.get_by_role("heading", level=1).inner_text() == "Sample: vit"
    assert "Fastest: low_level_zero" in page.inner_text("body")
    table = page.get_by_role("region", name="Results")
    assert table.get_by_role("row").count() == 350 and table.is_visible()
    assert page.get_by_role("heading", name="What a step costs").is_visible()
    assert "Beside the measurements" in page.inner_text("body")


def test_a_page_whose_views_cannot_be_made_is_not_empty(samples, read, tmp_path):
    text = (samples / "mixed.html").read_text(encoding="utf-8")
    broken = re.sub(r'"axes":\[\{"baseline"', '"axes":[null,{"baseline"', text, count=1)
    assert broken != text
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    reader = read("about:blank", java_script_enabled=False)
    context = reader.page.context.browser.new_context()
    page = context.new_page()
    page.goto((tmp_path / "broken.html").as_uri())
    page.get_by_role("alert").wait_for()
    assert "could not be made" in page.get_by_role("alert").inner_text()
    assert "Fastest: " in page.inner_text("body")
    assert page.get_by_role("region", name="Results").get_by_role("row").first.is_visible()
    context.close()


def test_names_never_become_markup(page_of, samples):
    reader = page_of("hostile")
    for view in VIEWS:
        reader.go(view)
        reader.see_all()
        assert reader.count("#app img, #app script, #app b") == 0
    assert reader.page.title() == "Sample: hostile"
    assert "<img src=x" in reader.page.evaluate("document.body.textContent")
