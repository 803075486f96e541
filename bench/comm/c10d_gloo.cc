#include "c10d_gloo.h"

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <vector>

namespace assay::bench {

struct C10dGloo::State {
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
};

C10dGloo::C10dGloo(const std::string& path, int rank, int ranks) : state_(std::make_unique<State>()) {
  auto options = c10d::ProcessGroupGloo::Options::create();
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  auto store = c10::make_intrusive<c10d::FileStore>(path, ranks);
  state_->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, ranks, options);
}

C10dGloo::~C10dGloo() = default;

void C10dGloo::all_reduce(const at::Tensor& buffer) {
  std::vector<at::Tensor> buffers{buffer};
  state_->gloo->allreduce(buffers)->wait();
}

void C10dGloo::all_gather(at::Tensor full, at::Tensor shard) {
  state_->gloo->_allgather_base(full, shard)->wait();
}

void C10dGloo::reduce_scatter(at::Tensor shard, at::Tensor full) {
  state_->gloo->_reduce_scatter_base(shard, full)->wait();
}

}  // namespace assay::bench
