#include "engine/comm/local_communicator.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <utility>

#include "engine/comm/base_communicator.h"
#include "engine/comm/gloo/gloo_collectives.h"
#include "engine/comm/hierarchy/hierarchical_collectives.h"
#include "engine/comm/hierarchy/node_layout.h"
#include "engine/kernels/shape_memory.h"

namespace assay::engine {
namespace {

void copy_unless_same(const at::Tensor& to, const at::Tensor& from) {
  if (!to.is_alias_of(from) || to.storage_offset() != from.storage_offset()) {
    to.copy_(from);
  }
}

class LocalCommunicator : public BaseCommunicator {
 public:
  LocalCommunicator(std::string_view backend, FakeOptions options)
      : BaseCommunicator(options.rank, options.size), backend_(backend), options_(std::move(options)) {}

  std::string_view backend() const override { return backend_; }

  at::Tensor allocate(int64_t elements, at::ScalarType dtype) override {
    return at::empty({elements}, at::TensorOptions(dtype).device(device()));
  }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, std::string_view name) override {
    FakeOptions group{.rank = new_rank(members, name), .size = static_cast<int>(members.size()), .device = device()};
    for (size_t place = 0; place < members.size() && !options_.machine_of.empty(); ++place) {
      group.machine_of.push_back(options_.machine_of[static_cast<size_t>(members[place])]);
    }
    return make(backend_, std::move(group));
  }

  int ranks_here() const {
    const std::vector<int>& machines = options_.machine_of;
    return machines.empty() ? size()
                            : static_cast<int>(std::ranges::count(machines, machines[static_cast<size_t>(rank())]));
  }

  /// What its collectives took beside their buffers: what they keep, and the most of one that was under way.
  virtual int64_t scratch_bytes() const { return 0; }

  static std::unique_ptr<LocalCommunicator> make(std::string_view backend, FakeOptions options);

 protected:
  /// A reduction over one rank is that rank's values, whatever the operation.
  WorkPtr start(Call call) override {
    if (call.kind == CallKind::kAllGather) {
      copy_unless_same(own_part(call), call.shard);
    } else if (call.kind == CallKind::kReduceScatter) {
      copy_unless_same(call.shard, own_part(call));
    }
    return finished_work();
  }

  c10::Device device() const { return options_.device; }
  const FakeOptions& options() const { return options_; }

 private:
  at::Tensor own_part(const Call& call) const {
    return call.full.narrow(0, rank() * call.shard.numel(), call.shard.numel());
  }

  std::string_view backend_;
  FakeOptions options_;
};

/// A rank over gloo, with what its collectives keep for their messages.
class FakeGloo final : public LocalCommunicator {
 public:
  explicit FakeGloo(FakeOptions options)
      : LocalCommunicator("fake", std::move(options)),
        greetings_(bytes(GlooCollectives::greeting_bytes(size()))),
        staging_(bytes(0)) {}

  int64_t scratch_bytes() const override { return static_cast<int64_t>(greetings_.nbytes() + staging_.nbytes()); }

 protected:
  WorkPtr start(Call call) override {
    const int64_t needed = GlooCollectives::staging_bytes(call, size());
    if (staging_.numel() < needed) {
      staging_ = bytes(needed);
    }
    return LocalCommunicator::start(std::move(call));
  }

 private:
  at::Tensor bytes(int64_t count) const { return at::empty({count}, at::TensorOptions(at::kByte).device(device())); }

  at::Tensor greetings_;
  at::Tensor staging_;
};

/// Of the collectives of a group that are not waited for, which are carried out one after the other: what one of them
/// may take.
struct UnderWay {
  int64_t works = 0;
  at::Tensor scratch;
};

class WorkUnderWay final : public Work {
 public:
  WorkUnderWay(std::shared_ptr<UnderWay> all, int64_t scratch_bytes, c10::Device device) : all_(std::move(all)) {
    const int64_t held = all_->works++ > 0 ? all_->scratch.numel() : 0;
    all_->scratch.reset();
    all_->scratch = at::empty({std::max(held, scratch_bytes)}, at::TensorOptions(at::kByte).device(device));
  }
  ~WorkUnderWay() override { wait(); }

  void wait() override {
    if (const auto all = std::exchange(all_, nullptr); all != nullptr && --all->works == 0) {
      all->scratch.reset();
    }
  }

 private:
  std::shared_ptr<UnderWay> all_;
};

/// A rank of a group over several machines, some of which have several ranks: goes through what its collectives do.
class FakeHierarchy final : public LocalCommunicator {
 public:
  explicit FakeHierarchy(FakeOptions all)
      : LocalCommunicator("fake", std::move(all)),
        layout_(options().machine_of, rank()),
        intra_("fake", {.rank = layout_.local, .size = layout_.ranks_here(), .device = device()}),
        messages_({.rank = rank(), .size = size(), .device = device()}) {
    std::vector<BaseCommunicator*> inter(static_cast<size_t>(layout_.slices));
    for (int slice = 0; slice < layout_.slices; ++slice) {
      if (layout_.owner(layout_.node, slice) == layout_.local) {
        const FakeOptions owner{.rank = layout_.node, .size = layout_.machines(), .device = device()};
        owners_.push_back(std::make_unique<FakeGloo>(owner));
        inter[static_cast<size_t>(slice)] = owners_.back().get();
      }
    }
    collectives_ = std::make_unique<HierarchicalCollectives>(layout_, intra_, std::move(inter));
  }

  int64_t scratch_bytes() const override {
    int64_t bytes = messages_.scratch_bytes() + most_taken_;
    for (const auto& owners : owners_) {
      bytes += owners->scratch_bytes();
    }
    return bytes;
  }

 protected:
  /// A thread beside the caller's carries it out: what that takes may be there until the collective is waited for.
  WorkPtr start(Call call) override {
    if (call.kind == CallKind::kSend || call.kind == CallKind::kRecv) {
      return finished_work();
    }
    int64_t taken = 0;
    {
      const ScratchShapes scratch;
      collectives_->run(call);
      taken = scratch.bytes();
    }
    most_taken_ = std::max(most_taken_, taken);
    return std::make_unique<WorkUnderWay>(under_way_, taken, device());
  }

 private:
  NodeLayout layout_;
  LocalCommunicator intra_;
  FakeGloo messages_;
  std::vector<std::unique_ptr<FakeGloo>> owners_;
  std::unique_ptr<HierarchicalCollectives> collectives_;
  int64_t most_taken_ = 0;
  std::shared_ptr<UnderWay> under_way_ = std::make_shared<UnderWay>();
};

std::unique_ptr<LocalCommunicator> LocalCommunicator::make(std::string_view backend, FakeOptions options) {
  const int machines = options.machine_of.empty() ? 1 : NodeLayout(options.machine_of, options.rank).machines();
  if (machines == 1) {
    return std::make_unique<LocalCommunicator>(backend, std::move(options));
  }
  if (machines == options.size) {
    return std::make_unique<FakeGloo>(std::move(options));
  }
  return std::make_unique<FakeHierarchy>(std::move(options));
}

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() {
  return std::make_unique<LocalCommunicator>("self", FakeOptions{});
}

std::unique_ptr<Communicator> make_fake_communicator(const FakeOptions& options) {
  return LocalCommunicator::make("fake", options);
}

int ranks_on_own_machine(const Communicator& fake) {
  return dynamic_cast<const LocalCommunicator&>(fake).ranks_here();
}

int64_t scratch_bytes_of(const Communicator& fake) {
  return dynamic_cast<const LocalCommunicator&>(fake).scratch_bytes();
}

}  // namespace assay::engine
