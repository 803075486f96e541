#include "storage/auth/time_format.h"

#include <array>
#include <charconv>
#include <ctime>

#include "storage/auth/sigv4.h"

namespace assay::storage {
namespace {

std::tm Calendar(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm calendar{};
  ::gmtime_r(&whole, &calendar);
  return calendar;
}

template <size_t size>
std::string Format(double seconds, const char* format) {
  std::array<char, size> text;
  const std::tm calendar = Calendar(seconds);
  return std::string(text.data(), std::strftime(text.data(), text.size(), format, &calendar));
}

// Where `format` was read to, or null. The C locale's names: the program never sets another.
const char* Read(const std::string& text, const char* format, std::tm& calendar) {
  calendar = {};
  return ::strptime(text.c_str(), format, &calendar);
}

// "Z", "UTC", "+01:00", "-0800" in seconds east of UTC.
std::optional<double> ReadZone(std::string_view zone) {
  if (zone == "Z" || zone == "UTC" || zone.empty()) {
    return 0;
  }
  if ((zone[0] != '+' && zone[0] != '-') || (zone.size() != 5 && zone.size() != 6)) {
    return std::nullopt;
  }
  int hours = 0;
  int minutes = 0;
  const bool hours_read = std::from_chars(zone.data() + 1, zone.data() + 3, hours).ptr == zone.data() + 3;
  const char* const end = zone.data() + zone.size();
  const bool minutes_read = std::from_chars(end - 2, end, minutes).ptr == end;
  if (!hours_read || !minutes_read || (zone.size() == 6 && zone[3] != ':')) {
    return std::nullopt;
  }
  const double seconds = 3600.0 * hours + 60.0 * minutes;
  return zone[0] == '-' ? -seconds : seconds;
}

}  // namespace

std::string SigV4Timestamp(double seconds) {
  return Format<sizeof "20260131T120000Z">(seconds, "%Y%m%dT%H%M%SZ");
}

std::optional<double> ParseSigV4Timestamp(std::string_view text) {
  std::tm calendar;
  const std::string copy(text);
  const char* end = Read(copy, "%Y%m%dT%H%M%SZ", calendar);
  if (copy.size() != 16 || end != copy.c_str() + copy.size()) {
    return std::nullopt;
  }
  return static_cast<double>(::timegm(&calendar));
}

std::string HttpDate(double seconds) {
  return Format<sizeof "Sat, 31 Jan 2026 12:00:00 GMT">(seconds, "%a, %d %b %Y %H:%M:%S GMT");
}

std::optional<double> ParseHttpDate(std::string_view text) {
  std::tm calendar;
  const std::string copy(text);
  const char* end = Read(copy, "%a, %d %b %Y %H:%M:%S GMT", calendar);
  if (end == nullptr || *end != '\0') {
    return std::nullopt;
  }
  return static_cast<double>(::timegm(&calendar));
}

std::optional<double> ParseIsoTime(std::string_view text) {
  std::tm calendar;
  const std::string copy(text);
  const char* end = Read(copy, "%Y-%m-%dT%H:%M:%S", calendar);
  if (end == nullptr) {
    return std::nullopt;
  }
  double fraction = 0;
  if (*end == '.') {
    const char* const last = copy.c_str() + copy.size();
    int64_t digits = 0;
    const char* const begin = end + 1;
    const auto [after, error] = std::from_chars(begin, last, digits);
    if (error != std::errc()) {
      return std::nullopt;
    }
    fraction = static_cast<double>(digits);
    for (const char* digit = begin; digit != after; ++digit) {
      fraction /= 10;
    }
    end = after;
  }
  const std::optional<double> zone = ReadZone(end);
  if (!zone) {
    return std::nullopt;
  }
  return static_cast<double>(::timegm(&calendar)) + fraction - *zone;
}

std::string IsoTime(double seconds) {
  return Format<sizeof "2026-01-31T12:00:00Z">(seconds, "%Y-%m-%dT%H:%M:%SZ");
}

double WallClockSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace assay::storage
