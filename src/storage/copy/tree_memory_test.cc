// A tree of so many objects that nobody may hold them all. ASSAY_TREE_KEYS=10000000 does that many.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "storage/copy/copy_tree.h"
#include "storage/decorator/forwarding_store.h"
#include "storage/memory/memory_store.h"

namespace assay::storage {
namespace {

constexpr int64_t kUsualKeys = 100'000;
constexpr int64_t kMostBytes = int64_t{200} << 20;

// The allocators of sanitizers hold freed memory back, which says nothing of what is needed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kFreedMemoryIsGiven = false;
#elif defined(__has_feature)
constexpr bool kFreedMemoryIsGiven = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
constexpr bool kFreedMemoryIsGiven = true;
#endif

int64_t Keys() {
  const char* asked = std::getenv("ASSAY_TREE_KEYS");
  return asked == nullptr ? kUsualKeys : std::atoll(asked);
}

/// Holds objects that are numbers, one byte each, as far as anybody asks; remembers none.
class EndlessStore final : public ForwardingStore {
 public:
  /// Every `step`-th number below `end` is there.
  EndlessStore(int64_t end, int64_t step)
      : ForwardingStore(std::make_shared<MemoryStore>("endless")), end_(end), step_(step) {}

  Result<ListPage> List(const ListOptions& options) override {
    ListPage page;
    const std::string& behind = options.page_token.empty() ? options.start_after : options.page_token;
    int64_t number = FirstFrom(options.prefix, behind);
    for (; number < end_ && std::ssize(page.objects) < options.max_keys; number += step_) {
      std::string key = options.prefix + NameOf(number);
      if (!options.end_before.empty() && key >= options.end_before) {
        return page;
      }
      page.objects.push_back({.key = std::move(key), .size = 1, .etag = "0123456789abcdef0123456789abcdef"});
    }
    if (number < end_) {
      page.next_page_token = page.objects.back().key;
    }
    return page;
  }
  Result<std::optional<ObjectInfo>> Stat(const std::string& key, CancelFlag cancel = nullptr) override {
    return std::optional(ObjectInfo{.key = key, .size = 1, .etag = "e"});
  }
  Result<ObjectInfo> ReadWhole(const std::string& key, const std::function<MutableBytes(int64_t size)>& allocate,
                               const ReadOptions&) override {
    allocate(1)[0] = std::byte{'x'};
    return ObjectInfo{.key = key, .size = 1, .etag = "e"};
  }
  Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes>, const WriteOptions&) override {
    ++written;
    return ObjectInfo{.key = key, .size = 1, .etag = "e"};
  }
  std::vector<Status> RemoveMany(std::span<const std::string> keys, CancelFlag cancel = nullptr) override {
    removed += std::ssize(keys);
    return std::vector<Status>(keys.size());
  }

  std::atomic<int64_t> written = 0;
  std::atomic<int64_t> removed = 0;

 private:
  static std::string NameOf(int64_t number) { return fmt::format("some-folder/another/object-{:012}", number); }
  /// The first number whose key lies behind `behind`.
  int64_t FirstFrom(const std::string& prefix, const std::string& behind) const {
    int64_t low = 0;
    for (int64_t high = end_ / step_ + 1; low < high;) {
      const int64_t middle = low + (high - low) / 2;
      if (prefix + NameOf(middle * step_) <= behind) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low * step_;
  }

  const int64_t end_;
  const int64_t step_;
};

class Counter final : public TreeCopyListener {
 public:
  void OnPlan(int64_t objects, int64_t, bool) override { planned = objects; }
  void OnBytes(int64_t) override {}
  void OnObject(const TreeCopyEvent& event) override { ++outcomes[static_cast<size_t>(event.outcome)]; }
  int64_t Of(TreeCopyEvent::Outcome outcome) const { return outcomes[static_cast<size_t>(outcome)]; }

  int64_t planned = 0;
  std::array<int64_t, 6> outcomes{};
};

int64_t StatusBytes(const std::string& name) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name + ":")) {
      return std::atoll(line.c_str() + name.size() + 1) << 10;
    }
  }
  return -1;
}

/// What `work` needs beyond what is in use before it.
template <typename Work>
int64_t PeakBytesBeyond(const Work& work) {
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins anew
  const int64_t before = StatusBytes("VmRSS");
  work();
  return StatusBytes("VmHWM") - before;
}

TEST(TreeMemory, DoesNotGrowWithTheNumberOfObjects) {
  using Outcome = TreeCopyEvent::Outcome;
  const int64_t keys = Keys();
  // Of twelve numbers the source has six and the target four, two of which are the source's as well.
  EndlessStore source(keys * 2, 2);
  EndlessStore target(keys * 2, 3);
  TreeCopyOptions options;
  options.remove_others = true;
  options.comparison = Comparison::kSize;
  Counter counter;
  const int64_t beyond = PeakBytesBeyond([&] {
    const Status status = CopyTree({&source, "from/"}, {&target, "to/"}, options, counter);
    ASSERT_TRUE(status.ok()) << status.message();
  });
  const int64_t both = (keys * 2 + 5) / 6;
  EXPECT_EQ(counter.planned, keys);
  EXPECT_EQ(counter.Of(Outcome::kSkipped), both);
  EXPECT_EQ(counter.Of(Outcome::kCopied), keys - both);
  EXPECT_EQ(source.written, 0);
  EXPECT_EQ(target.written, keys - both);
  EXPECT_EQ(target.removed, (keys * 2 + 2) / 3 - both);
  if (kFreedMemoryIsGiven) {
    EXPECT_LT(beyond, kMostBytes) << "of " << keys << " objects";
  }
  RecordProperty("keys", std::to_string(keys));
  RecordProperty("peak_mib_beyond", std::to_string(beyond >> 20));
  if (keys != kUsualKeys) {
    fmt::print("{} objects of the source: {} MiB\n", keys, beyond >> 20);
  }
}

}  // namespace
}  // namespace assay::storage
