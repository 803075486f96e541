#include "storage/auth/sigv4.h"

#include <strings.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace assay::storage {
namespace {

// botocore's list: what connections, proxies and tracing change on the way.
constexpr std::array<std::string_view, 14> kUnsignedHeaders = {"baggage",
                                                               "connection",
                                                               "expect",
                                                               "keep-alive",
                                                               "proxy-authenticate",
                                                               "proxy-authorization",
                                                               "te",
                                                               "trailer",
                                                               "traceparent",
                                                               "tracestate",
                                                               "upgrade",
                                                               "transfer-encoding",
                                                               "user-agent",
                                                               "x-amzn-trace-id"};

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// What a client sends as Host: the port only where it is not the scheme's own.
std::string HostOf(const http::Url& url) {
  const bool default_port = (url.scheme == "http" && url.port == 80) || (url.scheme == "https" && url.port == 443);
  return default_port ? url.host : url.authority();
}

// `host` must outlive the result.
std::vector<CanonicalHeader> HeadersToSign(const http::Request& request, std::string_view host) {
  std::vector<CanonicalHeader> headers;
  headers.reserve(request.headers.all().size() + 1);
  bool has_host = false;
  for (const http::Header& header : request.headers.all()) {
    if (IsSignedHeader(header.name)) {
      headers.push_back({Lower(header.name), header.value});
      has_host = has_host || headers.back().name == "host";
    }
  }
  if (!has_host) {
    headers.push_back({"host", host});
  }
  return headers;
}

std::string Sign(const SigV4Key& key, std::string_view string_to_sign) {
  return Hex(HmacSha256(AsText(key.signing_key), string_to_sign));
}

std::string HeaderName(const SigV4Dialect& dialect, std::string_view rest) {
  std::string name(dialect.header_prefix);
  name += rest;
  return name;
}

void AppendParameter(std::string& query, const SigV4Dialect& dialect, std::string_view name, std::string_view value) {
  if (!query.empty()) {
    query += '&';
  }
  query += dialect.query_prefix;
  query += name;
  query += '=';
  query += http::PercentEncode(value);
}

std::string ChunkStringToSign(std::string_view algorithm, const SigV4Key& key, std::string_view timestamp,
                              std::string_view previous_signature) {
  std::string text(algorithm);
  text += '\n';
  text += timestamp;
  text += '\n';
  text += key.scope.Text(kAws4Hmac);
  text += '\n';
  text += previous_signature;
  text += '\n';
  return text;
}

}  // namespace

std::string SigV4Scope::Text(const SigV4Dialect& dialect) const {
  std::string text;
  text.reserve(64);
  text += date;
  text += '/';
  text += region;
  text += '/';
  text += service;
  text += '/';
  text += dialect.terminator;
  return text;
}

Sha256Digest SigningKey(const SigV4Dialect& dialect, std::string_view secret, const SigV4Scope& scope) {
  std::string start(dialect.key_prefix);
  start += secret;
  Sha256Digest key = HmacSha256(start, scope.date);
  key = HmacSha256(AsText(key), scope.region);
  key = HmacSha256(AsText(key), scope.service);
  return HmacSha256(AsText(key), dialect.terminator);
}

bool IsSignedHeader(std::string_view name) {
  return std::none_of(kUnsignedHeaders.begin(), kUnsignedHeaders.end(),
                      [name](std::string_view unsigned_name) { return SameName(name, unsigned_name); });
}

std::string StringToSign(const SigV4Dialect& dialect, std::string_view timestamp, std::string_view scope,
                         std::string_view canonical_request) {
  std::string text;
  text.reserve(192);
  text += dialect.algorithm;
  text += '\n';
  text += timestamp;
  text += '\n';
  text += scope;
  text += '\n';
  AppendHex(text, Sha256(canonical_request));
  return text;
}

