// HTTP messages: what a client sends, what a server answered, and the parts both are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::http {

struct Header {
  std::string name;
  std::string value;
};

/// Header fields in the order they were added; names compare without case (RFC 9110 section 5.1).
class Headers {
 public:
  void Add(std::string_view name, std::string_view value);
  /// Replaces every field of that name by one.
  void Set(std::string_view name, std::string_view value);
  void Remove(std::string_view name);
  /// The first field of that name.
  std::optional<std::string_view> Find(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name).has_value(); }
  const std::vector<Header>& all() const { return fields_; }

 private:
  std::vector<Header> fields_;
};

/// A request before it is sent. Signers add headers to it; the client sends it as it stands.
struct Request {
  std::string method = "GET";
  std::string url;  ///< absolute, percent-encoded, without user information: "https://host:port/path?query"
  Headers headers;
  /// Pieces of the body, sent one after the other without being joined. Not owned: they must live until the response.
  std::vector<std::span<const std::byte>> body;

  int64_t body_bytes() const;
};

/// What came back. Statuses of 400 and above are responses too: only a failure of the transport is an error.
struct Response {
  int status = 0;
  Headers headers;
  std::string body;               ///< empty where the request named memory or a sink for it and the status is 2xx
  int64_t body_bytes = 0;         ///< received, wherever it went
  double first_byte_seconds = 0;  ///< from the start of the request to the first byte of the answer
  double total_seconds = 0;
  bool new_connection = false;  ///< a connection was opened for it
};

/// Whether `name` can name a header: a token of RFC 9110 section 5.6.2.
bool IsHeaderName(std::string_view name);
/// Whether `value` can stand behind one: no control character but a tab (RFC 9110 section 5.5). Bytes above 127 may.
bool IsHeaderValue(std::string_view value);
/// Why `request` cannot be sent as it stands: a header or an address that would end before its end. Nothing where it
/// can.
std::optional<std::string> FlawOf(const Request& request);

/// The parts of an absolute URL, still percent-encoded.
struct Url {
  std::string scheme;  ///< lower case
  std::string host;    ///< lower case, IPv6 in its brackets
  int port = 0;        ///< 0: the scheme's default
  std::string path;    ///< begins with '/'
  std::string query;   ///< without '?'

  std::string authority() const;  ///< "host" or "host:port": what the Host header holds
};

/// Nothing for text that is no absolute http or https URL, or that carries user information.
std::optional<Url> ParseUrl(std::string_view text);

/// Percent-encodes every byte but the unreserved ones of RFC 3986 (A-Z a-z 0-9 - . _ ~) and those in `keep`.
std::string PercentEncode(std::string_view text, std::string_view keep = "");
/// Nothing when a '%' is not followed by two hexadecimal digits.
std::optional<std::string> PercentDecode(std::string_view text);

}  // namespace assay::http
