"""The report's page by keyboard alone."""

import re

from conftest import model_of


def test_everything_is_reached_by_keyboard(page_of):
    reader = page_of("mixed")
    page = reader.page
    press = page.keyboard.press
    page.get_by_role("link", name="Overview").focus()
    press("Tab")
    press("Enter")
    reader.settle()
    assert reader.address == "#explore"
    page.get_by_role("group", name="method").get_by_role("checkbox").first.focus()
    press("Space")
    reader.settle()
    assert reader.address == "#explore?f.a_method=full"
    assert page.evaluate("document.activeElement.type") == "checkbox", "the cursor stays where it was"
    page.get_by_role("button", name="throughput").focus()
    press("Enter")
    reader.settle()
    assert "sort=m_throughput" in reader.address
    page.get_by_role("link", name=re.compile("^run of configuration")).first.focus()
    press("Enter")
    reader.settle()
    assert reader.address.startswith("#run?")


def test_a_row_is_picked_by_keyboard(page_of):
    reader = page_of("vit", "explore")
    pick = reader.page.get_by_role("button", name="pick configuration 4", exact=True)
    pick.focus()
    reader.page.keyboard.press("Space")
    reader.settle()
    assert re.search(r"pick=[0-9a-f]{32}", reader.address) and pick.get_attribute("aria-pressed") == "true"
    assert reader.page.locator("tr.picked a").inner_text() == "4"
    assert pick.evaluate("(e) => e === document.activeElement"), "the cursor stays where it was"
    reader.page.keyboard.press("Enter")
    reader.settle()
    assert "pick=" not in reader.address and reader.count("tr.picked") == 0


def test_points_of_a_chart_are_read_and_picked_by_keyboard(page_of):
    reader = page_of("vit", "explore")
    page = reader.page
    page.get_by_role("button", name="save One against another").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    told = page.get_by_role("tooltip").inner_text
    first = told()
    assert len(first.splitlines()) > 2
    page.keyboard.press("ArrowRight")
    assert told() != first
    page.keyboard.press("ArrowLeft")
    assert told() == first
    page.keyboard.press("Enter")
    reader.settle()
    assert re.search(r"pick=[0-9a-f]{32}", reader.address)
    assert reader.text(".picked strong") == first.splitlines()[0]
    page.keyboard.press("Tab")
    assert not page.get_by_role("tooltip").is_visible()
    assert reader.axe() == []


def test_the_rows_of_a_table_are_one_stop_and_arrows_lead_through_them(page_of):
    reader = page_of("ten_thousand", "explore")
    rows = reader.page.locator("table.rows tbody")
    press = reader.page.keyboard.press
    assert rows.locator(":is(a, button):not([tabindex='-1'])").count() == 2
    rows.get_by_role("button", name="pick configuration 1", exact=True).focus()
    for _ in range(6):
        for _ in range(10):
            press("ArrowDown")
        reader.settle()
    press("ArrowUp")
    focused = "document.activeElement.ariaLabel"
    assert reader.page.evaluate(focused) == "pick configuration 60"
    assert rows.get_by_role("button", name="pick configuration 60", exact=True).is_visible()
    press("Tab")
    assert reader.page.evaluate(focused) == "run of configuration 60"
    press("ArrowDown")
    assert reader.page.evaluate(focused) == "run of configuration 61"
    reader.settle()
    assert rows.locator(":is(a, button):not([tabindex='-1'])").count() == 2
    press("Tab")
    assert not reader.page.evaluate("document.activeElement.closest('tbody') !== null")
    press("Shift+Tab")
    assert reader.page.evaluate(focused) == "run of configuration 61"


def test_a_range_is_kept_by_keyboard(page_of, samples):
    estimates = model_of(samples, "vit")["configurations"]["estimates"]["throughput"]["value"]
    known = [value for value in estimates if value is not None]
    reader = page_of("vit", "explore")
    press = reader.page.keyboard.press
    reader.page.locator(".facets summary", has_text="ranges").focus()
    press("Enter")
    press("Tab")
    reader.page.keyboard.type("45")
    reader.settle()
    assert reader.address.startswith("#explore?r.m_throughput=45..")
    assert reader.page.evaluate("document.activeElement.value") == "45", "what is typed stays"
    press("Tab")
    reader.settle()
    assert reader.page.evaluate("document.activeElement.value") == "", "an end that is left out is open"
    assert reader.rows() == sum(value >= 45 for value in known)
    assert reader.page.evaluate("document.activeElement.ariaLabel").endswith(", to"), "the cursor goes on"
    reader.page.keyboard.type("90")
    press("Enter")
    reader.settle()
    assert reader.address.startswith("#explore?r.m_throughput=45..90")
    assert reader.rows() == sum(45 <= value <= 90 for value in known) < len(known)
    assert reader.axe() == []
    press("Backspace")
    press("Backspace")
    press("Enter")
    reader.settle()
    assert reader.rows() == sum(value >= 45 for value in known)
    press("Shift+Tab")
    press("Backspace")
    reader.settle()
    assert "r.m_throughput" not in reader.address and reader.rows() == len(estimates)
