"""Who may ask `assay serve` for what: links, cookies, names, other sites."""

import http.server
import re
import threading

from page_server import Served


def test_strangers_get_nothing(serve):
    served = serve("one")
    for path in [
        "/",
        "/assets/report.js",
        "/api/v1/subjects",
        "/api/v1/events",
        "/../../etc/passwd",
        "/start/" + "0" * 32,
    ]:
        status, headers, body = served.ask(path)
        assert status in [401, 403], path
        assert "Access-Control-Allow-Origin" not in headers
        assert body.count("\n") == 1


def test_a_link_opens_once(serve, read):
    served = serve("one")
    reader = read(served.link)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", reader.page.url.partition("#")[0])
    assert reader.page.evaluate("document.cookie") == "", "scripts do not see the session"
    status, _, _ = served.ask(served.link.removeprefix(served.url))
    assert status == 403
    another = served.next_link()
    assert another != served.link
    assert served.ask(another.removeprefix(served.url))[0] == 303


def test_other_names_methods_and_sites_are_refused(serve):
    served = serve("one")
    cookie = served.cookie()
    assert served.ask("/", Cookie=cookie)[0] == 200
    for host in ["evil.example", f"evil.example:{served.port}", "127.0.0.1:1", f"127.0.0.1.nip.io:{served.port}"]:
        assert served.ask("/", host=host, Cookie=cookie)[0] == 403, host
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]:
        status, headers, _ = served.ask("/api/v1/subjects", method=method, Cookie=cookie)
        assert (status, headers["Allow"]) == (405, "GET, HEAD"), method
    assert served.ask("/api/v1/subjects", Cookie=cookie, Sec_Fetch_Site="cross-site")[0] == 403
    assert served.ask("/api/v1/subjects", Cookie=cookie, Origin="http://evil.example")[0] == 403


def click_on_another_site(context, href):
    """localhost and 127.0.0.1 are two sites, between which a browser sends no cookie that is Strict."""
    page = context.new_page()
    body = f'<a href="{href}">the figures</a>'
    page.route("http://localhost:*/", lambda route: route.fulfill(content_type="text/html", body=body))
    page.goto("http://localhost:1/")
    page.get_by_text("the figures").click()
    return page


def test_a_link_of_another_site_leads_to_what_it_says(serve, browser):
    served = serve("mixed")
    address = f"{served.url}/#explore?q=256"
    reader, stranger = browser.new_context(), browser.new_context()
    page = click_on_another_site(reader, served.link)
    page.wait_for_function("() => document.documentElement.dataset.ready")
    assert re.fullmatch(re.escape(f"{served.url}/#") + r"\?subject=[^&]+", page.url)
    page = click_on_another_site(reader, address)
    page.wait_for_function("() => document.documentElement.dataset.ready")
    assert page.url.startswith(address) and page.get_by_role("searchbox").input_value() == "256"
    page.go_back()
    page.get_by_text("the figures").wait_for()
    page = click_on_another_site(stranger, address)
    page.get_by_text("open the link that assay printed").wait_for()
    assert page.url == address
    for context in [reader, stranger]:
        context.close()


def test_what_a_tab_sent_while_the_server_was_away_opens_nothing(serve, browser, tmp_path):
    token = tmp_path / "token"
    token.write_text("0123456789abcdef" * 2)
    token.chmod(0o600)
    served = serve("one", "--token-file", token)
    opened = f"{served.url}/start/{token.read_text()}"
    context = browser.new_context()
    page = context.new_page()
    page.goto(opened)
    page.wait_for_function("() => document.documentElement.dataset.ready")
    [cookie] = context.cookies()
    key = page.evaluate("localStorage.getItem('key')")
    page.close()
    served.stop()
    again = Served(served.store, "--token-file", token, port=served.port)
    given = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    assert again.ask(f"/api/v1/subjects?key={key}", **given)[0] == 401
    assert again.ask("/", **given)[0] == 401
    page = context.new_page()
    page.goto(opened)
    page.wait_for_function("() => document.documentElement.dataset.ready")
    context.close()
    again.stop()


def test_a_tunnel_of_another_port_leads_in_by_its_name(serve):
    served = serve("one", "--name", "localhost:8000")
    path = served.link.removeprefix(served.url)
    assert served.ask(path, host="localhost:8001")[0] == 403
    status, headers, _ = served.ask(path, host="localhost:8000")
    assert status == 303
    assert served.ask("/", host="localhost:8000", Cookie=headers["Set-Cookie"].partition(";")[0])[0] == 200


def test_another_page_reads_nothing_even_with_the_cookie(serve, browser):
    """A page of another origin in the same browser, as of another port of this machine."""
    first, second = serve("one"), serve("mixed")
    context = browser.new_context()
    page = context.new_page()
    for served in [first, second]:
        page.goto(served.link)
    answer = page.evaluate(
        "(url) => fetch(url, {credentials: 'include', mode: 'no-cors'}).then((r) => r.type, () => 'refused')",
        f"{first.url}/api/v1/subjects",
    )
    assert answer == "refused"
    context.close()


def test_what_another_server_of_the_machine_is_sent_opens_nothing(serve, browser):
    served = serve("one")
    seen = []

    class Noting(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers["Cookie"] or "")
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Noting)
    threading.Thread(target=other.serve_forever).start()
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.link)
    page.wait_for_function("() => document.documentElement.dataset.ready")
    assert "key=" not in page.url
    other_page = context.new_page()
    other_page.goto(f"http://127.0.0.1:{other.server_port}/", wait_until="commit")
    context.close()
    other.shutdown()
    assert any("assay_" in cookie for cookie in seen), "browsers send a cookie to all ports of a host"
    for path in ["/api/v1/subjects", "/api/v1/events", "/api/v1/runs/1"]:
        assert served.ask(path, Cookie=seen[0])[0] == 401
