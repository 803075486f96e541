// A request that came off the wire with some proof, for the fuzz targets of signatures.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "base/text.h"
#include "fuzz_input.h"
#include "http/message.h"
#include "storage/auth/sigv4.h"
#include "storage/auth/sigv4_verify.h"

namespace assay::fuzz {

/// What may name a method or a header (RFC 9110 section 5.6.2): servers let no other through.
inline bool IsToken(std::string_view name) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c < 0x80 && std::isalnum(c) != 0) || kMarks.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

/// Whether the request speaks of signatures of version 4 itself: then which of two counts is the verifier's affair.
inline bool SpeaksOfSignatures(const http::Request& request) {
  const auto decoded = http::PercentDecode(request.url);
  const std::string text = Lower(decoded.value_or(request.url));
  const bool in_url = text.find("x-goog-") != std::string::npos || text.find("x-amz-") != std::string::npos;
  return in_url || std::ranges::any_of(request.headers.all(), [](const http::Header& header) {
           const std::string name = Lower(header.name);
           return name.starts_with("x-goog-") || name.starts_with("x-amz-") || name == "authorization" ||
                  !storage::IsSignedHeader(name);
         });
}

/// Requires that the request, which was signed, is accepted, and that it is not once something of it was changed.
template <typename Accepts>
void CheckCovered(const http::Request& request, const Accepts& accepts, const char* what) {
  Require(accepts(request), what);
  http::Request changed = request;
  changed.method += 'X';
  Require(!accepts(changed), "the method is covered");
  changed = request;
  changed.url.insert(changed.url.find('/', 8) + 1, 1, 'x');
  Require(!accepts(changed), "the path is covered");
  changed = request;
  changed.url.resize(std::min(changed.url.find('#'), changed.url.size()));  // what stands behind it is not sent
  changed.url += changed.url.find('?') == std::string::npos ? "?added" : "&added";
  Require(!accepts(changed), "the query is covered");
  changed = request;
  changed.headers.Set("Host", "other");
  Require(!accepts(changed), "the host is covered");
}

/// The lines of an input: "name:value" each.
inline http::Headers ReadHeaders(Input& input) {
  http::Headers headers;
  while (!input.done()) {
    const std::string_view line = input.Line();
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos && IsToken(line.substr(0, colon))) {
      headers.Add(line.substr(0, colon), line.substr(colon + 1));
    }
  }
  return headers;
}

/// Lines: method, path, query, Authorization, then headers.
class SignedRequest {
 public:
  SignedRequest(const uint8_t* data, size_t size) {
    Input input(data, size);
    const std::string_view method = input.Line();
    method_ = IsToken(method) ? method : "GET";
    path_ = input.Line();
    query_ = input.Line();
    authorization_ = input.Line();
    headers_ = ReadHeaders(input);
  }

  /// As it came.
  storage::ReceivedRequest Received() const {
    received_ = headers_;
    if (!authorization_.empty()) {
      received_.Set("Authorization", authorization_);
    }
    return {method_, path_, query_, &received_};
  }
  /// Before anybody signed it. Its URL may be none.
  http::Request ToRequest(const std::string& host) const {
    http::Request request;
    request.method = method_;
    request.url = "http://" + host + "/" + path_ + (query_.empty() ? "" : "?") + query_;
    request.headers = headers_;
    request.headers.Set("Host", host);
    return request;
  }

 private:
  std::string method_;
  std::string path_;
  std::string query_;
  std::string authorization_;
  http::Headers headers_;
  mutable http::Headers received_;
};

}  // namespace assay::fuzz
