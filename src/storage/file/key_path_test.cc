#include "storage/file/key_path.h"

#include <gmock/gmock.h>

#include <random>

#include "base/text.h"

namespace assay::storage {
namespace {

// The key that a walk over the parts of `path` puts together.
std::string KeyOf(const std::string& path) {
  std::string key;
  for (const std::string& name : Split(path, '/')) {
    const EntryName entry = DecodeName(name);
    key += entry.text;
    if (entry.kind != EntryName::Kind::kContinued) {
      key += '/';
    }
  }
  key.pop_back();
  return key;
}

TEST(KeyPath, LeavesOrdinaryKeysAsTheyAre) {
  for (const std::string key :
       {"model.bin", "runs/7/a b+c=d&e.bin", "år/日本/ß", "100%", "50% off/.hidden", "%zz", "a.assay"}) {
    EXPECT_EQ(PathOfKey(key), key);
  }
}

TEST(KeyPath, EscapesWhatCannotBeAFileName) {
  EXPECT_EQ(PathOfKey("."), "%2E");
  EXPECT_EQ(PathOfKey("a/../b"), "a/%2E%2E/b");
  EXPECT_EQ(PathOfKey("a//b"), "a/%e/b");
  EXPECT_EQ(PathOfKey("/etc/passwd"), "%e/etc/passwd");
  EXPECT_EQ(PathOfKey("a/"), "a/%e");
  EXPECT_EQ(PathOfKey(".assay/uploads"), "%2Eassay/uploads");
  EXPECT_EQ(PathOfKey("x/.assay"), "x/.assay");
  EXPECT_EQ(PathOfKey("a%20b"), "a%2520b");
  EXPECT_EQ(PathOfKey("%e"), "%25e");
  EXPECT_EQ(PathOfKey("a%o"), "a%25o");
}

TEST(KeyPath, CutsLongPartsBetweenEscapes) {
  const std::string path = PathOfKey(std::string(239, 'x') + "%41" + std::string(300, 'y'));
  for (const std::string& name : Split(path, '/')) {
    EXPECT_LE(name.size(), 242u);
  }
  EXPECT_EQ(path.substr(0, 242), std::string(239, 'x') + "%l/");
  EXPECT_EQ(KeyOf(path), std::string(239, 'x') + "%41" + std::string(300, 'y'));
}

TEST(KeyPath, IsReversibleAndStaysBelowTheRoot) {
  constexpr std::string_view kAlphabet = "%%%%//..eol2E5A\xC3\xA9 ";
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string key;
    const size_t size = 1 + random() % (i % 10 == 0 ? 1024 : 12);
    while (key.size() < size) {
      key += kAlphabet[random() % kAlphabet.size()];
    }
    const std::string path = PathOfKey(key);
    ASSERT_EQ(KeyOf(path), key) << path;
    for (const std::string& name : Split(path, '/')) {
      ASSERT_THAT(name, testing::AllOf(testing::Ne(""), testing::Ne("."), testing::Ne(".."))) << key;
      ASSERT_LE(name.size(), 242u);
    }
  }
}

TEST(KeyPath, MarksObjectsBesideFolders) {
  const EntryName entry = DecodeName("a%%o");
  EXPECT_EQ(entry.text, "a%");
  EXPECT_EQ(entry.kind, EntryName::Kind::kBesideFolder);
  EXPECT_EQ(DecodeName("%e%o").text, "");
  EXPECT_EQ(PathBesideFolder("a/b"), "a/b%o");
}

}  // namespace
}  // namespace assay::storage
