#include "measure/proc_file.h"

#include <unistd.h>

#include <charconv>

namespace assay::measure {
namespace {

// Cuts the next word off `text` and reads it as a number; 0 where there is none.
double NextNumber(std::string_view& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) {
    text = {};
    return 0;
  }
  text.remove_prefix(begin);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(std::min(text.size(), text.find_first_of(" \t\n")));
  return result.ec == std::errc() ? value : 0;
}

}  // namespace

std::string_view ProcFile::Read() {
  if (!fd_.valid()) {
    return {};
  }
  const ssize_t n = RetryOnSignal([&] { return ::pread(fd_.get(), buffer_.data(), buffer_.size(), 0); });
  return {buffer_.data(), n > 0 ? static_cast<size_t>(n) : 0};
}

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  // The name in parentheses may hold anything, parentheses too.
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string_view::npos || name_end + 3 > text.size()) {
    return std::nullopt;
  }
  static const double ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const double page_bytes = static_cast<double>(::sysconf(_SC_PAGESIZE));
  ProcessStat stat;
  stat.state = text[name_end + 2];
  text.remove_prefix(name_end + 3);
  std::array<double, 25> field = {};  // numbered as in man 5 proc
  for (size_t i = 4; i < field.size(); ++i) {
    field[i] = NextNumber(text);
  }
  stat.own_cpu_seconds = (field[14] + field[15]) / ticks_per_second;
  stat.children_cpu_seconds = (field[16] + field[17]) / ticks_per_second;
  stat.virtual_bytes = field[23];
  stat.rss_bytes = field[24] * page_bytes;
  return stat;
}

double NumberAfter(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') {
      std::string_view rest = text.substr(at + key.size());
      rest.remove_prefix(rest.starts_with(':') ? 1 : 0);
      return NextNumber(rest);
    }
  }
  return 0;
}

}  // namespace assay::measure
