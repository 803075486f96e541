#include "serve/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace assay::serve {
namespace {

using http::RequestHead;
using http::ServerResponse;

constexpr std::string_view kStart = "/start/";
constexpr std::string_view kApi = "/api/";  ///< what was measured; all else is the same for everybody
/// The way in for who has the cookie, from a link of another site: it asks for another address than it came from, since
/// the same one would only be loaded again, as a stranger's still.
constexpr std::string_view kInside = "/inside";
constexpr std::string_view kInsideScriptPath = "/assets/inside.js";
constexpr std::string_view kInsideScript = "location.replace(`/inside${location.hash}`);\n";
constexpr std::string_view kUnsaidPorts[] = {"80", "443"};  // which browsers leave out of the Host header

/// In a time that does not tell how much of it agrees.
bool AreEqual(std::string_view given, std::string_view secret) {
  if (given.size() != secret.size()) {
    return false;
  }
  unsigned char difference = 0;
  for (size_t i = 0; i < secret.size(); ++i) {
    difference |= static_cast<unsigned char>(given[i] ^ secret[i]);
  }
  return difference == 0;
}

/// Of "host:80" and "[::1]:80".
bool HasPort(std::string_view host) {
  const size_t colon = host.rfind(':');
  return colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
}

std::string_view HeaderOf(const RequestHead& head, std::string_view name) {
  return head.headers.Find(name).value_or("");
}

bool IsFromElsewhere(const RequestHead& head) {
  const std::string_view site = HeaderOf(head, "Sec-Fetch-Site");
  return !site.empty() && site != "same-origin" && site != "none";
}

ServerResponse StepThere(const std::string& address) {
  ServerResponse response;
  response.status = 303;
  response.headers.Add("Location", address);
  return response;
}

ServerResponse Content(int status, std::string_view type, std::string text) {
  ServerResponse response;
  response.status = status;
  response.headers.Add("Content-Type", fmt::format("{}; charset=utf-8", type));
  response.body.push_back(http::BodyPiece::Text(std::move(text)));
  return response;
}

ServerResponse HtmlPage(int status, std::string_view body) {
  return Content(status, "text/html", fmt::format("<!DOCTYPE html><title>assay</title>{}\n", body));
}

/// Where a link of another site was followed, the browser sends the cookie only with what a page of ours asks for next.
ServerResponse StepInside(const std::string& address) {
  return HtmlPage(
      200, fmt::format("<meta http-equiv=\"refresh\" content=\"0; url={0}\"><a href=\"{0}\">assay</a>", address));
}

bool IsDocument(const RequestHead& head) {
  return head.path() == "/" || head.path().starts_with(kStart);
}

/// What a browser says of who made it ask; other programs say nothing.
bool ComesFromElsewhere(const RequestHead& head) {
  if (IsFromElsewhere(head)) {
    const bool navigates =
        HeaderOf(head, "Sec-Fetch-Mode") == "navigate" && HeaderOf(head, "Sec-Fetch-Dest") == "document";
    return !navigates || !IsDocument(head);
  }
  const std::string_view origin = HeaderOf(head, "Origin");
  return !origin.empty() && origin != fmt::format("http://{}", HeaderOf(head, "Host"));
}

/// Who may not ask keeps no connection either.
ServerResponse Refuse(int status, std::string text) {
  ServerResponse response = http::TextResponse(status, std::move(text));
  response.close_connection = true;
  return response;
}

/// To whom a link of another site led here a page, with whose script's request the browser sends the cookie; to who has
/// none the script does not come.
ServerResponse RefuseStranger(const RequestHead& head) {
  const std::string text = "open the link that assay printed when it began to serve";
  ServerResponse response =
      IsFromElsewhere(head)
          ? HtmlPage(401, fmt::format("<p>{}</p><script src=\"{}\"></script>", text, kInsideScriptPath))
          : Refuse(401, text);
  response.headers.Add("WWW-Authenticate", "Bearer");
  return response;
}

/// The browser keeps what stands behind '#'.
std::optional<ServerResponse> LeadInside(std::string_view path) {
  if (path == kInsideScriptPath) {
    return Content(200, "text/javascript", std::string(kInsideScript));
  }
  return path == kInside ? std::optional(StepThere("/")) : std::nullopt;
}

ServerResponse RefuseMethod(std::string_view allowed) {
  ServerResponse response = Refuse(405, fmt::format("only {} is answered here", allowed));
  response.headers.Add("Allow", allowed);
  return response;
}

}  // namespace

