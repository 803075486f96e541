#include "base/terminal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace assay {
namespace {

TEST(DisplayWidthTest, CountsColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("日本"), 4);
  EXPECT_EQ(DisplayWidth("e\xCC\x81"), 1);
  EXPECT_EQ(DisplayWidth("\xff\xfe"), 2);
  EXPECT_EQ(TruncateToWidth("日本語", 5), "日本");
  EXPECT_EQ(TruncateToWidth("abc", 10), "abc");
  EXPECT_EQ(TruncateToWidth("abc", 0), "");
}

TEST(EscapedTest, ShowsWhatWouldMoveTheCursor) {
  EXPECT_EQ(Escaped("a\nb\r\t\x1b[2J\x7f\\n"), "a\\nb\\r\\t\\x1b[2J\\x7f\\n");
  EXPECT_EQ(Escaped(std::string("a\0b\xff", 4)), "a\\x00b\\xff");
  EXPECT_EQ(Escaped("\xC2\x9B"
                    "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(Escaped("日本 é"), "日本 é");
  EXPECT_EQ(Escaped(Status::NotFound("no 'a\nb'")).message(), "no 'a\\nb'");
  EXPECT_EQ(Escaped(Status::NotFound("no 'a\nb'")).code(), ErrorCode::kNotFound);
}

TEST(TextTableTest, AlignsNumbersRightAndTextLeft) {
  TextTable table({"model", "batch", "memory"});
  table.AddRow({"smollm2-135m", "4", "1.50 GiB"});
  table.AddRow({"é日", "128", "-"});
  table.AddRow({"x"});
  EXPECT_EQ(table.Render(),
            "model         batch    memory\n"
            "------------  -----  --------\n"
            "smollm2-135m      4  1.50 GiB\n"
            "é日             128         -\n"
            "x\n");
}

TEST(TextTableTest, DatesAndNamesAreNoNumbers) {
  TextTable table({"what", "long header"});
  table.AddRow({"7b-llama", "2026-01-31T12:00:00Z"});
  EXPECT_EQ(table.Render(),
            "what      long header\n"
            "--------  --------------------\n"
            "7b-llama  2026-01-31T12:00:00Z\n");
}

TEST(TextTableTest, ARowStaysOnItsLine) {
  TextTable table({"a", "b"});
  table.AddRow({"x\ny", "z", "surplus"});
  EXPECT_EQ(table.Render(), "a    b\n---  -\nx y  z\n");
}

std::string Contents(std::FILE* file) {
  std::fflush(file);
  std::rewind(file);
  std::array<char, 4096> text;
  return {text.data(), std::fread(text.data(), 1, text.size(), file)};
}

TEST(StatusLineTest, IsPlainLinesOutsideATerminal) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  {
    StatusLine line(file);
    line.Update("step 1");
    line.PrintAbove("note");
    line.Update("step 2");
  }
  EXPECT_EQ(Contents(file), "step 1\nnote\nstep 2\n");
  std::fclose(file);
}

// A pseudo-terminal: what is written to `terminal` can be read from the descriptor `controller`.
struct PseudoTerminal {
  int controller = -1;
  std::FILE* terminal = nullptr;
};

PseudoTerminal OpenPseudoTerminal(unsigned short columns) {
  PseudoTerminal pty;
  pty.controller = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (pty.controller < 0 || ::grantpt(pty.controller) != 0 || ::unlockpt(pty.controller) != 0) {
    return pty;
  }
  pty.terminal = std::fopen(::ptsname(pty.controller), "w");
  const winsize size = {24, columns, 0, 0};
  ::ioctl(pty.controller, TIOCSWINSZ, &size);
  return pty;
}

std::string ReadToEnd(int fd) {
  std::string text;
  std::array<char, 256> block;
  for (ssize_t n = 0; (n = ::read(fd, block.data(), block.size())) > 0;) {
    text.append(block.data(), static_cast<size_t>(n));
  }
  return text;
}

TEST(StatusLineTest, RewritesAndTruncatesOnATerminal) {
  ::setenv("TERM", "xterm", 1);
  const PseudoTerminal pty = OpenPseudoTerminal(12);
  if (pty.terminal == nullptr) {
    GTEST_SKIP() << "no pseudo-terminal can be opened here";
  }
  EXPECT_TRUE(IsTerminal(pty.terminal));
  EXPECT_EQ(TerminalWidth(pty.terminal), 12);
  {
    StatusLine line(pty.terminal);
    line.Update("a status that is too long");
    line.PrintAbove("note");
  }
  std::fclose(pty.terminal);
  EXPECT_EQ(ReadToEnd(pty.controller), "\r\033[Ka status th\r\033[Knote\r\na status th\r\n");
  ::close(pty.controller);
}

TEST(TerminalTest, WidthOfWhatIsNoTerminal) {
  std::FILE* file = std::tmpfile();
  ::setenv("COLUMNS", "72", 1);
  EXPECT_EQ(TerminalWidth(file), 72);
  ::unsetenv("COLUMNS");
  EXPECT_EQ(TerminalWidth(file), 100);
  EXPECT_FALSE(IsTerminal(file));
  std::fclose(file);
}

}  // namespace
}  // namespace assay
