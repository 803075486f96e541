#include "objectserver/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <limits>

#include "http/message.h"

namespace assay::objectserver {
namespace {

std::optional<std::string> DecodeParameter(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return http::PercentDecode(spaced);
}

/// Of any number of digits: a position beyond what can be counted lies beyond every object's end.
std::optional<int64_t> ParsePosition(std::string_view text) {
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  return code == std::errc::result_out_of_range ? std::numeric_limits<int64_t>::max() : value;
}

}  // namespace

std::optional<Query> Query::Parse(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view parameter = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(parameter.size() + 1, text.size()));
    if (parameter.empty()) {
      continue;
    }
    const size_t equals = std::min(parameter.find('='), parameter.size());
    const auto name = DecodeParameter(parameter.substr(0, equals));
    const auto value = DecodeParameter(parameter.substr(std::min(equals + 1, parameter.size())));
    if (!name || !value) {
      return std::nullopt;
    }
    query.parameters_.emplace_back(*name, *value);
  }
  return query;
}

std::optional<std::string_view> Query::Find(std::string_view name) const {
  for (const auto& [known, value] : parameters_) {
    if (known == name) {
      return value;
    }
  }
  return std::nullopt;
}

RangeOutcome ApplyRange(std::string_view header, int64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  const size_t dash = header.find('-');
  if (!header.starts_with(kUnit) || dash == std::string_view::npos) {
    return {};
  }
  const std::string_view first = header.substr(kUnit.size(), dash - kUnit.size());
  const std::string_view last = header.substr(dash + 1);
  const std::optional<int64_t> begin = ParsePosition(first);
  const std::optional<int64_t> end = ParsePosition(last);
  if ((!first.empty() && !begin) || (!last.empty() && !end) || (!begin && !end) || (begin && end && *end < *begin)) {
    return {};
  }
  using Kind = RangeOutcome::Kind;
  if (!begin) {
    const int64_t length = std::min(*end, size);
    return length == 0 ? RangeOutcome{Kind::kUnsatisfiable, {}} : RangeOutcome{Kind::kPart, {size - length, length}};
  }
  if (*begin >= size) {
    return {Kind::kUnsatisfiable, {}};
  }
  return {Kind::kPart, {*begin, std::min(end.value_or(size - 1), size - 1) - *begin + 1}};
}

std::optional<int64_t> ParseNumber(std::string_view text) {
  constexpr size_t kMaxDigits = 18;
  int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text.size() > kMaxDigits || text.front() == '-' || code != std::errc() ||
      end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> ParseHttpDate(std::string_view text) {
  const std::string copy(text);
  for (const char* form : {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
    std::tm parts = {};
    const char* end = ::strptime(copy.c_str(), form, &parts);
    if (end != nullptr && *end == '\0') {
      return ::timegm(&parts);
    }
  }
  return std::nullopt;
}

std::string IsoTimestamp(double unix_seconds) {
  const auto milliseconds = static_cast<int64_t>(std::floor(unix_seconds * 1000));
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, milliseconds % 1000);
}

}  // namespace assay::objectserver