Access::Access(AccessOptions options)
    : options_(std::move(options)),
      session_(RandomUid()),
      key_(RandomUid()),
      link_token_(options_.token.empty() ? RandomUid() : options_.token) {}

std::string Access::StartPath() const {
  const std::lock_guard lock(mutex_);
  return fmt::format("{}{}", kStart, link_token_);
}

std::string Access::CookieName() const {
  return fmt::format("assay_{}", port_.load());
}

bool Access::KnowsHost(std::string_view host) const {
  const std::string asked = Lower(host);
  return std::ranges::any_of(options_.hosts, [&](const std::string& known) {
    const std::string whole = HasPort(known) ? known : fmt::format("{}:{}", known, port_.load());
    return asked == whole || (!HasPort(asked) && std::ranges::any_of(kUnsaidPorts, [&](std::string_view port) {
             return whole == fmt::format("{}:{}", asked, port);
           }));
  });
}

/// The page takes the key out of its address, and keeps it.
std::string Access::PageAddress() const {
  return fmt::format("/#?key={}", key_);
}

bool Access::HasKey(const RequestHead& head) const {
  constexpr std::string_view kKey = "key=";
  return std::ranges::any_of(Split(head.query(), '&'), [&](std::string_view pair) {
    return pair.starts_with(kKey) && AreEqual(pair.substr(kKey.size()), key_);
  });
}

bool Access::HasCookie(const RequestHead& head) const {
  const std::string cookie = CookieName() + "=";
  for (const http::Header& header : head.headers.all()) {
    if (Lower(header.name) != "cookie") {
      continue;
    }
    for (const std::string& pair : Split(header.value, ';')) {
      const std::string_view text = Trim(pair);
      if (text.starts_with(cookie) && AreEqual(text.substr(cookie.size()), session_)) {
        return true;
      }
    }
  }
  return false;
}

bool Access::IsLetIn(const RequestHead& head) const {
  if (HasCookie(head) && (!head.path().starts_with(kApi) || HasKey(head))) {
    return true;
  }
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view authorization = HeaderOf(head, "Authorization");
  return !options_.token.empty() && authorization.starts_with(kBearer) &&
         AreEqual(authorization.substr(kBearer.size()), options_.token);
}

ServerResponse Access::Begin(const RequestHead& head, std::string_view token) {
  if (head.method != "GET") {
    return RefuseMethod("GET");  // what only looks at a link must not use it up
  }
  {
    const std::lock_guard lock(mutex_);
    if (!AreEqual(token, link_token_)) {
      return Refuse(403, "this link has been used, or was never one: open the last one that was printed");
    }
    if (options_.token.empty()) {
      link_token_ = RandomUid();
    }
  }
  if (options_.token.empty() && options_.on_next_link) {
    options_.on_next_link(StartPath());
  }
  ServerResponse response = IsFromElsewhere(head) ? StepInside(PageAddress()) : StepThere(PageAddress());
  response.headers.Add("Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", CookieName(), session_));
  return response;
}

std::optional<ServerResponse> Access::Check(const RequestHead& head) {
  if (head.method != "GET" && head.method != "HEAD") {
    return RefuseMethod("GET, HEAD");
  }
  if (!KnowsHost(HeaderOf(head, "Host"))) {
    return Refuse(403, "this server does not go by that name");
  }
  if (ComesFromElsewhere(head)) {
    return Refuse(403, "pages of other sites get no answer");
  }
  if (head.path().starts_with(kStart)) {
    return Begin(head, head.path().substr(kStart.size()));
  }
  return IsLetIn(head) ? LeadInside(head.path()) : RefuseStranger(head);
}

}  // namespace assay::serve
