"""`assay serve`: the page over a store, in Debian's Chromium and without manners."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess

import pytest
from conftest import ROOT, forgive
from page_server import BIN_DIR, Served, fill
from stores import entity_id

VIEWS = ["overview", "explore", "scaling", "predicted", "compare", "run"]


@pytest.fixture(scope="module")
def shared(samples, tmp_path_factory):
    """Links to servers of samples that no test changes: one server each."""
    running = {}

    def link(name):
        if name not in running:
            store = tmp_path_factory.mktemp("shared") / f"{name}.db"
            fill(store, samples / f"{name}.jsonl")
            running[name] = Served(store)
        return running[name].fresh_link()

    yield link
    for served in running.values():
        served.stop()


def notice(reader):
    return reader.page.get_by_role("alert")


# The page


@pytest.mark.parametrize("name", ["vit", "mixed", "hostile", "two_hosts"])
def test_every_view_stands_and_no_name_becomes_markup(shared, read, name):
    reader = read(shared(name))
    for view in VIEWS:
        reader.go(view)
        reader.see_all()
        assert reader.page.locator("nav [aria-current=page]").inner_text().lower() == view
        assert len(reader.text("#body").strip()) > 20, view
        assert reader.count("#app img, #app script, #app b") == 0
        assert reader.page.title() != "owned"


def test_axe_finds_nothing(shared, read):
    reader = read(shared("mixed"))
    for view in VIEWS:
        reader.go(view)
        reader.see_all()
        found = reader.axe()
        assert found == [], view + json.dumps(found, indent=1)


def test_the_page_says_what_the_file_says(shared, read, samples):
    served, file = read(shared("vit")), read((samples / "vit.html").as_uri())
    for reader in [served, file]:
        reader.go("explore?f.a_plugin=gemini&f.a_batch_size=8")
    assert served.rows() == file.rows() == 6
    assert served.text("section.table tbody") == file.text("section.table tbody")
    for reader in [served, file]:
        reader.go("compare?by=a_plugin&a=torch_ddp&b=low_level_zero")
    assert served.text("#body") == file.text("#body")


def test_a_run_that_a_file_leaves_out_is_fetched(shared, read):
    reader = read(shared("ten_thousand"))
    asked = "(path) => fetch(`/api/v1/${path}?key=${localStorage.getItem('key')}`).then((answer) => answer.json())"
    subject = reader.page.evaluate(asked, "subjects")["subjects"][0]["id"]
    model = reader.page.evaluate(asked, f"subjects/{subject}/model")["parts"]
    assert model["runs"]["detailed"] == 1 and "newest 3,000 measurements:" in model["description"]
    valid = [uid for uid, outcome in zip(model["runs"]["uid"], model["runs"]["outcome"]) if outcome == "valid"]
    reader.go(f"run?run={valid[-1]}")
    values = reader.page.get_by_role("region", name="Values", exact=True)
    values.wait_for()
    assert "images_per_second" in values.inner_text()


def test_a_phone_is_wide_enough_and_the_dark_is_dark(shared, read):
    reader = read(shared("vit"), width=390, dark=True)
    for view in VIEWS:
        reader.go(view)
        reader.see_all()
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= 390, view
    assert "rgb(17, 21, 26)" in reader.page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_paper_has_what_was_found_measured_and_nothing_to_click(shared, read):
    reader = read(shared("vit"), dark=True)
    page = reader.page
    page.emulate_media(media="print", color_scheme="dark")
    for view in VIEWS:
        reader.go(view)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        reader.settle()
        assert page.get_by_role("heading", level=1).is_visible() and page.locator("#body").is_visible()
        hidden = "nav, .live, .choices, .tools, .explore > .side, button:not(th button)"
        assert not any(element.is_visible() for element in page.locator(hidden).all()), view
        for section in page.locator("#body section, #body figure").all():
            assert section.is_visible(), (view, section.get_attribute("aria-label"))
        charts = page.locator("#body figure.chart").count()
        assert page.locator("#body figure.chart svg").count() >= charts > 0 or view == "run", view
    reader.go("overview")
    assert page.get_by_role("region", name="Findings").get_by_role("listitem").count() > 3
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000


def test_what_is_shown_is_saved(shared, read):
    reader = read(shared("mixed"))
    with reader.page.expect_download() as download:
        reader.page.get_by_role("link", name="csv").click()
    assert download.value.suggested_filename == "report.csv"
    assert open(download.value.path()).read().startswith("configuration,state,")


# What changes


def test_new_measurements_show_by_themselves_and_leave_the_reader_where_they_are(serve, read, samples):
    served = serve("one")
    reader = read(served.link)
    reader.go("explore?q=256")
    reader.page.get_by_role("searchbox").focus()
    assert reader.rows() == 0
    fill(served.store, samples / "demo.jsonl")
    reader.page.locator("section.table [role=status]").get_by_text("2 of 4").wait_for()
    reader.settle()
    assert reader.address.startswith("#explore?q=256")
    assert reader.page.evaluate("document.activeElement.type") == "search"


def test_new_measurements_leave_the_table_and_the_cursor_in_it_where_they_are(serve, read, samples, tmp_path):
    served = serve("vit")
    reader = read(served.link)
    reader.go("explore")
    page = reader.page
    total = reader.rows()
    page.evaluate("document.querySelector('.scroll.tall').scrollTop = 2000")
    page.locator("details.same").evaluate("(details) => { details.open = true }")
    reader.settle()
    link = page.locator("tbody a").nth(20)
    link.evaluate("(link) => link.focus({preventScroll: true})")
    focused, top = "document.activeElement.href", "document.querySelector('.scroll.tall').scrollTop"
    before = [page.evaluate(focused), page.evaluate(top)]
    run = json.loads((samples / "vit.jsonl").read_text().splitlines()[0])
    entity = run["entity"] | {"batch_size": 3}
    more = run | {"uid": "f" * 32, "entity": entity, "entity_id": entity_id(entity)}
    (tmp_path / "more.jsonl").write_text(json.dumps(more) + "\n")
    fill(served.store, tmp_path / "more.jsonl")
    page.locator("section.table [role=status]").get_by_text(f"{total + 1} of {total + 1}").wait_for()
    reader.settle()
    assert [page.evaluate(focused), page.evaluate(top)] == before
    assert page.locator("details.same[open]").count() == 1


def test_an_empty_store_says_so_until_something_is_measured(serve, read, samples, tmp_path):
    served = serve("none")
    reader = read(served.link)
    assert "Nothing has been measured yet" in reader.text()
    fill(served.store, samples / "demo.jsonl")
    reader.page.locator("nav").wait_for()
    reader.settle()
    assert "Fastest" in reader.text()


def test_what_is_shown_is_a_choice(serve, read, samples):
    served = serve("vit")
    fill(served.store, samples / "demo.jsonl")
    reader = read(served.link)
    shown = reader.page.get_by_label("shown")
    for option in shown.locator("option").all():
        shown.select_option(option.get_attribute("value"))
        reader.page.get_by_role("heading", level=1, name=option.get_attribute("value")).wait_for()
        reader.settle()
    assert "subject=" in reader.address


def later(samples, folder, name, entity=(), properties=()):
    """A file of the measurements of a sample, with these changes, as made later than all others."""
    runs = [json.loads(line) for line in (samples / f"{name}.jsonl").read_text().splitlines()]
    for number, run in enumerate(runs):
        run |= {"uid": f"{number:032x}", "measured_at": "2026-03-01T12:00:00Z"}
        run["entity"] |= dict(entity)
        run["entity_id"] = entity_id(run["entity"])
        run["properties"] |= dict(properties)
    path = folder / "later.jsonl"
    path.write_text("".join(json.dumps(run) + "\n" for run in runs))
    return path


def test_what_is_measured_later_of_another_experiment_takes_the_place_of_none(serve, read, samples, tmp_path):
    served = serve("vit")
    reader = read(served.link)
    reader.go("explore?f.a_plugin=gemini")
    title, rows = reader.text("h1"), reader.rows()
    fill(served.store, later(samples, tmp_path, "demo"))
    options = reader.page.get_by_label("shown").locator("option")
    options.nth(1).wait_for(state="attached")
    reader.settle()
    assert reader.text("h1") == title and reader.rows() == rows > 0
    first = options.first.get_attribute("value")
    assert "subject=" in reader.address and f"subject={first}" not in reader.address
    again = read(served.next_link())
    assert again.text("h1") != title
    again.open(f"{served.url}/{reader.address}")
    again.page.get_by_role("heading", level=1, name=title).wait_for()
    assert again.rows() == rows


def test_the_run_that_is_read_stays_when_a_faster_one_is_measured(serve, read, samples, tmp_path):
    served = serve("one")
    reader = read(served.link)
    reader.go("run")
    runs = reader.page.locator("#body .tools select")
    run = runs.input_value()
    assert f"run={run}" in reader.address
    fast = {"dataset_tokens_per_second": 1e6, "real_tokens_per_second": 1e6}
    fill(served.store, later(samples, tmp_path, "one", {"batch_size": 3}, fast))
    runs.locator("option").nth(1).wait_for(state="attached")
    reader.settle()
    assert runs.input_value() == run
    reader.go("run")
    assert runs.input_value() == f"{0:032x}"


def test_a_link_to_a_run_that_is_on_its_way_shows_it_when_it_is_there(serve, read, samples, tmp_path):
    served = serve("one")
    reader = read(served.link)
    on_its_way = f"{0:032x}"
    reader.go(f"run?run={on_its_way}")
    runs = reader.page.locator("#body .tools select")
    assert runs.input_value() != on_its_way
    fill(served.store, later(samples, tmp_path, "one", {"batch_size": 3}))
    runs.locator("option").nth(1).wait_for(state="attached")
    reader.settle()
    assert runs.input_value() == on_its_way


def test_a_space_shows_what_is_missing(serve, read):
    reader = read(serve("none", ROOT / "share/demo/space.yaml").link)
    assert "not measured" in reader.text(".states")


def space_of_store(folder, store):
    """A space whose file names its store."""
    path = folder / f"{store.stem}.yaml"
    path.write_text(f"sampleStoreIdentifier: {store}\n" + (ROOT / "share/demo/space.yaml").read_text())
    return path


def test_a_space_is_served_from_the_store_that_its_file_names(samples, read, tmp_path):
    store = tmp_path / "named.db"
    fill(store, samples / "demo.jsonl")
    served = Served.__new__(Served)
    served.attach([BIN_DIR / "assay", "serve", space_of_store(tmp_path, store), "--port", "0"])
    reader = read(served.link)
    assert "finetune_full_benchmark-v1.0.0, last" in reader.text("#app .live")
    reader.page.close()  # which would ask for its server again and again
    served.stop()
    other = space_of_store(tmp_path, tmp_path / "other.db")
    command = [BIN_DIR / "assay", "serve", space_of_store(tmp_path, store), other, "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and "name different stores" in done.stderr and done.stderr.count("\n") == 1


def see(page, seen):
    """As if the reader came to a tab, or went to another one."""
    page.evaluate(
        "(state) => { Object.defineProperty(document, 'visibilityState', {value: state, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')) }",
        "visible" if seen else "hidden",
    )


def test_a_server_of_which_nothing_is_heard_is_a_notice_until_it_is(serve, read):
    """Its connections stay open, as of a machine that fell asleep or a tunnel that broke."""
    served = serve("one")
    reader = read(served.link, before=lambda page: page.clock.install())
    status = reader.page.get_by_role("status").get_by_text("live", exact=True)
    status.wait_for()
    served.process.send_signal(signal.SIGSTOP)
    reader.page.clock.fast_forward("01:00")
    notice(reader).get_by_text("The server does not answer").wait_for()
    served.process.send_signal(signal.SIGCONT)
    status.wait_for()
    notice(reader).wait_for(state="hidden")


def test_more_tabs_than_a_browser_has_connections_all_follow(serve, browser, samples):
    served = serve("one")
    context = browser.new_context()
    tabs = [context.new_page() for _ in range(7)]
    for tab in tabs:
        tab.goto(served.link if tab is tabs[0] else f"{served.url}/#explore")
        tab.wait_for_function("() => document.documentElement.dataset.ready")
        see(tab, False)
    tabs[0].evaluate("location.hash = 'explore'")
    fill(served.store, samples / "demo.jsonl")
    for tab in tabs:
        see(tab, True)
        tab.locator("section.table [role=status]").get_by_text("of 4").wait_for()
        see(tab, False)
    context.close()


# Pages without https that are not of this machine have no locks.
@pytest.mark.parametrize("locks", ["", "Object.defineProperty(navigator, 'locks', { value: undefined })"])
def test_more_windows_than_a_browser_has_connections_are_all_seen_and_follow(serve, browser, samples, locks):
    served = serve("one")
    context = browser.new_context()
    context.add_init_script(locks)
    windows = [context.new_page() for _ in range(8)]
    for window in windows:
        window.goto(f"{served.link}" if window is windows[0] else f"{served.url}/#explore")
        window.wait_for_function("() => document.documentElement.dataset.ready")
    windows[0].evaluate("location.hash = 'explore'")
    windows.pop(1).close()
    windows.pop(0).close()  # who listened for the others among them
    fill(served.store, samples / "demo.jsonl")
    for window in windows:
        window.locator("section.table [role=status]").get_by_text("of 4").wait_for()
    served.stop()
    for window in windows:
        window.get_by_role("alert").get_by_text("The server does not answer").wait_for()
    context.close()


COUNT_STREAMS = """window.streams = [];
window.EventSource = class extends EventSource {
  constructor(...given) { super(...given); streams.push(this); }
};
window.listening = () => streams.filter((stream) => stream.readyState !== 2).length;"""
SLEEP_WHEN_TOLD = """const every = setInterval;
window.setInterval = (act, ...given) => every(() => { if (!window.sleeps) act(); }, ...given);"""


def test_a_window_that_slept_leaves_the_stream_to_who_took_it(serve, browser, samples):
    """Its timers stand still, as of a machine that is busy or in a debugger, while others' run on."""
    served = serve("one")
    context = browser.new_context()
    context.add_init_script("Object.defineProperty(navigator, 'locks', { value: undefined });" + COUNT_STREAMS)
    sleeper, other = context.new_page(), context.new_page()
    sleeper.add_init_script(SLEEP_WHEN_TOLD)
    sleeper.goto(served.link)
    sleeper.wait_for_function("() => listening() === 1")
    other.goto(f"{served.url}/#explore")
    other.wait_for_function("() => document.documentElement.dataset.ready")
    sleeper.evaluate("window.sleeps = true")
    other.wait_for_function("() => listening() === 1")
    sleeper.evaluate("window.sleeps = false")
    sleeper.wait_for_function("() => listening() === 0")
    sleeper.evaluate("location.hash = 'explore'")
    fill(served.store, samples / "demo.jsonl")
    for window in (sleeper, other):
        window.locator("section.table [role=status]").get_by_text("of 4").wait_for()
    context.close()


