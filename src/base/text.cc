#include "base/text.h"

#include <sys/random.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/file_descriptor.h"

namespace assay {

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
    if (text.empty()) {
      parts.emplace_back();
    }
  }
  return parts;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c;
  }
  return lower;
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) {
      joined += separator;
    }
    joined += parts[i];
  }
  return joined;
}

std::string UtcTimestamp() {
  const std::time_t now = std::time(nullptr);
  std::tm calendar;
  ::gmtime_r(&now, &calendar);
  char text[sizeof "2026-01-31T12:00:00Z"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &calendar);
  return text;
}

double MonotonicSeconds() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::string RandomUid() {
  unsigned char bytes[16];
  size_t filled = 0;
  while (filled < sizeof bytes) {
    const ssize_t n = RetryOnSignal([&] { return ::getrandom(bytes + filled, sizeof bytes - filled, 0); });
    filled += n > 0 ? static_cast<size_t>(n) : 0;
  }
  std::string uid;
  for (const unsigned char byte : bytes) {
    uid += "0123456789abcdef"[byte >> 4];
    uid += "0123456789abcdef"[byte & 15];
  }
  return uid;
}

}  // namespace assay
