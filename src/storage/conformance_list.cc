// Conformance: listings, held against a model.
#include <algorithm>
#include <random>
#include <set>

#include "storage/conformance.h"
#include "storage/key_cursor.h"
#include "storage/list_parallel.h"

namespace assay::storage {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_P(ObjectStoreConformance, ListsNothingWhereNothingIs) {
  EXPECT_THAT(Keys(), IsEmpty());
  Put("a", "1");
  EXPECT_THAT(ListAll({.prefix = "b"}).keys, IsEmpty());
  EXPECT_THAT(ListAll({.prefix = "a/"}).keys, IsEmpty());
}

TEST_P(ObjectStoreConformance, ListsInByteOrderWithSizeAndEtag) {
  const std::vector<std::string> keys = {"a", "a.b",  "a/",    "a/b",      "a0",
                                         "b", "b/a!", "b/a/c", "\xC3\xA9", "\xF0\x9F\x98\x80"};
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) {
    Put(*key, *key);
  }
  const auto page = store().List({});
  ASSERT_THAT(page.status(), IsOk());
  ASSERT_EQ(page->objects.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(page->objects[i].key, keys[i]);
    EXPECT_EQ(page->objects[i].size, static_cast<int64_t>(keys[i].size()));
    const auto info = store().Stat(keys[i]);
    ASSERT_TRUE(info.ok() && info->has_value());
    EXPECT_EQ(page->objects[i].etag, (*info)->etag);
    EXPECT_NEAR(page->objects[i].modified, (*info)->modified, 1.0);
  }
  EXPECT_EQ(page->next_page_token, "");
}

TEST_P(ObjectStoreConformance, ListsKeysAlone) {
  for (const std::string key : {"a/1", "b", "c/2"}) {
    Put(key, "x");
  }
  EXPECT_THAT(ListAll({.keys_only = true}).keys, ElementsAre("a/1", "b", "c/2"));
  const auto top = ListAll({.delimiter = "/", .max_keys = 1, .keys_only = true});
  EXPECT_THAT(top.keys, ElementsAre("b"));
  EXPECT_THAT(top.prefixes, ElementsAre("a/", "c/"));
}

TEST_P(ObjectStoreConformance, RollsUpAtTheDelimiter) {
  for (const std::string key : {"a/1", "a/2", "a/b/3", "b", "c/", "c/4/5", "d.x"}) {
    Put(key, "x");
  }
  const auto top = ListAll({.delimiter = "/"});
  EXPECT_THAT(top.keys, ElementsAre("b", "d.x"));
  EXPECT_THAT(top.prefixes, ElementsAre("a/", "c/"));
  const auto below = ListAll({.prefix = "a/", .delimiter = "/"});
  EXPECT_THAT(below.keys, ElementsAre("a/1", "a/2"));
  EXPECT_THAT(below.prefixes, ElementsAre("a/b/"));
  const auto partial = ListAll({.prefix = "c", .delimiter = "/"});
  EXPECT_THAT(partial.keys, IsEmpty());
  EXPECT_THAT(partial.prefixes, ElementsAre("c/"));
  EXPECT_THAT(ListAll({.prefix = "c/", .delimiter = "/"}).keys, ElementsAre("c/"));
}

// What the options ask for, of keys held in a set.
struct Model {
  std::vector<std::string> keys;
  std::vector<std::string> prefixes;
};

Model Expect(const std::set<std::string>& all, const ListOptions& options) {
  Model model;
  for (const std::string& key : all) {
    if (!key.starts_with(options.prefix) || key <= options.start_after ||
        (!options.end_before.empty() && key >= options.end_before)) {
      continue;
    }
    const size_t at =
        options.delimiter.empty() ? std::string::npos : key.find(options.delimiter, options.prefix.size());
    if (at == std::string::npos) {
      model.keys.push_back(key);
    } else if (const std::string rolled = key.substr(0, at + 1);
               model.prefixes.empty() || model.prefixes.back() != rolled) {
      model.prefixes.push_back(rolled);
    }
  }
  return model;
}

class KeyMaker {
 public:
  std::string Make(size_t longest) {
    std::string key;
    for (size_t size = 1 + random_() % longest; key.size() < size;) {
      key += kAlphabet[random_() % kAlphabet.size()];
    }
    // A slash at either end or doubled is another test's matter.
    return "k" + key + "k";
  }
  uint64_t Next() { return random_(); }

 private:
  static constexpr std::string_view kAlphabet = "ab/./+ z";
  std::mt19937 random_{11};
};

TEST_P(ObjectStoreConformance, ListsWhatAModelLists) {
  if (!GetParam().lists_truly) {
    GTEST_SKIP() << "its keys begin alike";
  }
  KeyMaker maker;
  std::set<std::string> all;
  while (all.size() < 80) {
    const std::string key = maker.Make(8);
    if (key.find("//") == std::string::npos && key.find("/.") == std::string::npos) {
      all.insert(key);
    }
  }
  for (const std::string& key : all) {
    Put(key, "x");
  }
  for (int i = 0; i < 60; ++i) {
    ListOptions options = {.max_keys = static_cast<int>(1 + maker.Next() % 9)};
    if (maker.Next() % 2 == 0) {
      options.prefix = "k" + maker.Make(2).substr(1, 1 + maker.Next() % 2);
    }
    if (maker.Next() % 3 == 0) {
      options.start_after = maker.Make(4);
    }
    if (maker.Next() % 3 == 0) {
      options.end_before = maker.Make(4);
    }
    if (maker.Next() % 2 == 0) {
      options.delimiter = "/";
      options.max_keys = GetParam().counts_prefixes ? options.max_keys : 1000;
    }
    SCOPED_TRACE("prefix '" + options.prefix + "' delimiter '" + options.delimiter + "' after '" + options.start_after +
                 "' before '" + options.end_before + "' by " + std::to_string(options.max_keys));
    const Model expected = Expect(all, options);
    const Listing paged = ListAll(options);
    EXPECT_EQ(paged.keys, expected.keys);
    EXPECT_EQ(paged.prefixes, expected.prefixes);
  }
}

TEST_P(ObjectStoreConformance, ListsInParallelWhatItListsInOrder) {
  std::vector<std::string> keys;
  std::vector<ObjectWrite> writes;
  for (int i = 0; i < 300; ++i) {
    keys.push_back((i % 3 == 0 ? "shards/part-" : "other/x") + std::to_string(i * 7919 % 1000));
  }
  for (const std::string& key : keys) {
    writes.push_back({key, {}});
  }
  EXPECT_THAT(store().WriteMany(writes, {}), testing::Each(IsOk()));
  std::sort(keys.begin(), keys.end());
  std::vector<std::string> listed;
  const Status status = ListInParallel(store(), {.max_keys = 10}, 6, [&](ListPage page) {
    for (const ObjectInfo& info : page.objects) {
      listed.push_back(info.key);
    }
    return Status::Ok();
  });
  EXPECT_THAT(status, IsOk());
  EXPECT_EQ(listed, keys);
}

}  // namespace
}  // namespace assay::storage
