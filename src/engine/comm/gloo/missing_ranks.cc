#include "engine/comm/gloo/missing_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string_view>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/text.h"

namespace assay::engine {
namespace {

constexpr double kRollCallSeconds = 2;
/// More than the roll call: the store itself does not answer then.
constexpr std::chrono::seconds kStorePatience{4};

std::string key_of(int rank) {
  return fmt::format("failed {}", rank);
}

/// Members that have not reported a failure when the time is up.
std::vector<int> roll_call(c10d::Store& store, int rank, int size) {
  store.set(key_of(rank), std::string("1"));
  std::vector<int> missing;
  const double start = MonotonicSeconds();
  do {
    missing.clear();
    for (int peer = 0; peer < size; ++peer) {
      if (peer != rank && !store.check({key_of(peer)})) {
        missing.push_back(peer);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  } while (!missing.empty() && MonotonicSeconds() - start < kRollCallSeconds);
  return missing;
}

/// The first sentence of what gloo says, without the place in its source that it begins with.
std::string first_sentence(std::string_view text) {
  if (text.starts_with('[') && text.find("] ") != std::string_view::npos) {
    text.remove_prefix(text.find("] ") + 2);
  }
  return std::string(text.substr(0, std::min(text.find('\n'), text.find(". "))));
}

}  // namespace

std::string describe_loss(const c10::intrusive_ptr<c10d::Store>& store, int rank, const std::vector<int>& world_ranks,
                          const std::string& where, const std::string& reason) {
  // On a thread that can be left behind: a store whose server hangs does not answer.
  auto call = std::make_shared<std::packaged_task<std::vector<int>()>>(
      [store, rank, size = static_cast<int>(world_ranks.size())] { return roll_call(*store, rank, size); });
  std::future<std::vector<int>> missing = call->get_future();
  std::thread([call] { (*call)(); }).detach();
  std::vector<std::string> names;
  try {
    if (missing.wait_for(kStorePatience) == std::future_status::ready) {
      for (const int peer : missing.get()) {
        names.push_back(fmt::format("rank {}", world_ranks[static_cast<size_t>(peer)]));
      }
    } else {
      names.emplace_back("rank 0, whose store does not answer,");
    }
  } catch (const std::exception&) {
    names.emplace_back("rank 0, whose store is gone,");
  }
  if (names.empty()) {
    return fmt::format("{} failed on every rank: {}", where, first_sentence(reason));
  }
  return fmt::format("{} {} lost in {}: {}", Join(names, " and "), names.size() == 1 ? "was" : "were", where,
                     first_sentence(reason));
}

}  // namespace assay::engine
