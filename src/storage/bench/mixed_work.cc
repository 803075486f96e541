#include "storage/bench/mixed_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

constexpr int kKeysOfThread = 10;
constexpr int kKeysOfPage = 4;
constexpr int kListThreads = 2;
constexpr int64_t kSmallBytes = 64 << 10;
/// Wrong outcomes that are told word for word.
constexpr size_t kToldOutcomes = 8;

/// What may stand under a key: numbers of contents; kAbsent is none.
constexpr uint64_t kAbsent = 0;
using Allowed = std::set<uint64_t>;

/// A content that its number tells whole; a multiple of 100 is large.
class Contents {
 public:
  explicit Contents(int64_t large_bytes) : large_bytes_(large_bytes) {}

  std::string Make(uint64_t number) const {
    std::mt19937_64 random(number);
    const auto bytes = number % 100 == 0 ? static_cast<size_t>(large_bytes_) : random() % kSmallBytes + 8;
    std::string text(bytes, '\0');
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) {
      const uint64_t word = i == 0 ? number : random();
      text.replace(i, sizeof(word), reinterpret_cast<const char*>(&word), sizeof(word));
    }
    return text;
  }

 private:
  int64_t large_bytes_;
};

Bytes AsBytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

int64_t CountDifferences(const std::string& found, const std::string& expected) {
  const size_t both = std::min(found.size(), expected.size());
  int64_t count = 0;
  for (size_t i = 0; i < both; ++i) {
    count += found[i] != expected[i] ? 1 : 0;
  }
  return count;
}

/// "5 of 100 bytes differ, from byte 7 on", "90 bytes came, not 100": tells one flipped bit from another object.
std::string DifferenceOf(const std::string& found, const std::string& expected) {
  if (found.size() != expected.size()) {
    return fmt::format("{} bytes came, not {}", found.size(), expected.size());
  }
  const auto first = std::ranges::mismatch(found, expected).in1 - found.begin();
  return fmt::format("{} of {} bytes differ, from byte {} on", CountDifferences(found, expected), found.size(), first);
}

/// One thread's objects.
class Worker {
 public:
  Worker(ObjectStore& store, const MixedPlan& plan, int number)
      : store_(store),
        plan_(plan),
        contents_(plan.large_bytes),
        random_(plan.seed * 1000 + static_cast<uint64_t>(number)),
        prefix_(fmt::format("{}{}/", plan.prefix, number)),
        allowed_(kKeysOfThread, Allowed{kAbsent}) {}

  void Run(int64_t operations) {
    for (int64_t i = 0; i < operations && !IsCancelled(plan_.cancel); ++i) {
      const size_t slot = random_() % kKeysOfThread;
      switch (random_() % 14) {
        case 0:
        case 1:
        case 2:
          Put(slot);
          break;
        case 3:
          Remove(slot);
          break;
        case 4:
          Copy(slot);
          break;
        case 5:
          Stat(slot);
          break;
        case 6:
          List();
          break;
        case 7:
          Create(slot);
          break;
        case 8:
          Replace(slot);
          break;
        case 9:
          GetMany();
          break;
        default:
          Get(slot);
      }
    }
  }

