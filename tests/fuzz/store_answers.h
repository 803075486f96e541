// What every dialect's readers of answers must hold to, whatever the text.
#pragma once

#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "http/message.h"
#include "storage/list_checks.h"
#include "storage/store_checks.h"
#include "storage/transfer/dialect.h"

namespace assay::fuzz {

inline http::Response AnswerOf(int status, std::string_view body) {
  http::Response answer;
  answer.status = status;
  answer.body = body;
  answer.headers.Add("etag", "\"e\"");
  answer.headers.Add("x-goog-generation", "1");
  return answer;
}

inline void CheckMessage(const storage::Failure& failure) {
  const std::string message = storage::DescribeFailure("read", "s3://b/k", failure, 1).message();
  Require(message.find('\n') == std::string::npos, "an error is one line");
}

/// A page that is taken names nothing that `options` do not ask for, in order.
inline void CheckPage(const storage::ListOptions& options, const storage::ListPage& page) {
  if (!storage::CheckListPage(options, page).ok()) {
    return;
  }
  std::string before = options.start_after;
  for (const storage::ObjectInfo& info : page.objects) {
    Require(info.size >= 0, "an object's size is no less than nothing");
    Require(storage::CheckKey(info.key, "").ok(), "a key that is taken can be asked for");
    Require(info.key.starts_with(options.prefix), "a key that is taken begins with the prefix");
    Require(before < info.key, "keys that are taken go forward");
    before = info.key;
  }
  for (const std::string& prefix : page.prefixes) {
    Require(prefix.starts_with(options.prefix) && prefix.size() > options.prefix.size(), "so does a prefix");
  }
  Require(page.next_page_token.empty() || page.next_page_token != options.page_token, "a page leads forward");
}

inline void CheckParts(const storage::PartsPage& page) {
  int before = 0;
  for (const storage::UploadedPart& part : page.parts) {
    Require(part.bytes >= 0, "a part's size is no less than nothing");
    Require(part.number > before && part.number <= storage::kMaxParts, "parts have numbers, in order");
    before = part.number;
  }
}

/// Every reader of answers that all dialects have.
inline void ReadEverything(const storage::Dialect& dialect, std::string_view body) {
  const http::Response answer = AnswerOf(200, body);
  const auto page = dialect.ReadList(answer);
  for (const char* prefix : {"", "p", "p/"}) {
    CheckPage({.prefix = prefix}, page.value);
    CheckPage({.prefix = prefix, .delimiter = "/", .start_after = "p/a", .page_token = "t"}, page.value);
  }
  const auto parts = dialect.ReadListParts(answer);
  if (!parts.failure) {
    CheckParts(parts.value);
  }
  const auto upload = dialect.ReadCreateUpload(answer);
  Require(upload.failure || !upload.value.empty(), "an upload that was begun has an id");
  (void)dialect.ReadHead({"k", "http://127.0.0.1/k"}, answer);
  (void)dialect.ReadGet({"k", "http://127.0.0.1/k"}, answer);
  (void)dialect.ReadPut("k", answer);
  (void)dialect.ReadPutPart(answer);
  (void)dialect.ReadCompleteUpload("k", answer);
  for (const int status : {301, 400, 401, 404, 503}) {
    CheckMessage(dialect.ReadFailure(AnswerOf(status, body)));
  }
}

}  // namespace assay::fuzz
