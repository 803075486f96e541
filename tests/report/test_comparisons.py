"""What the page says of two sides and of machines: as the program found it, and as scipy has it."""

import json
import math
import statistics
import subprocess

import pytest
import scipy.stats
from conftest import model_of
from page_server import BIN_DIR, fill


def test_a_comparison_is_that_of_the_finding(page_of, samples):
    """What the page computes for a reader's choice is what the program found."""
    for name in ["two_hosts", "repeated", "vit"]:
        reader = page_of(name)
        for finding in model_of(samples, name)["findings"]["list"]:
            comparison = finding["comparison"]
            if comparison is None:
                continue
            reader.go(f"compare?by=a_{comparison['axis']}&a={comparison['from']}&b={comparison['to']}")
            row = reader.page.get_by_role("row").filter(has_text="Throughput").first.inner_text().split("\t")
            assert f"gives {row[1]} the throughput" in finding["headline"]
            if finding["p"] is not None:
                assert f"95 % interval {row[2]}" in finding["detail"]
                assert row[4] in ["clear", "clear in these runs", "within the noise"]


def test_a_second_machine_makes_no_comparison_surer(page_of, samples):
    """The second one of the sample repeats the first at a tenth of its speed."""

    def told(name):
        findings = model_of(samples, name)["findings"]["list"]
        found = {finding["headline"]: finding for finding in findings if finding["comparison"]}
        return {text: found[text]["p"] for text in found if "full, lora" in text or "size 1," in text}

    alone = told("demo")
    assert len(alone) == 2 and told("two_hosts") == pytest.approx(alone, rel=1e-6)
    rows = []
    for name in ["demo", "two_hosts"]:
        reader = page_of(name, "compare?by=a_method")
        rows.append(reader.page.get_by_role("row").filter(has_text="Throughput").first.inner_text().split("\t")[:4])
        assert ("Of 2 machines and commits together" in reader.text()) == (name == "two_hosts")
    assert rows[0] == rows[1] and rows[0][3] == "4"
    with reader.page.expect_download() as download:
        reader.page.locator("#ratios button.save").click()
    records = json.load(open(download.value.path()))["data"]["values"]
    assert [record["label"] for record in records if record.get("all")] == ["all 4"]


def test_machines_have_medians_of_their_own(page_of):
    reader = page_of("two_hosts", "explore?spread.x=a_method&spread.y=m_throughput")
    with reader.page.expect_download() as download:
        reader.page.locator("#spread button.save").click()
    records = json.load(open(download.value.path()))["data"]["values"]
    assert reader.count("#spread .mark-tick path, #spread .mark-rect.role-mark path") == 4
    for record in records:
        crowd = [
            one["m_throughput"]
            for one in records
            if (one["a_method"], one["group"]) == (record["a_method"], record["group"])
        ]
        assert len(crowd) == 4 and record["middle"] == pytest.approx(statistics.median(crowd))


def test_what_all_pairs_say_is_as_sure_in_the_chart_as_in_the_table(page_of, samples):
    """Judged among all targets in both, so that a value that is clear by itself may be within the noise."""
    corrected = cut = tested = 0
    for name, by in [("repeated", "a_model_max_length"), ("two_hosts", "a_host"), ("vit", "a_plugin")]:
        reader = page_of(name, f"compare?by={by}")
        for metric in model_of(samples, name)["metrics"]:
            reader.go(f"compare?by={by}&of={metric['field']}")
            figure = reader.page.locator("#ratios")
            if figure.count() == 0:
                continue
            with reader.page.expect_download() as download:
                figure.locator("button.save").click()
            records = json.load(open(download.value.path()))["data"]["values"]
            row = reader.page.get_by_role("row").filter(has=reader.page.get_by_text(metric["title"], exact=True))
            _, _, _, pairs, strength, _ = row.inner_text().split("\t")
            all_pairs = [record for record in records if record.get("all")]
            assert [record["strength"] for record in all_pairs] == ([strength] if int(pairs) > 1 else [])
            corrected += sum(
                record["p"] is not None and record["p"] < 0.05 <= record["adjusted"] for record in all_pairs
            )
            assert (f"30 of {pairs} pairs" in figure.inner_text()) == (int(pairs) > 30)
            cut += int(pairs) > 30
            logs = [math.log(record["ratio"]) for record in records if not record.get("all")]
            if 2 < int(pairs) <= 30 and statistics.stdev(logs) > 1e-5:
                known = scipy.stats.ttest_1samp(logs, 0).pvalue
                assert all_pairs[0]["p"] == pytest.approx(known, rel=1e-4)
                tested += 1
    assert corrected > 0 and cut > 0 and tested > 5


