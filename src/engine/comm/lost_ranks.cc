#include "engine/comm/lost_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "base/text.h"

namespace assay::engine {
namespace {

constexpr double kRollCallSeconds = 2;
constexpr double kFindingSeconds = kRollCallSeconds + 1;
/// After the roll call and the wait for others' finding the store itself does not answer.
constexpr std::chrono::duration<double> kStorePatience{kRollCallSeconds + kFindingSeconds + 2};
constexpr std::chrono::milliseconds kPollInterval{100};
/// For ranks that compute, or whose machine has much else to do, to come and read the line: less than launchers give
/// those that are left when the first has failed.
constexpr double kFarewellSeconds = 4;
constexpr char kFinding[] = "lost ranks";

bool has_any(const std::vector<int>& ranks, const std::vector<int>& wanted) {
  return std::ranges::any_of(wanted, [&](int rank) { return std::ranges::count(ranks, rank) > 0; });
}

std::string key_of(int rank) {
  return fmt::format("failed {}", rank);
}

/// Set for ranks that know the line, and for those that never will.
std::string farewell_key(int rank) {
  return fmt::format("farewell {}", rank);
}

void say_farewell(c10d::Store& store, int rank) {
  store.set(farewell_key(rank), std::string("1"));
}

/// Members that have not reported a failure when the time is up, when no suspect is left, or when somebody has found
/// who is to blame.
std::vector<int> roll_call(c10d::Store& store, int rank, const std::vector<int>& members,
                           const std::vector<int>& suspects) {
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
  } while (has_any(missing, suspects) && !store.check({kFinding}) && MonotonicSeconds() - start < kRollCallSeconds);
  return missing;
}

/// What another rank has found, or finds within its own roll call; empty when nobody misses anyone.
std::string finding_of_others(c10d::Store& store) {
  const double start = MonotonicSeconds();
  while (!store.check({kFinding})) {
    if (MonotonicSeconds() - start > kFindingSeconds) {
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

std::string lost(const std::string& who, const std::string& where, const std::string& reason) {
  return fmt::format("{} {} lost in {}: {}", who, who.starts_with("ranks ") ? "were" : "was", where,
                     first_sentence(reason));
}

/// `line`, or the one that was there first. `lost`: who will not read it.
std::string put_up(c10d::Store& store, const std::string& line, const std::vector<int>& lost) {
  for (const int rank : lost) {
    say_farewell(store, rank);
  }
  const std::vector<uint8_t> first =
      store.compareSet(kFinding, std::vector<uint8_t>(), std::vector<uint8_t>(line.begin(), line.end()));
  return {first.begin(), first.end()};
}

/// Of the missing ranks, those on machines of missing suspects.
std::vector<int> to_blame(const std::vector<int>& missing, const std::vector<int>& suspects, const HostMap& hosts) {
  std::set<int> machines;
  for (const int suspect : suspects) {
    if (std::ranges::count(missing, suspect) > 0) {
      machines.insert(hosts.machine_of(suspect));
    }
  }
  std::vector<int> blamed;
  std::ranges::copy_if(missing, std::back_inserter(blamed), [&](int rank) {
    return hosts.machines() == 1 ? std::ranges::count(suspects, rank) > 0 : machines.contains(hosts.machine_of(rank));
  });
  return blamed;
}

std::string find_loss(c10d::Store& store, int rank, const SeenFailure& failure, const HostMap& hosts) {
  const std::vector<int> missing =
      to_blame(roll_call(store, rank, failure.members, failure.suspects), failure.suspects, hosts);
  if (store.check({kFinding})) {
    return store.get_to_str(kFinding);
  }
  if (!missing.empty()) {
    return put_up(store, lost(hosts.describe(missing), failure.where, failure.reason), missing);
  }
  const std::string others = finding_of_others(store);
  return others.empty() ? fmt::format("{} failed on every rank: {}", failure.where, first_sentence(failure.reason))
                        : others;
}

}  // namespace

LossBoard::LossBoard(c10::intrusive_ptr<c10d::Store> store, int rank, std::shared_ptr<const HostMap> hosts,
                     bool ends_store)
    : store_(std::move(store)), rank_(rank), hosts_(std::move(hosts)), ends_store_(ends_store) {}

LossBoard::~LossBoard() {
  const double start = MonotonicSeconds();
  while (ends_store_ && has_failed_ && !all_know() && MonotonicSeconds() - start < kFarewellSeconds) {
    std::this_thread::sleep_for(kPollInterval);
  }
}

bool LossBoard::all_know() const {
  try {
    for (int machine = 0; machine < hosts_->machines(); ++machine) {
      for (const int rank : hosts_->ranks_of(machine)) {
        if (rank != rank_ && !store_->check({farewell_key(rank)})) {
          return false;
        }
      }
    }
  } catch (const std::exception&) {
    return true;  // nobody can read it any more
  }
  return true;
}

void LossBoard::report() const {
  answer(
      [rank = rank_](c10d::Store& store) {
        store.set(key_of(rank), std::string("1"));
        return std::string();
      },
      [](const std::string&) { return std::string(); });
}

std::string LossBoard::find(const SeenFailure& failure) const {
  return answer(
      [failure, rank = rank_, hosts = hosts_](c10d::Store& store) {
        std::string line = find_loss(store, rank, failure, *hosts);
        say_farewell(store, rank);
        return line;
      },
      [&](const std::string& rank_0) { return lost(rank_0, failure.where, failure.reason); });
}

std::string LossBoard::publish(const std::string& line, const std::vector<int>& lost) const {
  return answer(
      [line, lost, rank = rank_](c10d::Store& store) {
        std::string first = put_up(store, line, lost);
        say_farewell(store, rank);
        return first;
      },
      [&](const std::string&) { return line; });
}

void LossBoard::know() const {
  answer(
      [rank = rank_](c10d::Store& store) {
        say_farewell(store, rank);
        return std::string();
      },
      [](const std::string&) { return std::string(); });
}

std::string LossBoard::answer(const std::function<std::string(c10d::Store&)>& ask,
                              const std::function<std::string(const std::string& rank_0)>& otherwise) const {
  has_failed_ = true;
  // On a thread that can be left behind: a store whose server hangs does not answer.
  auto call = std::make_shared<std::packaged_task<std::string()>>([ask, store = store_] { return ask(*store); });
  std::future<std::string> finding = call->get_future();
  std::thread([call] { (*call)(); }).detach();
  try {
    if (finding.wait_for(kStorePatience) == std::future_status::ready) {
      return finding.get();
    }
    return otherwise("rank 0, whose store does not answer,");
  } catch (const std::exception&) {
    return otherwise("rank 0, whose store is gone,");
  }
}

}  // namespace assay::engine
