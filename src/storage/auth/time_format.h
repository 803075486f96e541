// The dates that signatures carry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay::storage {

/// "Sat, 31 Jan 2026 12:00:00 GMT" (RFC 9110 section 5.6.7) of seconds since 1970.
std::string HttpDate(double seconds);
/// Seconds since 1970; nothing for text of another form.
std::optional<double> ParseHttpDate(std::string_view text);
/// "2026-01-31T12:00:00Z", with fractions of a second and with an offset from UTC ("+01:00", "UTC") too.
std::optional<double> ParseIsoTime(std::string_view text);

/// "2026-01-31T12:00:00Z"
std::string IsoTime(double seconds);

/// Now, in seconds since 1970.
double WallClockSeconds();

}  // namespace assay::storage