def test_what_changed_while_nobody_answered_shows_by_itself(serve, read, samples):
    served = serve("one")
    reader = read(served.link)
    reader.go("explore")
    reader.page.route("**/api/v1/subjects?*", lambda route: route.abort())
    fill(served.store, samples / "demo.jsonl")
    notice(reader).get_by_text("The server does not answer").wait_for()
    reader.page.unroute("**/api/v1/subjects?*")
    reader.page.locator("section.table [role=status]").get_by_text("of 4").wait_for()
    notice(reader).wait_for(state="hidden")
    forgive(reader, "ERR_FAILED")


def test_two_runs_are_those_chosen_last_however_late_others_come(serve, read):
    reader = read(serve("mixed").link)
    page = reader.page
    reader.go("compare?by=run")
    options = page.get_by_label("first").locator("option").all()
    first, _, late, last = [option.get_attribute("value") for option in options[:4]]
    held = []
    page.route(f"**/api/v1/runs/{late}?*", lambda route: held.append(route))
    reader.go(f"compare?by=run&a={first}&b={last}")
    shown = reader.text("#body .view > div:nth-child(2)")
    with page.expect_request(f"**/api/v1/runs/{late}?*"):
        page.evaluate("(hash) => { location.hash = hash }", f"compare?by=run&a={first}&b={late}")
    reader.go(f"compare?by=run&a={first}&b={last}")
    with page.expect_response(f"**/api/v1/runs/{late}?*"):
        held[0].continue_()
    reader.settle()
    assert reader.text("#body .view > div:nth-child(2)") == shown


