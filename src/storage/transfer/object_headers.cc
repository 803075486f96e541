#include "storage/transfer/object_headers.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "storage/auth/time_format.h"

namespace assay::storage {

std::string EtagOf(std::string_view value) {
  if (value.starts_with("W/")) {
    value.remove_prefix(2);
  }
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  }
  return std::string(value);
}

std::optional<int64_t> ParseCount(std::string_view digits) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const bool all = error == std::errc() && end == digits.data() + digits.size() && count >= 0;
  return all ? std::optional<int64_t>(count) : std::nullopt;
}

std::optional<int64_t> TotalOfContentRange(std::string_view value) {
  const size_t slash = value.rfind('/');
  return slash == std::string_view::npos ? std::nullopt : ParseCount(value.substr(slash + 1));
}

std::optional<ObjectInfo> ObjectInfoOf(const std::string& key, const http::Response& answer,
                                       std::string_view metadata_prefix) {
  ObjectInfo info;
  info.key = key;
  std::optional<int64_t> length;
  std::optional<int64_t> total;
  for (const http::Header& header : answer.headers.all()) {
    const auto is = [&header](const char* name) { return strcasecmp(header.name.c_str(), name) == 0; };
    if (is("content-length")) {
      length = ParseCount(header.value);
    } else if (is("content-range")) {
      total = TotalOfContentRange(header.value);
    } else if (is("etag")) {
      info.etag = EtagOf(header.value);
    } else if (is("content-type")) {
      info.content_type = header.value;
    } else if (is("last-modified")) {
      info.modified = ParseHttpDate(header.value).value_or(0);
    } else if (header.name.size() > metadata_prefix.size() &&
               strncasecmp(header.name.c_str(), metadata_prefix.data(), metadata_prefix.size()) == 0) {
      std::string name = header.name.substr(metadata_prefix.size());
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      info.metadata[std::move(name)] = header.value;
    }
  }
  const bool part = answer.status == 206 || answer.headers.Has("content-range");
  const std::optional<int64_t> size = part ? total : length;
  if (!size) {
    return std::nullopt;
  }
  info.size = *size;
  return info;
}

std::optional<Failure> FailureWithoutEtag(const ObjectInfo& info) {
  if (!info.etag.empty()) {
    return std::nullopt;
  }
  Failure failure =
      MakeFailure(FailureClass::kServer, ErrorCode::kIo, "the answer names no etag, so it is none of an object store");
  failure.advice = "check the endpoint and the proxy";
  return failure;
}

std::string RangeValue(int64_t offset, int64_t length) {
  return fmt::format("bytes={}-{}", offset, offset + length - 1);
}

}  // namespace assay::storage
