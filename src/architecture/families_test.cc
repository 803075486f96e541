#include "architecture/families.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace assay::architecture {
namespace {

/// What the rows of the first table below `title` begin with.
std::vector<std::string> RowsBelow(const std::string& page, const std::string& title) {
  constexpr std::string_view kRow = "\n| `";
  const size_t rows = page.find("\n| ---", page.find(title));
  if (rows == std::string::npos) {
    return {};
  }
  const std::string_view table = std::string_view(page).substr(rows, page.find("\n\n", rows) - rows);
  std::vector<std::string> names;
  for (size_t row = table.find(kRow); row != std::string_view::npos; row = table.find(kRow, row + 1)) {
    const size_t name = row + kRow.size();
    names.emplace_back(table.substr(name, table.find('`', name) - name));
  }
  return names;
}

TEST(FamiliesTest, ThePageHasARowForEach) {
  const Result<std::string> page = ReadFile(ASSAY_SOURCE_DIR "/docs/models.md");
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_THAT(RowsBelow(*page, "\n## Families\n"), ::testing::UnorderedElementsAreArray(FamilyNames()));
}

TEST(FamiliesTest, AreFoundByTheNameInAConfig) {
  for (const ModelFamily& family : Families()) {
    EXPECT_EQ(FindFamily(family.model_type), &family);
  }
  EXPECT_EQ(FindFamily("opt"), nullptr);
}

}  // namespace
}  // namespace assay::architecture