def test_a_run_that_could_not_be_read_is_read_once_it_can_be(serve, read):
    reader = read(serve("mixed").link)
    reader.page.route("**/api/v1/runs/*", lambda route: route.abort())
    reader.go("run")
    assert "The store did not give the values" in reader.text("#body")
    reader.page.unroute("**/api/v1/runs/*")
    reader.page.get_by_role("region", name="Values", exact=True).wait_for()
    assert "The store did not give" not in reader.text("#body")
    forgive(reader, "ERR_FAILED")


def test_an_answer_that_comes_late_hides_no_problem(serve, read, samples):
    served = serve("one")
    reader = read(served.link)
    held = []
    reader.page.route("**/api/v1/subjects/*/model*/**", lambda route: held.append((route, route.fetch())))
    fill(served.store, samples / "demo.jsonl")
    for _ in range(2400):
        if held:
            break
        reader.page.wait_for_timeout(100)
    assert held
    shutil.move(served.store, served.store.with_suffix(".away"))
    notice(reader).get_by_text("is not there").wait_for()
    for route, response in held:
        route.fulfill(response=response)
    reader.page.locator(".states").get_by_text("4 valid").wait_for()
    assert "is not there" in notice(reader).inner_text()
    assert reader.page.get_by_role("status").get_by_text("waiting for the store").is_visible()
    forgive(reader, "503")


