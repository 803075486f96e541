#include "report/format.h"

#include <fmt/format.h>

#include <cmath>

namespace assay::report {
namespace {

bool IsContinuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// The byte offset at which character `index` starts; the size of the text when it is shorter.
size_t CharOffset(std::string_view text, size_t index) {
  size_t seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsContinuation(text[i]) && seen++ == index) {
      return i;
    }
  }
  return text.size();
}

std::string GroupThousands(std::string digits) {
  const size_t first = digits.front() == '-' ? 1 : 0;
  for (size_t end = digits.size(); end > first + 3;) {
    end -= 3;
    digits.insert(end, 1, ',');
  }
  return digits;
}

}  // namespace

std::string Readable(double value) {
  if (!std::isfinite(value)) {
    return "n/a";
  }
  const double magnitude = std::abs(value);
  if (magnitude >= 1e15) {
    return fmt::format("{:.3g}", value);
  }
  if (magnitude >= 999.5) {
    return Whole(value);
  }
  if (magnitude < 0.9995) {
    return magnitude == 0 ? "0" : fmt::format("{:#.3g}", value);
  }
  return fmt::format("{:.{}f}", value, magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0);
}

std::string Whole(double value) {
  return GroupThousands(fmt::format("{:.0f}", value));
}

std::string ReadableRatio(double ratio) {
  return fmt::format("{}\u00d7", Readable(ratio));
}

std::string Probability(double p) {
  return p < 0.001 ? "p < 0.001" : fmt::format("p = {:.2g}", p);
}

std::string Count(size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", Whole(static_cast<double>(n)), noun, n == 1 ? "" : "s");
}

size_t CountChars(std::string_view text) {
  size_t count = 0;
  for (char byte : text) {
    count += IsContinuation(byte) ? 0 : 1;
  }
  return count;
}

std::string EllipsizeMiddle(std::string_view text, size_t max_chars) {
  const size_t chars = CountChars(text);
  if (chars <= max_chars || max_chars < 3) {
    return std::string(text);
  }
  const size_t tail = (max_chars - 1) / 2;
  const size_t head = max_chars - 1 - tail;
  return fmt::format("{}\u2026{}", text.substr(0, CharOffset(text, head)), text.substr(CharOffset(text, chars - tail)));
}

std::string Shorten(std::string_view text, size_t max_chars) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (CountChars(line) <= max_chars) {
    return std::string(line);
  }
  return fmt::format("{}\u2026", line.substr(0, CharOffset(line, max_chars - 1)));
}

std::string Capitalized(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  }
  return text;
}

}  // namespace assay::report
