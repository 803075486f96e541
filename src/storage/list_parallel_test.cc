#include "storage/list_parallel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "storage/decorator/forwarding_store.h"
#include "storage/memory/memory_store.h"

namespace assay::storage {
namespace {

std::bitset<128> Alphabet(std::string_view bytes) {
  std::bitset<128> alphabet;
  for (const char byte : bytes) {
    alphabet.set(static_cast<size_t>(byte));
  }
  return alphabet;
}

TEST(KeyBetween, HalvesWhatLiesBetween) {
  const auto digits = Alphabet("0123456789");
  EXPECT_EQ(KeyBetween("a/10", "a/30", digits)->substr(0, 3), "a/2");
  EXPECT_EQ(KeyBetween("", "", digits)->substr(0, 1), "4");
  EXPECT_EQ(KeyBetween("5", "5", digits), std::nullopt);
  EXPECT_EQ(KeyBetween("a", "b", {}), std::nullopt);
}

TEST(KeyBetween, StaysBetweenAnyTwoKeys) {
  std::mt19937 random(3);
  const auto alphabet = Alphabet("abc/09");
  const auto make = [&] {
    std::string key;
    while (random() % 5 != 0) {
      key += "abcxyz/09 \xC3"[random() % 11];
    }
    return key;
  };
  int found = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string low = make();
    const std::string high = make();
    const auto middle = KeyBetween(low, high, alphabet);
    if (middle.has_value()) {
      ++found;
      ASSERT_GT(*middle, low);
      ASSERT_TRUE(high.empty() || *middle < high);
    }
  }
  EXPECT_GT(found, 2000);
}

// Counts how many listings run at the same time.
class SlowStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ListPage> List(const ListOptions& options) override {
    const int running = ++running_;
    most_ = std::max(most_.load(), running);
    ++requests_;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    auto page = ForwardingStore::List(options);
    --running_;
    if (fail_at_ > 0 && requests_ >= fail_at_) {
      return Status::Io("cannot list: the store is down");
    }
    return page;
  }
  std::atomic<int> running_ = 0;
  std::atomic<int> most_ = 0;
  std::atomic<int> requests_ = 0;
  int fail_at_ = 0;
};