  void CheckAll() {
    for (size_t slot = 0; slot < kKeysOfThread; ++slot) {
      Get(slot);
      CheckTruth(slot, true);
    }
  }

  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (size_t slot = 0; slot < kKeysOfThread; ++slot) {
      keys.push_back(Key(slot));
    }
    return keys;
  }
  const MixedResult& result() const { return result_; }

 private:
  std::string Key(size_t slot) const { return fmt::format("{}object {}", prefix_, slot); }

  void Count(const Status& status) {
    if (status.ok()) {
      ++result_.right;
      return;
    }
    ++result_.errors;
    result_.first_error = result_.first_error.empty() ? status.message() : result_.first_error;
    if (status.message().empty() || status.message().find('\n') != std::string::npos) {
      Wrong("an error that is not one line: '" + status.message() + "'");
    }
  }
  void Wrong(std::string what) {
    ++result_.wrong;
    if (result_.first_wrong.size() < kToldOutcomes) {
      result_.first_wrong.push_back(std::move(what));
    }
  }

  /// After a change: what it was meant to leave, and, where it failed, also what was there.
  void Changed(size_t slot, const Status& status, const Allowed& now, bool refusal_is_right = false) {
    const bool refused = status.code() == ErrorCode::kFailedPrecondition;
    Count(refused && refusal_is_right ? Status::Ok() : status);
    if (status.ok()) {
      allowed_[slot] = now;
    } else {
      allowed_[slot].insert(now.begin(), now.end());
    }
    CheckTruth(slot, refused);
  }

  /// `settled`: nothing that is still on its way can change it.
  void CheckTruth(size_t slot, bool settled) {
    if (plan_.truth == nullptr) {
      return;
    }
    const std::optional<std::string> text = plan_.truth(Key(slot));
    if (text ? !IsAllowed(slot, *text) : !allowed_[slot].contains(kAbsent)) {
      Wrong(fmt::format("{} {} in truth", store_.Uri(Key(slot)), text ? "holds what it should not" : "does not stand"));
    } else if (settled) {
      std::erase_if(allowed_[slot], [&](uint64_t number) {
        return text ? number == kAbsent || contents_.Make(number) != *text : number != kAbsent;
      });
    }
  }

  uint64_t NextNumber() { return (random_() | 1ULL << 40) / 100 * 100 + next_++ % 100; }

  Status Write(size_t slot, uint64_t number, const WriteCondition& condition) {
    const std::string content = contents_.Make(number);
    const Bytes bytes = AsBytes(content);
    WriteOptions options;
    options.condition = condition;
    options.cancel = plan_.cancel;
    return store_.Write(Key(slot), std::span(&bytes, 1), options).status();
  }

  void Put(size_t slot) {
    const uint64_t number = NextNumber();
    Changed(slot, Write(slot, number, {}), {number});
  }

  /// A refusal is right where something may be there.
  void Create(size_t slot) {
    if (!store_.capabilities().conditional_create) {
      return Put(slot);
    }
    const uint64_t number = NextNumber();
    const Status status = Write(slot, number, {.kind = WriteCondition::Kind::kAbsent});
    if (status.ok() && !allowed_[slot].contains(kAbsent)) {
      Wrong(store_.Uri(Key(slot)) + " was created though it was there");
    }
    Changed(slot, status, {number}, allowed_[slot] != Allowed{kAbsent});
  }

  /// By its etag, and by one that it does not have.
  void Replace(size_t slot) {
    const auto info = store_.capabilities().conditional_replace ? store_.Stat(Key(slot)) : std::optional<ObjectInfo>();
    if (!info.ok() || !info->has_value()) {
      return Put(slot);
    }
    const bool other = random_() % 2 == 0;
    const uint64_t number = NextNumber();
    const std::string etag = other ? "12345" : (*info)->etag;
    const Status status = Write(slot, number, {.kind = WriteCondition::Kind::kMatches, .etag = etag});
    if (status.ok() && other) {
      Wrong(store_.Uri(Key(slot)) + " was replaced though it has another etag");
    }
    Changed(slot, status, {number}, other);
  }

  void Remove(size_t slot) { Changed(slot, store_.Remove(Key(slot)), {kAbsent}); }

  void Copy(size_t slot) {
    const size_t to = (slot + 1) % kKeysOfThread;
    if (allowed_[slot].contains(kAbsent)) {
      return Stat(slot);
    }
    const WriteOptions options;
    Changed(to, store_.Copy(Key(slot), Key(to), options).status(), allowed_[slot]);
  }

  void Stat(size_t slot) {
    const auto info = store_.Stat(Key(slot));
    Count(info.status());
    if (info.ok() && !info->has_value() && !allowed_[slot].contains(kAbsent)) {
      Wrong(store_.Uri(Key(slot)) + " is missing");
    } else if (info.ok() && info->has_value() && allowed_[slot] == Allowed{kAbsent}) {
      Wrong(store_.Uri(Key(slot)) + " was removed and is there");
    }
  }

  /// Page by page, every key once and in order.
  void List() {
    ListOptions options;
    options.prefix = prefix_;
    options.max_keys = kKeysOfPage;
    std::vector<std::string> keys;
    const Status status = ListInParallel(store_, options, kListThreads, [&keys](const ListPage& page) {
      for (const ObjectInfo& info : page.objects) {
        keys.push_back(info.key);
      }
      return Status::Ok();
    });
    Count(status);
    if (status.ok()) {
      CheckListed(keys);
    }
  }

  void CheckListed(const std::vector<std::string>& keys) {
    const std::set<std::string> listed(keys.begin(), keys.end());
    size_t known = 0;
    for (size_t slot = 0; slot < kKeysOfThread; ++slot) {
      const bool there = listed.contains(Key(slot));
      known += there ? 1 : 0;
      if (!plan_.lists_lag && (there ? allowed_[slot] == Allowed{kAbsent} : !allowed_[slot].contains(kAbsent))) {
        Wrong(fmt::format("{} is {}", store_.Uri(Key(slot)), there ? "removed and listed" : "there and not listed"));
      }
    }
    if (known != keys.size() || !std::ranges::is_sorted(keys)) {
      Wrong(store_.Uri(prefix_) + " lists keys that are not there, more than once, or out of order");
    }
  }

  /// All that surely stand, each whole.
  void GetMany() {
    std::vector<std::string> expected;
    std::vector<std::string> found;
    std::vector<std::string> keys;
    for (size_t slot = 0; slot < kKeysOfThread; ++slot) {
      if (allowed_[slot].size() == 1 && !allowed_[slot].contains(kAbsent)) {
        expected.push_back(contents_.Make(*allowed_[slot].begin()));
        found.emplace_back(expected.back().size(), '?');
        keys.push_back(Key(slot));
      }
    }
    std::vector<ObjectRead> reads;
    for (size_t i = 0; i < keys.size(); ++i) {
      reads.push_back({keys[i], {0, std::as_writable_bytes(std::span(found[i]))}});
    }
    const std::vector<Status> statuses = store_.ReadMany(reads, {});
    for (size_t i = 0; i < keys.size(); ++i) {
      Count(statuses[i]);
      if (statuses[i].ok() && found[i] != expected[i]) {
        const bool changed = plan_.truth != nullptr && plan_.truth(keys[i]) != expected[i];
        Wrong(fmt::format("{} was read among many, and other bytes came: {}{}", store_.Uri(keys[i]),
                          DifferenceOf(found[i], expected[i]), changed ? "; nor does the store hold them" : ""));
      }
    }
  }

  void Get(size_t slot) {
    std::string text;
    const auto allocate = [&text](int64_t size) {
      text.resize(static_cast<size_t>(size));
      return std::as_writable_bytes(std::span(text.data(), text.size()));
    };
    ReadOptions options;
    options.cancel = plan_.cancel;
    const Status status = store_.ReadWhole(Key(slot), allocate, options).status();
    if (status.code() == ErrorCode::kNotFound) {
      ++result_.right;
      if (!allowed_[slot].contains(kAbsent)) {
        Wrong(store_.Uri(Key(slot)) + " is missing");
      }
      return;
    }
    Count(status);
    if (status.ok() && !IsAllowed(slot, text)) {
      Wrong(fmt::format("{} holds what was never written there whole: {}", store_.Uri(Key(slot)),
                        DifferenceOfAllowed(slot, text)));
    }
  }

  /// From what may stand there and is most like it.
  std::string DifferenceOfAllowed(size_t slot, const std::string& text) const {
    std::string least = "nothing should stand there";
    int64_t differences = std::numeric_limits<int64_t>::max();
    for (const uint64_t number : allowed_[slot]) {
      const std::string content = number == kAbsent ? std::string() : contents_.Make(number);
      const int64_t count = CountDifferences(text, content);
      if (number != kAbsent && count < differences) {
        differences = count;
        least = DifferenceOf(text, content);
      }
    }
    return least;
  }

  bool IsAllowed(size_t slot, const std::string& text) const {
    return std::any_of(allowed_[slot].begin(), allowed_[slot].end(),
                       [&](uint64_t number) { return number != kAbsent && contents_.Make(number) == text; });
  }

  ObjectStore& store_;
  const MixedPlan& plan_;
  Contents contents_;
  std::mt19937_64 random_;
  std::string prefix_;
  std::vector<Allowed> allowed_;
  uint64_t next_ = 0;
  MixedResult result_;
};