def broken(route):
    """A model that cannot be drawn, of which nothing is new afterwards."""
    answer = route.fetch().json()
    if "parts" in answer:
        answer["parts"] |= {"charts": None, "title": "broken"}
    route.fulfill(json=answer)


def come_back(reader):
    """To the tab, which asks for what is new."""
    see(reader.page, False)
    with reader.page.expect_response(re.compile("/subjects/[^/]+/model")):
        see(reader.page, True)
    reader.settle()


def test_a_model_that_cannot_be_drawn_is_a_notice_above_the_one_before(serve, read, samples):
    served = serve("one")
    reader = read(served.link)
    reader.page.route("**/api/v1/subjects/*/model/**", broken)
    fill(served.store, samples / "demo.jsonl")
    notice(reader).get_by_text("cannot be shown").wait_for()
    assert "1 valid" in reader.text(".states") and reader.page.get_by_role("heading", level=1).inner_text() != "broken"
    reader.go("explore")
    assert reader.rows() == 1
    come_back(reader)
    assert notice(reader).get_by_text("cannot be shown").is_visible()
    assert reader.page.get_by_role("status").get_by_text("live").count() == 0


def test_a_first_model_that_cannot_be_drawn_is_a_notice_above_no_page(serve, read):
    served = serve("one")
    reader = read(served.link, before=lambda page: page.route("**/api/v1/subjects/*/model**", broken))
    come_back(reader)
    assert notice(reader).get_by_text("cannot be shown").is_visible()
    assert "is being read" not in reader.text() and reader.page.locator("nav").count() == 0


