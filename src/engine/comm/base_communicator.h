// What all communicators share: checks of arguments, numbering, and statistics.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/comm/call.h"
#include "engine/comm/call_meter.h"
#include "engine/comm/communicator.h"

namespace assay::engine {

/// Turns every method of the interface into one Call for start(). A wrong argument throws c10::Error before anything
/// was sent.
class BaseCommunicator : public Communicator {
 public:
  BaseCommunicator(int rank, int size);

  int rank() const final { return rank_; }
  int size() const final { return size_; }

  at::Tensor allocate(int64_t elements, at::ScalarType dtype) override;

  WorkPtr all_gather(const at::Tensor& full, const at::Tensor& shard, std::string_view label) final;
  WorkPtr reduce_scatter(const at::Tensor& shard, const at::Tensor& full, ReduceOp op, std::string_view label) final;
  WorkPtr all_reduce(const at::Tensor& buffer, ReduceOp op, std::string_view label) final;
  WorkPtr broadcast(const at::Tensor& buffer, int root, std::string_view label) final;
  WorkPtr send(const at::Tensor& buffer, int to, std::string_view label) final;
  WorkPtr recv(const at::Tensor& buffer, int from, std::string_view label) final;
  void barrier(std::string_view label) final;

  /// The collectives that follow are steps of `call`, which their errors name and their ranks compare; null: they stand
  /// for themselves again. On the thread that calls them.
  void take_steps_of(const Call* call) { step_of_ = call; }

  void give_up(const std::string& /*line*/) override {}

  std::vector<CollectiveStats> stats() const final { return meter_->stats(); }
  void reset_stats() final { meter_->reset(); }
  void set_observer(std::shared_ptr<CallObserver> observer) final { meter_->set_observer(std::move(observer)); }

 protected:
  /// Starts a checked call. Its Work adds its own busy time to the meter; exposed time is added here.
  virtual WorkPtr start(Call call) = 0;

  /// This rank's rank among `members`, which are checked.
  int new_rank(const std::vector<int>& members, std::string_view name) const;

  /// `group`, which was split from this one: who waits for the one computes beside neither.
  template <typename Group>
  std::unique_ptr<Group> as_split(std::unique_ptr<Group> group) const {
    share_waits(*group);
    return group;
  }

  /// Outlives the communicator with the Works that count into it.
  const std::shared_ptr<CallMeter>& meter() const { return meter_; }

 private:
  WorkPtr begin(Call call);
  void check_peer(int peer, const Call& call) const;
  void share_waits(BaseCommunicator& group) const { group.meter_->share_waits(*meter_); }

  const int rank_;
  const int size_;
  std::shared_ptr<CallMeter> meter_ = std::make_shared<CallMeter>();
  const Call* step_of_ = nullptr;
  int64_t collectives_ = 0;
  std::vector<int64_t> sent_;
  std::vector<int64_t> received_;
};

/// A Work with nothing left to do.
WorkPtr finished_work();

}  // namespace assay::engine
