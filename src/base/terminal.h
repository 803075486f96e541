// Text for people: aligned tables and a status line that rewrites itself on a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay {

bool IsTerminal(std::FILE* stream);
int TerminalWidth(std::FILE* stream);  ///< 100 when unknown

/// `text` with spaces in place of control characters, newlines among them.
std::string OneLine(std::string text);

/// `text` as one line that shows what it holds: control characters (C0, DEL and C1) and bytes that are no UTF-8 as
/// "\n", "\t", "\r" or "\x1b". All else, a backslash too, stays as it is.
std::string Escaped(std::string_view text);
/// `status` with its message as such a line: for one that quotes what a file or a server holds.
Status Escaped(const Status& status);

/// Columns that UTF-8 `text` takes on a terminal: 2 for wide characters, 0 for combining ones.
int DisplayWidth(std::string_view text);
/// The longest beginning of `text` that fits in `width` columns.
std::string TruncateToWidth(std::string_view text, int width);

/// A table with a header row. A column whose cells are all numbers (with or without a unit) aligns right; an empty cell
/// and "-" count as either. Widths count display columns of UTF-8.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  /// Missing cells are empty, surplus ones are dropped; control characters become spaces.
  void AddRow(std::vector<std::string> cells);
  /// Lines end in newlines. Columns are two spaces apart; a rule stands under the header.
  std::string Render() const;

 private:
  bool IsNumericColumn(size_t column) const;

  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

/// Progress on `stream`: on a terminal one line that rewrites itself, cut to the terminal's width; elsewhere a plain
/// line per update.
class StatusLine {
 public:
  explicit StatusLine(std::FILE* stream);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine();  ///< ends the live line with a newline
  void Update(std::string_view text);
  /// Prints a line that stays, above the live line.
  void PrintAbove(std::string_view text);
  /// Takes the live line off, for who prints on another stream of the same terminal; the next Update() shows it again.
  void Clear();

 private:
  std::FILE* stream_;
  bool live_;
  std::string shown_;
};

}  // namespace assay
