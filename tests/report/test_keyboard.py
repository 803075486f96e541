"""The report's page by keyboard alone."""

import re


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