def test_the_interval_of_a_speedup_has_the_error_of_its_base(page_of, samples):
    """Welch's interval of the two means' logarithms; the base is 1 by definition."""
    model = model_of(samples, "vit")
    estimates = model["configurations"]["estimates"]["throughput"]
    reader = page_of("vit", "scaling")
    for chart, of_ideal in [("speedup", False), ("efficiency", True)]:
        with reader.page.expect_download() as download:
            reader.page.locator(f"#{chart} button.save").click()
        records = json.load(open(download.value.path()))["data"]["values"]
        ranks = {record["i"]: record["a_number_ranks"] for record in records}
        of_series = {}
        for record in records:
            of_series.setdefault(record["series"], []).append(record)
        compared = 0
        for members in of_series.values():
            base, *others = sorted(members, key=lambda record: ranks[record["i"]])
            assert base[f"{chart}_low"] is None and base[f"{chart}_high"] is None
            assert base[chart] == (100 if of_ideal else 1)
            for record in others:
                sides = [
                    {name: estimates[name][at["i"]] for name in ["value", "error", "freedom"]} for at in [base, record]
                ]
                if any(side["error"] is None for side in sides):
                    assert record[f"{chart}_low"] is None
                    continue
                errors = [side["error"] / side["value"] for side in sides]
                freedom = sum(e**2 for e in errors) ** 2 / sum(e**4 / s["freedom"] for e, s in zip(errors, sides))
                half = scipy.stats.t.ppf(0.975, freedom) * math.hypot(*errors)
                ratio = sides[1]["value"] / sides[0]["value"]
                scale = 100 * ranks[base["i"]] / ranks[record["i"]] if of_ideal else 1
                wanted = [scale * ratio, scale * ratio * math.exp(-half), scale * ratio * math.exp(half)]
                assert [record[chart], record[f"{chart}_low"], record[f"{chart}_high"]] == pytest.approx(wanted)
                compared += 1
        assert compared > 50


def test_each_machine_has_forecasts_as_wrong_as_its_own(samples, read, tmp_path):
    rows = [json.loads(line) for line in (samples / "repeated.jsonl").read_text().splitlines()]
    others = [row | {"uid": row["uid"][::-1], "provenance": row["provenance"] | {"host": "laptop"}} for row in rows]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows + others))
    fill(tmp_path / "hosts.db", tmp_path / "rows.jsonl")
    page = tmp_path / "hosts.html"
    asked = ["--experiment", rows[0]["experiment"], "--store", tmp_path / "hosts.db", "-o", page]
    subprocess.run([BIN_DIR / "assay", "report", *asked], check=True, capture_output=True)
    lines = read(page.as_uri() + "#predicted").page.locator("p.lead").all_inner_texts()
    hosts, errors = zip(*(line.split(": ", 1) for line in lines))
    assert sorted(hosts) == ["host laptop", "host workbench"]
    assert errors[0] == errors[1] and errors[0].startswith("4 configurations: half are off by")


def test_few_repeats_are_warned_of(page_of):
    assert "Repeats are few: a side has 1 run" in page_of("two_hosts", "compare?by=a_host").text()
    assert "Repeats are few" not in page_of("repeated", "compare?by=a_method").text()


def test_two_runs_show_only_what_differs(page_of, samples):
    uids = model_of(samples, "mixed")["runs"]["uid"]
    reader = page_of("mixed", f"compare?by=run&a={uids[0]}&b={uids[1]}")
    values = reader.page.get_by_role("region", name="Values that differ").first.inner_text()
    assert "real_tokens_per_second" in values and "is_valid" not in values