bool SignHeaders(const SigV4Dialect& dialect, const SigV4Key& key, std::string_view timestamp,
                 std::string_view payload_hash, http::Request& request) {
  const std::optional<http::Url> url = http::ParseUrl(request.url);
  if (!url) {
    return false;
  }
  request.headers.Remove("authorization");
  request.headers.Set(HeaderName(dialect, "date"), timestamp);
  request.headers.Set(HeaderName(dialect, "content-sha256"), payload_hash);
  if (!key.session_token.empty()) {
    request.headers.Set(HeaderName(dialect, "security-token"), key.session_token);
  }
  const std::string host = HostOf(*url);
  CanonicalParts parts{.method = request.method,
                       .path = url->path,
                       .query = url->query,
                       .query_left_out = {},
                       .headers = HeadersToSign(request, host),
                       .payload_hash = payload_hash};
  const std::string canonical = CanonicalRequest(parts);
  const std::string scope = key.scope.Text(dialect);
  std::string authorization;
  authorization.reserve(384);
  authorization += dialect.algorithm;
  authorization += " Credential=";
  authorization += key.access_key_id;
  authorization += '/';
  authorization += scope;
  authorization += ", SignedHeaders=";
  authorization += SignedHeaderNames(parts.headers);
  authorization += ", Signature=";
  authorization += Sign(key, StringToSign(dialect, timestamp, scope, canonical));
  request.headers.Set("Authorization", authorization);
  return true;
}

UnsignedUrl PrepareUrl(const SigV4Dialect& dialect, const SigV4Key& key, std::string_view timestamp, int64_t seconds,
                       const http::Request& request) {
  const std::optional<http::Url> url = http::ParseUrl(request.url);
  if (!url) {
    return {};
  }
  const std::string host = HostOf(*url);
  CanonicalParts parts{.method = request.method,
                       .path = url->path,
                       .query = {},
                       .query_left_out = {},
                       .headers = HeadersToSign(request, host),
                       .payload_hash = kUnsignedPayload};
  std::sort(parts.headers.begin(), parts.headers.end(),
            [](const CanonicalHeader& a, const CanonicalHeader& b) { return a.name < b.name; });
  const std::string scope = key.scope.Text(dialect);
  std::string query = url->query;
  AppendParameter(query, dialect, "Algorithm", dialect.algorithm);
  AppendParameter(query, dialect, "Credential", key.access_key_id + "/" + scope);
  AppendParameter(query, dialect, "Date", timestamp);
  AppendParameter(query, dialect, "Expires", std::to_string(seconds));
  AppendParameter(query, dialect, "SignedHeaders", SignedHeaderNames(parts.headers));
  if (!key.session_token.empty()) {
    AppendParameter(query, dialect, "Security-Token", key.session_token);
  }
  parts.query = query;
  UnsignedUrl prepared;
  prepared.string_to_sign = StringToSign(dialect, timestamp, scope, CanonicalRequest(parts));
  prepared.url = url->scheme + "://" + url->authority() + url->path + "?" + query;
  return prepared;
}

std::string PresignUrl(const SigV4Dialect& dialect, const SigV4Key& key, std::string_view timestamp, int64_t seconds,
                       const http::Request& request) {
  UnsignedUrl prepared = PrepareUrl(dialect, key, timestamp, seconds, request);
  if (!prepared.url.empty()) {
    AppendParameter(prepared.url, dialect, "Signature", Sign(key, prepared.string_to_sign));
  }
  return prepared.url;
}

std::string ChunkSignature(const SigV4Key& key, std::string_view timestamp, std::string_view previous_signature,
                           const Sha256Digest& data) {
  std::string text = ChunkStringToSign("AWS4-HMAC-SHA256-PAYLOAD", key, timestamp, previous_signature);
  text += kEmptyPayloadHash;
  text += '\n';
  AppendHex(text, data);
  return Sign(key, text);
}

std::string TrailerSignature(const SigV4Key& key, std::string_view timestamp, std::string_view previous_signature,
                             std::string_view trailers) {
  std::string text = ChunkStringToSign("AWS4-HMAC-SHA256-TRAILER", key, timestamp, previous_signature);
  AppendHex(text, Sha256(trailers));
  return Sign(key, text);
}

}  // namespace assay::storage
