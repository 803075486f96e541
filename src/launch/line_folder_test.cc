#include "launch/line_folder.h"

#include <gmock/gmock.h>

#include <fstream>
#include <vector>

#include "base/files.h"

namespace assay::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LineFolderTest, TellsEachWholeLineOnce) {
  auto directory = TemporaryDirectory::Create("lines");
  ASSERT_TRUE(directory.ok());
  LineFolder folder(directory->path());
  const auto read = [&] {
    std::vector<std::string> lines;
    folder.Read([&](std::string_view line) { lines.emplace_back(line); });
    return lines;
  };
  const auto append = [&](const char* file, const char* text) {
    std::ofstream(directory->path() + "/" + file, std::ios::app) << text;
  };
  EXPECT_THAT(read(), IsEmpty());
  append("0.jsonl", "one\ntw");
  EXPECT_THAT(read(), ElementsAre("one"));
  EXPECT_THAT(read(), IsEmpty());
  append("0.jsonl", "o\n\nthree\n");
  EXPECT_THAT(read(), ElementsAre("two", "", "three"));
  append("1.jsonl", "another\n");
  EXPECT_THAT(read(), ElementsAre("another"));
}

TEST(LineFolderTest, AFolderThatIsNotThereHasNothing) {
  LineFolder folder("/nowhere/at/all");
  folder.Read([](std::string_view) { FAIL(); });
}

}  // namespace
}  // namespace assay::launch
