"""What the page says of two sides and of machines: as the program found it, and as scipy has it."""

import json
import math
import statistics

import pytest
import scipy.stats
from conftest import model_of, report_of, rows_of


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
        assert ("Of 2 conditions together (commit, host): " in reader.text()) == (name == "two_hosts")
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


def on_laptop(run):
    return run | {"uid": run["uid"][::-1], "provenance": run["provenance"] | {"host": "laptop"}}


def welch(first, second):
    """Scipy's p of two samples of logarithms, of which mean, error and freedom are known."""

    def sample(side):
        n = side["freedom"] + 1
        return math.log(side["value"]), side["error"] / side["value"] * math.sqrt(n), n

    return scipy.stats.ttest_ind_from_stats(*sample(first), *sample(second), equal_var=False).pvalue


def pooled(places):
    """Ratio, interval and p of the mean over places of the mean over their pairs, as Welch and Satterthwaite have it."""
    middle = statistics.mean(statistics.mean(math.log(b["value"] / a["value"]) for a, b in pairs) for pairs in places)
    sides = [(side, len(places) * len(pairs)) for pairs in places for pair in pairs for side in pair]
    variances = [(side["error"] / side["value"] / share) ** 2 for side, share in sides]
    variance = sum(variances)
    freedom = variance**2 / sum(part**2 / side["freedom"] for part, (side, _) in zip(variances, sides))
    low, high = scipy.stats.t.interval(0.95, freedom, loc=middle, scale=math.sqrt(variance))
    p = 2 * scipy.stats.t.sf(abs(middle) / math.sqrt(variance), freedom)
    return [math.exp(middle), math.exp(low), math.exp(high), p]


def pairs_in(model):
    """Both lengths of each batch size and host: estimates of the throughput, with `i` and `batch_size`."""
    configurations = model["configurations"]
    estimates = configurations["estimates"]["throughput"]
    values = {axis["name"]: axis["values"] for axis in model["axes"]}
    found = {}
    for i in range(configurations["count"]):
        at = {name: values[name][codes[i]] for name, codes in configurations["axes"].items()}
        one = {name: column[i] for name, column in estimates.items()} | at | {"i": i}
        found.setdefault((at["batch_size"], at["host"]), {})[at["model_max_length"]] = one
    return [(sides[128], sides[256]) for sides in found.values()]


@pytest.mark.parametrize("batches, pairs_at", [("1", [2]), ("1,4", [2, 1])])
def test_fewer_than_three_places_are_judged_as_by_welch(samples, read, tmp_path, batches, pairs_at):
    """One place on two machines; two places, of which the second machine measured one alone."""
    runs = [run for run in rows_of(samples, "repeated") if run["experiment"].startswith("finetune_full")]
    runs += [on_laptop(run) for run in runs if run["entity"]["batch_size"] == 1]
    for number, run in enumerate(runs):
        speed = run["properties"]["real_tokens_per_second"] * (1 + 0.06 * (number**2 % 7))
        run["properties"] = run["properties"] | {"real_tokens_per_second": speed}
    page = report_of(runs, tmp_path)
    reader = read(f"{page.as_uri()}#compare?by=a_model_max_length&of=m_throughput&f.a_batch_size={batches}")
    with reader.page.expect_download() as download:
        reader.page.locator("#ratios button.save").click()
    records = json.load(open(download.value.path()))["data"]["values"]
    places, alone = {}, {}
    for first, second in pairs_in(json.loads(page.with_suffix(".json").read_text())):
        places.setdefault(first["batch_size"], []).append((first, second))
        alone[second["i"]] = welch(first, second)
    shown = [places[batch] for batch in map(int, batches.split(","))]
    assert [len(pairs) for pairs in shown] == pairs_at
    (together,) = [record for record in records if record.get("all")]
    assert [together[name] for name in ["ratio", "low", "high", "p"]] == pytest.approx(pooled(shown), rel=1e-4)
    assert together["pairs"] == len(pairs_at) and 1e-4 < together["p"] < 0.9
    told = {record["i"]: record["p"] for record in records if not record.get("all")}
    assert len(told) == sum(pairs_at) and told == pytest.approx({i: alone[i] for i in told}, rel=1e-4)


def test_each_machine_has_forecasts_as_wrong_as_its_own(samples, read, tmp_path):
    runs = rows_of(samples, "repeated")
    page = report_of(runs + [on_laptop(run) for run in runs], tmp_path)
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
