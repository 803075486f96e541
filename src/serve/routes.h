// What a server of pages answers, and what every answer says of itself.
#pragma once

#include <string_view>

#include "http/server_parser.h"
#include "http/server_response.h"
#include "serve/access.h"
#include "serve/event_hub.h"
#include "serve/reader_thread.h"

namespace assay::serve {

/// Answers requests from any thread:
///
///     /                                              the page
///     /assets/report.js, /assets/report.css          what it is made of
///     /api/v1/subjects                               Library::Subjects()
///     /api/v1/subjects/ID/model[/since/VERSION]      Library::Model()
///     /api/v1/subjects/ID/report.csv, .parquet, .json
///     /api/v1/runs/UID                               Library::Run()
///     /api/v1/events                                 server-sent events, which go on from Last-Event-ID
class Routes {
 public:
  /// All must outlive it.
  Routes(Access& access, EventHub& hub, ReaderThread& reader) : access_(access), hub_(hub), reader_(reader) {}

  http::ServerResponse Answer(const http::RequestHead& head);

 private:
  http::ServerResponse Route(const http::RequestHead& head);
  http::ServerResponse RouteApi(const http::RequestHead& head, std::string_view path);
  http::ServerResponse Events(const http::RequestHead& head);

  Access& access_;
  EventHub& hub_;
  ReaderThread& reader_;
};

}  // namespace assay::serve
