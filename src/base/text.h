// Small text and unit helpers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay {

/// "a,,b" to "a", "", "b"; an empty text has no parts.
std::vector<std::string> Split(std::string_view text, char separator);
std::string_view Trim(std::string_view text);
/// Of ASCII letters; every other byte stays.
std::string Lower(std::string_view text);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);

inline constexpr int64_t kMiB = int64_t{1} << 20;

/// "4GiB", "512MB", "1.5 GiB", "1073741824" to bytes; decimal (k, kB) and binary (Ki, KiB) suffixes up to
/// tera, any case.
Result<int64_t> ParseBytes(std::string_view text);
/// "20ms", "1.5 s", "300us" to seconds.
Result<double> ParseSeconds(std::string_view text);
/// 1610612736 to "1.50 GiB".
std::string FormatBytes(double bytes);
/// 75.3 to "1m15s", 0.0123 to "12.3 ms".
std::string FormatSeconds(double seconds);
/// A large number for people: 134500000 to "134.5 M", 405.9e9 to "405.9 B"; below a million in full.
std::string FormatCount(int64_t count);
/// Four significant digits without trailing zeros, whole numbers in full; no exponent between 1e-4 and 1e7.
std::string FormatNumber(double value);

/// "2026-01-31T12:00:00Z"
std::string UtcTimestamp();
/// Seconds on the monotonic clock.
double MonotonicSeconds();
/// 32 random hexadecimal digits.
std::string RandomUid();

}  // namespace assay
