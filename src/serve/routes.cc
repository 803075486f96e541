#include "serve/routes.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/terminal.h"
#include "base/text.h"
#include "report/html_report.h"
#include "report/report_form.h"
#include "report/web_bundle.h"

namespace assay::serve {
namespace {

using http::BodyPiece;
using http::RequestHead;
using http::ServerResponse;

constexpr std::string_view kApi = "/api/v1/";
/// Of events that a browser has not read: then it is cut off.
constexpr size_t kMostWaitingBytes = 256 << 10;
constexpr std::string_view kJson = "application/json";

/// Only what this server sends as script and style runs, and text never becomes markup. Nobody frames a page, reads an
/// answer from another site, or learns of its address; nothing is kept that a later reader of the disk could find.
void Secure(ServerResponse& response) {
  response.headers.Set("Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
                       "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
                       "require-trusted-types-for 'script'; trusted-types 'none'");
  response.headers.Set("X-Content-Type-Options", "nosniff");
  response.headers.Set("Referrer-Policy", "no-referrer");
  response.headers.Set("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.Set("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.Set("X-Frame-Options", "DENY");
  if (!response.headers.Has("Cache-Control")) {
    response.headers.Set("Cache-Control", "no-store");
  }
}

ServerResponse Respond(std::string_view type, BodyPiece body) {
  ServerResponse response;
  response.headers.Add("Content-Type", type);
  response.body.push_back(std::move(body));
  return response;
}

BodyPiece Shared(const Text& text) {
  return BodyPiece::Memory(text, std::as_bytes(std::span(*text)));
}

/// Part of the program: nothing has to be kept alive.
ServerResponse Asset(const RequestHead& head, std::string_view type, std::string_view text, std::string_view hash) {
  const std::string tag = fmt::format("\"{}\"", hash);
  ServerResponse response;
  if (head.headers.Find("If-None-Match").value_or("") == tag) {
    response.status = 304;
  } else {
    response = Respond(type, BodyPiece::Memory(nullptr, std::as_bytes(std::span(text))));
  }
  response.headers.Add("ETag", tag);
  response.headers.Add("Cache-Control", "no-cache");
  return response;
}

ServerResponse NotHere() {
  return http::TextResponse(404, "there is nothing here");
}

/// What went wrong, as one line.
ServerResponse Failure(const Status& status) {
  return http::TextResponse(status.code() == ErrorCode::kNotFound ? 404 : 503, OneLine(status.message()));
}

ServerResponse Respond(std::string_view type, const Result<Text>& text) {
  ServerResponse response = text.ok() ? Respond(type, Shared(*text)) : Failure(text.status());
  Secure(response);
  return response;
}

std::string_view TypeOf(report::Form form) {
  switch (form) {
    case report::Form::kCsv:
      return "text/csv; charset=utf-8";
    case report::Form::kParquet:
      return "application/vnd.apache.parquet";
    case report::Form::kJson:
    case report::Form::kHtml:
      break;
  }
  return kJson;
}

/// "report.csv": the form of what is downloaded; the page itself is served otherwise.
std::optional<report::Form> FormOfDownload(std::string_view name) {
  constexpr std::string_view kName = "report.";
  const auto form = name.starts_with(kName) ? report::FormFromName(name.substr(kName.size())) : std::nullopt;
  return form == report::Form::kHtml ? std::nullopt : form;
}

}  // namespace

ServerResponse Routes::Answer(const RequestHead& head) {
  ServerResponse response;
  if (std::optional<ServerResponse> refused = access_.Check(head)) {
    response = *std::move(refused);
  } else {
    response = Route(head);
  }
  Secure(response);
  return response;
}

ServerResponse Routes::Route(const RequestHead& head) {
  const std::string_view path = head.path();
  if (path == "/") {
    return Respond("text/html; charset=utf-8", BodyPiece::Text(report::RenderServedPage()));
  }
  if (path == "/assets/report.js") {
    return Asset(head, "text/javascript; charset=utf-8", report::WebScript(), report::WebScriptHash());
  }
  if (path == "/assets/report.css") {
    return Asset(head, "text/css; charset=utf-8", report::WebStyle(), report::WebStyleHash());
  }
  return path.starts_with(kApi) ? RouteApi(head, path.substr(kApi.size())) : NotHere();
}

ServerResponse Routes::RouteApi(const RequestHead& head, std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string& part : Split(path, '/')) {
    std::optional<std::string> decoded = http::PercentDecode(part);
    if (!decoded) {
      return NotHere();
    }
    parts.push_back(*std::move(decoded));
  }
  if (path == "events") {
    return Events(head);
  }
  if (path == "subjects") {
    return reader_.Ask([](Library& library) { return Respond(kJson, library.Subjects()); });
  }
  if (parts.size() == 2 && parts[0] == "runs") {
    return reader_.Ask([uid = parts[1]](Library& library) { return Respond(kJson, library.Run(uid)); });
  }
  if (parts.size() < 3 || parts[0] != "subjects") {
    return NotHere();
  }
  const bool is_since = parts.size() == 5 && parts[3] == "since";
  if (parts[2] == "model" && (parts.size() == 3 || is_since)) {
    return reader_.Ask([id = parts[1], base = is_since ? parts[4] : ""](Library& library) {
      return Respond(kJson, library.Model(id, base));
    });
  }
  if (const auto form = FormOfDownload(parts[2]); form && parts.size() == 3) {
    return reader_.Ask([id = parts[1], name = parts[2], form = *form](Library& library) {
      ServerResponse response = Respond(TypeOf(form), library.Report(id, form));
      response.headers.Set("Content-Disposition", fmt::format("attachment; filename=\"{}\"", name));
      return response;
    });
  }
  return NotHere();
}

ServerResponse Routes::Events(const RequestHead& head) {
  ServerResponse response;
  response.headers.Add("Content-Type", "text/event-stream");
  if (head.method == "HEAD") {
    return response;
  }
  auto stream = std::make_shared<http::ResponseStream>(kMostWaitingBytes);
  if (!hub_.Listen(stream, head.headers.Find("Last-Event-ID").value_or(""))) {
    return http::TextResponse(503, "too many listen at once: close a page");
  }
  response.stream = std::move(stream);
  return response;
}

}  // namespace assay::serve