def test_a_key_that_another_page_puts_into_the_address_takes_the_place_of_none(serve, read):
    served = serve("one")
    reader = read(served.link)
    reader.page.goto("about:blank")
    reader.open(f"{served.url}/#?key=junk")
    assert "1 valid" in reader.text(".states") and "key" not in reader.address
    forgive(reader, "401")


def test_an_exploration_of_another_version_hides_no_other(serve, read):
    served = serve("one")
    known = {
        "space": "tiny",
        "host": "here",
        "started_at": "2026-01-01T10:00:00Z",
        "done": 1,
        "total": 2,
        "seconds_left": None,
        "measured": 1,
        "replayed": 0,
        "invalid": 0,
        "failed": 0,
        "waiting": 0,
        "running": [],
        "recent": [],
    }
    store = sqlite3.connect(served.store)
    store.execute("CREATE TABLE progress(operation_uid TEXT PRIMARY KEY, owner TEXT, version BIGINT, state TEXT)")
    rows = [("a", {"space": "strange", "host": "there"}), ("b", known)]
    store.executemany(
        "INSERT INTO progress VALUES (?, 'a machine', 1, ?)", [(uid, json.dumps(row)) for uid, row in rows]
    )
    store.commit()
    reader = read(served.link)
    reader.page.get_by_text("Being measured now: 1 exploration and 1 more").wait_for()
    assert "1 of 2 points" in reader.text(".going") and "strange" not in reader.text(".going")