std::vector<std::string> Fill(MemoryStore& store, const std::function<std::string(int)>& name, int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) {
    keys.push_back(name(i));
    EXPECT_TRUE(store.Write(keys.back(), {}, {}).ok());
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::vector<std::string> ListAll(ObjectStore& store, const ListOptions& options, int workers) {
  std::vector<std::string> keys;
  const Status status = ListInParallel(store, options, workers, [&](ListPage page) {
    for (const ObjectInfo& info : page.objects) {
      keys.push_back(info.key);
    }
    return Status::Ok();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return keys;
}

TEST(ListInParallel, GivesTheOrderOfASequentialListing) {
  std::mt19937 random(5);
  const std::vector<std::function<std::string(int)>> namings = {
      [](int i) { return "train/shard-" + std::to_string(100000 + i) + ".tar"; },
      [&](int) { return "u/" + std::to_string(random()); },
      [](int i) { return (i % 7 == 0 ? "a/" : "\xC3\xA9t\xC3\xA9/") + std::to_string(i); },
      [](int i) { return std::string(static_cast<size_t>(1 + i % 900), 'x') + std::to_string(i); }};
  for (const auto& naming : namings) {
    auto memory = std::make_shared<MemoryStore>("test");
    const auto keys = Fill(*memory, naming, 3000);
    SlowStore store(memory);
    EXPECT_EQ(ListAll(store, {.max_keys = 20}, 8), keys);
    // Keys that differ in their length alone have no middle that could be guessed.
    EXPECT_GT(store.most_, keys.front()[0] == 'x' ? 0 : 2) << keys.front();
    // 150 pages, and what bad guesses cost.
    EXPECT_LT(store.requests_, 400) << keys.front();
  }
}

TEST(ListInParallel, KeepsToBounds) {
  auto memory = std::make_shared<MemoryStore>("test");
  const auto keys = Fill(*memory, [](int i) { return "k/" + std::to_string(10000 + i); }, 2000);
  const auto listed =
      ListAll(*memory, {.prefix = "k/1", .start_after = "k/10499", .end_before = "k/11500", .max_keys = 7}, 5);
  EXPECT_EQ(listed, std::vector<std::string>(keys.begin() + 500, keys.begin() + 1500));
}

TEST(ListInParallel, AsksOnceForOnePage) {
  auto memory = std::make_shared<MemoryStore>("test");
  Fill(*memory, [](int i) { return std::to_string(i); }, 10);
  SlowStore store(memory);
  EXPECT_EQ(ListAll(store, {}, 8).size(), 10u);
  EXPECT_EQ(store.requests_, 1);
}

TEST(ListInParallel, PagesWaitInBoundedNumbers) {
  auto memory = std::make_shared<MemoryStore>("test");
  Fill(*memory, [](int i) { return std::to_string(100000 + i); }, 3000);
  SlowStore store(memory);
  // Beside the pages that wait: one on its way to each worker, some of the first range, guesses that hit nothing.
  constexpr int kPages = 300;
  constexpr int kWorkers = 8;
  int given = 0;
  // The first page comes alone; the second is not taken before the store has been asked for all there is, or for
  // nothing more in a while.
  const auto slow = [&](const ListPage&) {
    int before = 0;
    while (given == 1 && before < store.requests_ && store.requests_ < kPages) {
      before = store.requests_;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(given != 1 || store.requests_ <= kMostWaitingPages + 4 * kWorkers) << store.requests_;
    ++given;
    return Status::Ok();
  };
  EXPECT_TRUE(ListInParallel(store, {.max_keys = 10}, kWorkers, slow).ok());
  EXPECT_GE(given, kPages);
}

TEST(ListInParallel, EndsOnTheFirstError) {
  auto memory = std::make_shared<MemoryStore>("test");
  Fill(*memory, [](int i) { return std::to_string(i); }, 1000);
  SlowStore store(memory);
  store.fail_at_ = 5;
  const auto ignore = [](ListPage) { return Status::Ok(); };
  EXPECT_EQ(ListInParallel(store, {.max_keys = 10}, 4, ignore).code(), ErrorCode::kIo);
  const auto refuse = [](ListPage) { return Status::Aborted("enough"); };
  store.fail_at_ = 0;
  EXPECT_EQ(ListInParallel(store, {.max_keys = 10}, 4, refuse).code(), ErrorCode::kAborted);
}

// Knows the largest page that was asked for.
class CountingLists final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Result<ListPage> List(const ListOptions& options) override {
    largest_page = std::max(largest_page.load(), options.max_keys);
    return ForwardingStore::List(options);
  }
  std::atomic<int> largest_page = 0;
};

TEST(ListInParallel, WithoutAnOrderGivesEveryKeyOnce) {
  const auto store = std::make_shared<MemoryStore>("m");
  std::vector<std::string> expected;
  for (int i = 0; i < 20'000; ++i) {
    expected.push_back("folder/" + std::to_string(1'000'000 + i));
    ASSERT_TRUE(store->Write(expected.back(), {}, {}).ok());
  }
  std::vector<std::string> keys;
  ListOptions list;
  list.prefix = "folder/";
  list.max_keys = 100;
  const Status status = ListInParallel(*store, list, ParallelListOptions{.ordered = false}, [&](ListPage page) {
    for (const ObjectInfo& info : page.objects) {
      keys.push_back(info.key);
    }
    return Status::Ok();
  });
  ASSERT_TRUE(status.ok()) << status.message();
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys, expected);
}

TEST(ListInParallel, EndsAfterAsManyAsWereAskedFor) {
  const auto inner = std::make_shared<MemoryStore>("m");
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(inner->Write("k" + std::to_string(10'000 + i), {}, {}).ok());
  }
  for (const bool ordered : {true, false}) {
    for (const int64_t most : {1, 7, 999, 1000, 1001, 2500, 5000, 6000}) {
      CountingLists store(inner);
      int64_t given = 0;
      const ParallelListOptions parallel = {.ordered = ordered, .most_objects = most};
      const Status status = ListInParallel(store, {}, parallel, [&](ListPage page) {
        given += std::ssize(page.objects);
        return Status::Ok();
      });
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(given, std::min<int64_t>(most, 5000));
      EXPECT_LE(store.largest_page, most);
    }
  }
}

TEST(ListInParallel, AnErrorOfTheSinkIsNotTakenForItsEnd) {
  MemoryStore store("m");
  ASSERT_TRUE(store.Write("k", {}, {}).ok());
  const Status status = ListInParallel(store, {}, ParallelListOptions{.most_objects = 2},
                                       [](const ListPage&) { return Status::Aborted("interrupted"); });
  EXPECT_EQ(status.code(), ErrorCode::kAborted);
}

}  // namespace
}  // namespace assay::storage
