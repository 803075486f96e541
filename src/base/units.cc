#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace assay {
namespace {

struct ByteUnit {
  std::string_view name;
  double bytes;
};

constexpr ByteUnit kByteUnits[] = {
    {"", 1},
    {"b", 1},
    {"k", 1e3},
    {"kb", 1e3},
    {"ki", 1024.0},
    {"kib", 1024.0},
    {"m", 1e6},
    {"mb", 1e6},
    {"mi", 1048576.0},
    {"mib", 1048576.0},
    {"g", 1e9},
    {"gb", 1e9},
    {"gi", 1073741824.0},
    {"gib", 1073741824.0},
    {"t", 1e12},
    {"tb", 1e12},
    {"ti", 1099511627776.0},
    {"tib", 1099511627776.0},
};

Status BadBytes(std::string_view text) {
  return Status::InvalidArgument(
      fmt::format("'{}' is not a number of bytes (write for example 4GiB, 512MB or 1073741824)", text));
}

// Three significant digits, as "1.50", "15.0" and "150".
std::string ThreeDigits(double value) {
  const double magnitude = std::abs(value);
  return fmt::format("{:.{}f}", value, magnitude < 9.995 ? 2 : (magnitude < 99.95 ? 1 : 0));
}

}  // namespace

Result<int64_t> ParseBytes(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) {
    return BadBytes(text);
  }
  std::string suffix(Trim(trimmed.substr(static_cast<size_t>(end - trimmed.data()))));
  for (char& c : suffix) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (const ByteUnit& unit : kByteUnits) {
    if (unit.name == suffix) {
      const double bytes = std::round(value * unit.bytes);
      if (bytes >= static_cast<double>(std::numeric_limits<int64_t>::max())) {
        return BadBytes(text);
      }
      return static_cast<int64_t>(bytes);
    }
  }
  return BadBytes(text);
}

Result<double> ParseSeconds(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
  const std::string_view unit = Trim(trimmed.substr(static_cast<size_t>(end - trimmed.data())));
  const double scale = unit == "ms" ? 1e-3 : unit == "s" ? 1 : unit == "us" ? 1e-6 : 0;
  if (error != std::errc() || scale == 0 || !std::isfinite(value) || value < 0) {
    return Status::InvalidArgument(fmt::format("'{}' is no duration: write for example 20ms or 1.5s", text));
  }
  return value * scale;
}

std::string FormatBytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  if (!std::isfinite(bytes)) {
    return fmt::format("{} B", bytes);
  }
  size_t unit = 0;
  while (std::abs(bytes) >= (unit == 0 ? 1024 : 1023.5) && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{} {}", ThreeDigits(bytes), kUnits[unit]);
}

std::string FormatSeconds(double seconds) {
  if (!std::isfinite(seconds)) {
    return fmt::format("{} s", seconds);
  }
  if (seconds < 0) {
    return fmt::format("-{}", FormatSeconds(-seconds));
  }
  if (seconds < 59.95) {
    if (seconds == 0 || seconds >= 0.9995) {
      return ThreeDigits(seconds) + " s";
    }
    return seconds >= 0.9995e-3 ? ThreeDigits(seconds * 1e3) + " ms" : ThreeDigits(seconds * 1e6) + " us";
  }
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) {
    return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  }
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string FormatCount(int64_t count) {
  const auto value = static_cast<double>(count);
  if (std::abs(value) < 1e6) {
    return fmt::format("{}", count);
  }
  return std::abs(value) < 999.95e6 ? fmt::format("{:.1f} M", value / 1e6) : fmt::format("{:.1f} B", value / 1e9);
}

std::string FormatNumber(double value) {
  const double magnitude = std::abs(value);
  if (magnitude >= 1000 && magnitude < 1e7) {
    return fmt::format("{:.0f}", value);
  }
  if (magnitude < 1e-4 || magnitude >= 1e7 || std::isnan(value)) {
    return fmt::format("{:.4g}", value);
  }
  const int decimals = 3 - static_cast<int>(std::floor(std::log10(magnitude)));
  std::string text = fmt::format("{:.{}f}", value, decimals);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) {
    text.pop_back();
  }
  return text;
}

}  // namespace assay