def test_a_page_that_waits_for_its_store_says_so(serve, browser):
    served = serve("one")
    context = browser.new_context()
    page = context.new_page()
    held = []
    page.route("**/api/v1/subjects?*", lambda route: held.append(route))
    page.goto(served.link)
    page.get_by_text("The store is being read").wait_for()
    held[0].continue_()
    page.locator(".states").get_by_text("1 valid").wait_for()
    context.close()


def test_a_store_that_goes_away_is_a_notice_and_no_empty_page(serve, read):
    served = serve("mixed")
    reader = read(served.link)
    shutil.move(served.store, served.store.with_suffix(".away"))
    notice(reader).get_by_text("is not there").wait_for()
    assert "Fastest" in reader.text("#body")
    shutil.move(served.store.with_suffix(".away"), served.store)
    notice(reader).wait_for(state="hidden")
    forgive(reader, "503")


def test_a_replaced_store_is_read_anew(serve, read, samples, tmp_path):
    served = serve("mixed")
    reader = read(served.link)
    other = tmp_path / "other.db"
    fill(other, samples / "one.jsonl")
    for end in ["-wal", "-shm"]:
        served.store.with_name(served.store.name + end).unlink(missing_ok=True)
    shutil.move(other, served.store)
    reader.page.wait_for_function("() => /1 valid/.test(document.querySelector('.states').innerText)")
    forgive(reader, "503")


def test_a_locked_store_is_a_notice(serve, read):
    served = serve("mixed")
    reader = read(served.link)
    away = served.store.with_suffix(".away")
    shutil.move(served.store, away)
    notice(reader).get_by_text("is not there").wait_for()
    other = sqlite3.connect(away, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    shutil.move(away, served.store)
    notice(reader).get_by_text("is locked by another program").wait_for()
    assert "Fastest" in reader.text("#body")
    other.close()
    notice(reader).wait_for(state="hidden")
    forgive(reader, "503")


def test_a_newer_and_a_damaged_store_are_notices(serve, read):
    for name, harm, words in [
        (
            "one",
            lambda store: sqlite3.connect(store).executescript("UPDATE store_schema SET version = 99"),
            "newer version",
        ),
        ("mixed", lambda store: store.write_bytes(b"x" * 1000), "store"),
    ]:
        served = serve(name)
        reader = read(served.link)
        harm(served.store)
        notice(reader).get_by_text(words).wait_for()
        assert "\n" not in notice(reader).inner_text()
        assert len(reader.text("#body")) > 50
        reader.page.close()  # which asks again and again
        forgive(reader, "503")


def test_a_server_that_ended_is_a_notice(serve, read):
    served = serve("mixed")
    reader = read(served.link)
    served.stop()
    notice(reader).get_by_text("The server does not answer").wait_for()
    assert "Fastest" in reader.text("#body")
    forgive(reader, "ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION_RESET")


def test_a_store_whose_shared_memory_is_cut_short_ends_the_server_with_one_line(serve):
    served = serve("one")
    shared = served.store.with_name(served.store.name + "-shm")
    os.truncate(shared, 0)
    assert served.process.wait(timeout=300) == 1
    said = served.process.stderr.read()
    assert '"-shm" beside the store' in said and said.count("\n") == 1


def test_mistakes_are_one_line(samples, tmp_path):
    store = tmp_path / "a.db"
    fill(store, samples / "one.jsonl")
    served = Served(store)
    for arguments, words in [
        (["--port", str(served.port)], "in use"),
        (["--port", "0", "--host", "0.0.0.0"], "--token-file"),
        (["--port", "0", "--name", "localhost:web"], "HOST:PORT"),
        (["--port", "0", "--token-file", tmp_path / "none"], "none"),
        (["--port", "0", "--store", tmp_path / "none.db"], "there is no store"),
        (["--port", "0", tmp_path / "none.yaml"], "none.yaml"),
    ]:
        done = subprocess.run(
            [BIN_DIR / "assay", "serve", "--store", store, *arguments], capture_output=True, text=True
        )
        assert done.returncode in [1, 2] and words in done.stderr, done.stderr
        assert done.stderr.count("\n") == 1
    served.stop()
