// Text for people: aligned tables and a status line that rewrites itself on a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

bool IsTerminal(std::FILE* stream);
int TerminalWidth(std::FILE* stream);  ///< 100 when unknown

/// A table with a header row. Numbers (and columns marked so) align right; widths count display columns of UTF-8.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  void AddRow(std::vector<std::string> cells);
  /// Lines end in newlines. Columns are two spaces apart; a rule stands under the header.
  std::string Render() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

/// Progress on `stream`: on a terminal one line that rewrites itself, elsewhere a plain line per update.
class StatusLine {
 public:
  explicit StatusLine(std::FILE* stream);
  ~StatusLine();  ///< ends the live line with a newline
  void Update(std::string_view text);
  /// Prints a line that stays, above the live line.
  void PrintAbove(std::string_view text);

 private:
  std::FILE* stream_;
  bool live_;
  bool dirty_ = false;
};

}  // namespace assay
