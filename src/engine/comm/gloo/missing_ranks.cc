#include "engine/comm/gloo/missing_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/text.h"

namespace assay::engine {
namespace {

constexpr double kRollCallSeconds = 2;
/// More than the roll call and the wait for others' finding: the store itself does not answer then.
constexpr std::chrono::seconds kStorePatience{5};
constexpr std::chrono::milliseconds kPollInterval{100};
constexpr char kFinding[] = "lost ranks";

std::string key_of(int rank) {
  return fmt::format("failed {}", rank);
}

/// Members that have not reported a failure when the time is up.
std::vector<int> roll_call(c10d::Store& store, int rank, const std::vector<int>& members) {
  store.set(key_of(rank), std::string("1"));
  std::vector<int> missing;
  const double start = MonotonicSeconds();
  do {
    missing.clear();
    for (const int peer : members) {
      if (peer != rank && !store.check({key_of(peer)})) {
        missing.push_back(peer);
      }
    }
    std::this_thread::sleep_for(kPollInterval);
  } while (!missing.empty() && MonotonicSeconds() - start < kRollCallSeconds);
  return missing;
}

/// What another rank has found, or finds within its own roll call; empty when nobody misses anyone.
std::string finding_of_others(c10d::Store& store) {
  const double start = MonotonicSeconds();
  while (!store.check({kFinding})) {
    if (MonotonicSeconds() - start > kRollCallSeconds) {
      return "";
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return store.get_to_str(kFinding);
}

/// The first sentence of what gloo says, without the place in its source that it begins with.
std::string first_sentence(std::string_view text) {
  if (text.starts_with('[') && text.find("] ") != std::string_view::npos) {
    text.remove_prefix(text.find("] ") + 2);
  }
  return std::string(text.substr(0, std::min(text.find('\n'), text.find(". "))));
}

std::string lost(const std::vector<std::string>& names, const std::string& where, const std::string& reason) {
  return fmt::format("{} {} lost in {}: {}", Join(names, " and "), names.size() == 1 ? "was" : "were", where,
                     first_sentence(reason));
}

/// The one line that all ranks end with.
std::string find_loss(c10d::Store& store, int rank, const std::vector<int>& members, const std::string& where,
                      const std::string& reason) {
  if (store.check({kFinding})) {
    return store.get_to_str(kFinding);
  }
  std::vector<std::string> names;
  for (const int peer : roll_call(store, rank, members)) {
    names.push_back(fmt::format("rank {}", peer));
  }
  if (!names.empty()) {
    const std::string own = lost(names, where, reason);
    const std::vector<uint8_t> first =
        store.compareSet(kFinding, std::vector<uint8_t>(), std::vector<uint8_t>(own.begin(), own.end()));
    return {first.begin(), first.end()};
  }
  const std::string others = finding_of_others(store);
  return others.empty() ? fmt::format("{} failed on every rank: {}", where, first_sentence(reason)) : others;
}

}  // namespace

std::string describe_loss(const c10::intrusive_ptr<c10d::Store>& store, int rank, const std::vector<int>& members,
                          const std::string& where, const std::string& reason) {
  // On a thread that can be left behind: a store whose server hangs does not answer.
  auto call = std::make_shared<std::packaged_task<std::string()>>(
      [=] { return find_loss(*store, rank, members, where, reason); });
  std::future<std::string> finding = call->get_future();
  std::thread([call] { (*call)(); }).detach();
  try {
    if (finding.wait_for(kStorePatience) == std::future_status::ready) {
      return finding.get();
    }
    return lost({"rank 0, whose store does not answer,"}, where, reason);
  } catch (const std::exception&) {
    return lost({"rank 0, whose store is gone,"}, where, reason);
  }
}

}  // namespace assay::engine
