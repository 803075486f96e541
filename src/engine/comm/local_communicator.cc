#include "engine/comm/local_communicator.h"

#include "engine/comm/base_communicator.h"

namespace assay::engine {
namespace {

void copy_unless_same(const at::Tensor& to, const at::Tensor& from) {
  if (!to.is_alias_of(from) || to.storage_offset() != from.storage_offset()) {
    to.copy_(from);
  }
}

class LocalCommunicator final : public BaseCommunicator {
 public:
  LocalCommunicator(std::string_view backend, const FakeOptions& options)
      : BaseCommunicator(options.rank, options.size), backend_(backend) {}

  std::string_view backend() const override { return backend_; }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, std::string_view name) override {
    const FakeOptions group{.rank = new_rank(members, name), .size = static_cast<int>(members.size())};
    return std::make_unique<LocalCommunicator>(backend_, group);
  }

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

 private:
  at::Tensor own_part(const Call& call) const {
    return call.full.narrow(0, rank() * call.shard.numel(), call.shard.numel());
  }

  std::string_view backend_;
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() {
  return std::make_unique<LocalCommunicator>("self", FakeOptions{});
}

std::unique_ptr<Communicator> make_fake_communicator(const FakeOptions& options) {
  return std::make_unique<LocalCommunicator>("fake", options);
}

}  // namespace assay::engine
