#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace assay {
namespace {

struct Glyph {
  size_t bytes;
  int columns;
};

// The code point at the start of `text`; a byte that is no UTF-8 counts as one column.
Glyph NextGlyph(std::string_view text) {
  utf8proc_int32_t code_point = 0;
  const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                  static_cast<utf8proc_ssize_t>(text.size()), &code_point);
  if (bytes <= 0) {
    return {1, 1};
  }
  return {static_cast<size_t>(bytes), utf8proc_charwidth(code_point)};
}

// A number, or numbers with short units: "12", "-3.5", "1,024", "75 %", "1.50 GiB", "1m15s", "8.2 +- 0.3".
bool LooksNumeric(std::string_view cell) {
  bool any_digit = false;
  size_t letters = 0;
  for (size_t i = 0; i < cell.size(); ++i) {
    const auto c = static_cast<unsigned char>(cell[i]);
    const bool sign = c == '-' || c == '+';
    if (std::isdigit(c)) {
      any_digit = true;
      letters = 0;
    } else if (!any_digit && !sign && c != '.') {
      return false;
    } else if (std::isalpha(c) || c >= 0x80) {
      if (++letters > 8) {
        return false;
      }
    } else if (std::strchr(" .,%/+-", c) == nullptr || (sign && letters > 0)) {
      return false;
    }
  }
  return any_digit;
}

std::string EscapesOf(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    shown += '\\';
    if (c == '\n' || c == '\t' || c == '\r') {
      shown += c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
    } else {
      shown += {'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return shown;
}

}  // namespace

std::string OneLine(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  return text;
}

std::string Escaped(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                    static_cast<utf8proc_ssize_t>(text.size()), &code_point);
    const auto taken = static_cast<size_t>(std::max<utf8proc_ssize_t>(bytes, 1));
    const bool control = bytes <= 0 || code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
    shown += control ? EscapesOf(text.substr(0, taken)) : std::string(text.substr(0, taken));
    text.remove_prefix(taken);
  }
  return shown;
}

Status Escaped(const Status& status) {
  return Status(status.code(), Escaped(status.message()));
}

bool IsTerminal(std::FILE* stream) {
  const char* kind = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && (kind == nullptr || std::strcmp(kind, "dumb") != 0);
}

int TerminalWidth(std::FILE* stream) {
  constexpr int kUnknown = 100;
  winsize size = {};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  const char* columns = std::getenv("COLUMNS");
  const int width = columns != nullptr ? std::atoi(columns) : 0;
  return width > 0 ? width : kUnknown;
}

int DisplayWidth(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Glyph glyph = NextGlyph(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return columns;
}

std::string TruncateToWidth(std::string_view text, int width) {
  size_t bytes = 0;
  int columns = 0;
  while (bytes < text.size()) {
    const Glyph glyph = NextGlyph(text.substr(bytes));
    if (columns + glyph.columns > width) {
      break;
    }
    columns += glyph.columns;
    bytes += glyph.bytes;
  }
  return std::string(text.substr(0, bytes));
}

TextTable::TextTable(std::vector<std::string> header) : header_(std::move(header)) {}

void TextTable::AddRow(std::vector<std::string> cells) {
  cells.resize(header_.size());
  std::transform(cells.begin(), cells.end(), cells.begin(), OneLine);
  rows_.push_back(std::move(cells));
}

bool TextTable::IsNumericColumn(size_t column) const {
  bool any = false;
  for (const auto& row : rows_) {
    const std::string& cell = row[column];
    if (cell.empty() || cell == "-") {
      continue;
    }
    if (!LooksNumeric(cell)) {
      return false;
    }
    any = true;
  }
  return any;
}

std::string TextTable::Render() const {
  const size_t columns = header_.size();
  std::vector<int> widths(columns);
  std::vector<bool> right(columns);
  for (size_t c = 0; c < columns; ++c) {
    widths[c] = DisplayWidth(header_[c]);
    for (const auto& row : rows_) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
    right[c] = IsNumericColumn(c);
  }
  std::string text;
  const auto append = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      const std::string padding(static_cast<size_t>(widths[c] - DisplayWidth(cells[c])), ' ');
      line += (c > 0 ? "  " : "") + (right[c] ? padding + cells[c] : cells[c] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  std::vector<std::string> rule;
  for (const int width : widths) {
    rule.emplace_back(static_cast<size_t>(width), '-');
  }
  append(header_);
  append(rule);
  std::for_each(rows_.begin(), rows_.end(), append);
  return text;
}

StatusLine::StatusLine(std::FILE* stream) : stream_(stream), live_(IsTerminal(stream)) {}

StatusLine::~StatusLine() {
  if (live_ && !shown_.empty()) {
    std::fputc('\n', stream_);
    std::fflush(stream_);
  }
}

void StatusLine::Update(std::string_view text) {
  if (!live_) {
    PrintAbove(text);
    return;
  }
  // The last column stays free: a line that fills it makes some terminals wrap.
  shown_ = TruncateToWidth(OneLine(std::string(text)), TerminalWidth(stream_) - 1);
  std::fprintf(stream_, "\r\033[K%s", shown_.c_str());
  std::fflush(stream_);
}

void StatusLine::PrintAbove(std::string_view text) {
  if (live_) {
    std::fputs("\r\033[K", stream_);
  }
  std::fprintf(stream_, "%.*s\n%s", static_cast<int>(text.size()), text.data(), shown_.c_str());
  std::fflush(stream_);
}

void StatusLine::Clear() {
  if (live_ && !shown_.empty()) {
    std::fputs("\r\033[K", stream_);
    std::fflush(stream_);
    shown_.clear();
  }
}

}  // namespace assay
