"""What the page keeps and says between its states: after paper, of what has no value, once its store answers."""

import pytest
from conftest import report_of, rows_of
from page_server import Served, fill


def test_what_was_unfolded_stays_so_after_paper(page_of):
    reader = page_of("ten_thousand")
    findings = reader.page.get_by_role("region", name="Findings")

    def shown_after_paper():
        for event in ["beforeprint", "afterprint"]:
            reader.page.evaluate("(name) => { dispatchEvent(new Event(name)) }", event)
            reader.settle()
        return findings.get_by_role("listitem").count()

    folded = shown_after_paper()
    findings.locator("summary").click()
    reader.settle()
    assert shown_after_paper() > folded > 0
    findings.locator("summary").click()
    reader.settle()
    assert shown_after_paper() == folded


def test_a_loss_that_is_no_number_at_any_step_is_said(samples, read, tmp_path):
    run, *_ = rows_of(samples, "one")
    steps = len(run["series"]["loss"])
    run["series"]["loss"] = [None] * steps
    loss = read(report_of([run], tmp_path).as_uri() + "#run").page.get_by_role("figure", name="Loss")
    assert f"{steps} of {steps} have no value" in loss.inner_text()


def test_what_was_ended_early_has_not_failed(samples, read, tmp_path):
    row, *others = rows_of(samples, "demo")
    row |= {"outcome": "failed", "reason": "its loss was far behind at step 5", "properties": {}}
    row["provenance"] |= {"ended_early": "median"}
    reader = read(report_of([row, *others], tmp_path).as_uri())
    points = reader.page.get_by_role("list", name="Points").inner_text()
    assert "1 ended early" in points and "failed" not in points
    reader.see_all()
    assert reader.page.locator("#heat_map svg .mark-text.role-mark text").all_text_contents().count("early") == 1
    reader.page.get_by_role("link", name="ended early").click()
    reader.settle()
    assert reader.address == "#explore?s=ended_early" and reader.rows() == 1
    assert reader.page.locator("tbody .badge").all_inner_texts() == ["ended early"]
    assert reader.axe() == []


@pytest.fixture
def nothing(samples, tmp_path):
    fill(tmp_path / "none.db", samples / "none.jsonl")
    served = Served(tmp_path / "none.db")
    yield served
    served.stop()


def test_an_empty_store_that_could_not_be_read_is_empty_once_it_is(nothing, read):
    subjects = "**/api/v1/subjects?*"
    reader = read(
        nothing.link,
        before=lambda page: page.route(subjects, lambda route: route.fulfill(status=503, body="busy")),
    )
    reader.page.get_by_text("The store cannot be read now.").wait_for()
    reader.page.unroute(subjects)
    reader.page.get_by_role("status").get_by_text("live").wait_for()
    reader.settle()
    assert "Nothing has been measured yet." in reader.text() and "cannot be read" not in reader.text()
    assert all("503" in message for message in reader.messages)
    reader.messages.clear()
