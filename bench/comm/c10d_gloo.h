// c10d's own gloo process group, as torch.distributed uses it: what ours are compared with.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

namespace assay::bench {

class C10dGloo {
 public:
  /// Ranks meet in a store in file `path`.
  C10dGloo(const std::string& path, int rank, int ranks);
  ~C10dGloo();

  void all_reduce(const at::Tensor& buffer);
  void all_gather(at::Tensor full, at::Tensor shard);
  void reduce_scatter(at::Tensor shard, at::Tensor full);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::bench
