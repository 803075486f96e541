// Numbers and names as people read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::report {

/// Three significant digits, whole numbers with thousands separators from 1,000 on: 0.0123, 4.57, 613, 12,346.
/// Non-finite values become "n/a".
std::string Readable(double value);

/// Rounded, with thousands separators: 12,346.
std::string Whole(double value);

/// "1.31x" with the multiplication sign: how many times something is something else.
std::string ReadableRatio(double ratio);

/// "p = 0.034", "p < 0.001".
std::string Probability(double p);

/// "1 run", "3 runs".
std::string Count(size_t n, std::string_view noun);

/// At most `max_chars` Unicode characters, with an ellipsis in the middle of what was longer: both ends of a model
/// name or path tell it apart.
std::string EllipsizeMiddle(std::string_view text, size_t max_chars);

/// At most `max_chars` Unicode characters of the first line, cut at the end.
std::string Shorten(std::string_view text, size_t max_chars);

/// Number of Unicode characters of valid UTF-8.
size_t CountChars(std::string_view text);

/// `text` with its first ASCII letter in upper case.
std::string Capitalized(std::string text);

}  // namespace assay::report