void Add(const MixedResult& one, MixedResult& all) {
  all.right += one.right;
  all.errors += one.errors;
  all.wrong += one.wrong;
  all.first_error = all.first_error.empty() ? one.first_error : all.first_error;
  const size_t told = std::min(one.first_wrong.size(), kToldOutcomes - all.first_wrong.size());
  all.first_wrong.insert(all.first_wrong.end(), one.first_wrong.begin(),
                         one.first_wrong.begin() + static_cast<std::ptrdiff_t>(told));
}

}  // namespace

Result<MixedResult> RunMixedWork(ObjectStore& store, const MixedPlan& plan) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < plan.threads; ++i) {
    workers.push_back(std::make_unique<Worker>(store, plan, i));
  }
  ParallelFor(plan.threads, plan.threads, [&](int64_t i) {
    workers[static_cast<size_t>(i)]->Run(plan.operations / plan.threads);
    workers[static_cast<size_t>(i)]->CheckAll();
  });
  if (IsCancelled(plan.cancel)) {
    return CancelledStatus("test", store.Uri(plan.prefix));
  }
  MixedResult all;
  for (const auto& worker : workers) {
    Add(worker->result(), all);
    // What a store that fails on purpose would not remove stays: it was the caller's to break.
    [[maybe_unused]] const std::vector<Status> removed = store.RemoveMany(worker->Keys());
  }
  return all;
}

}  // namespace assay::storage
