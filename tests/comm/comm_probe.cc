// One rank of a test: comm_probe MODE [BACKEND]. Results go to standard output as a line of JSON, an error to standard
// error as one line with exit code 1.
#include <ATen/ATen.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "engine/comm/connect.h"
#include "engine/comm/rank_environment.h"

namespace assay::engine {
namespace {

/// The same values as values() in test_comm.py.
at::Tensor values(int rank, int64_t elements, at::ScalarType dtype) {
  return (at::sin(at::arange(elements, at::kDouble) * 0.7 + rank * 1.3) * 3.0).to(dtype);
}

std::vector<double> list(const at::Tensor& tensor) {
  const at::Tensor wide = tensor.to(at::kDouble).contiguous();
  return {wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel()};
}

/// Every collective once, in each dtype.
void check(Communicator& ranks) {
  constexpr int64_t kShard = 37;
  nlohmann::json results = {{"rank", ranks.rank()}, {"backend", ranks.backend()}};
  const std::map<std::string, at::ScalarType> dtypes = {
      {"float32", at::kFloat}, {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}};
  for (const auto& [name, dtype] : dtypes) {
    nlohmann::json& of = results[name];
    const int64_t length = kShard * ranks.size();
    at::Tensor full = ranks.allocate(length, dtype);
    const at::Tensor shard = at::empty({kShard}, dtype);
    ranks.all_reduce(full.copy_(values(ranks.rank(), length, dtype)), ReduceOp::kSum, "sum")->wait();
    of["all_reduce"] = list(full);
    ranks.reduce_scatter(shard, full.copy_(values(ranks.rank(), length, dtype)), ReduceOp::kSum, "scatter")->wait();
    of["reduce_scatter"] = list(shard);
    ranks.all_gather(full, shard.copy_(values(ranks.rank(), kShard, dtype)), "gather")->wait();
    of["all_gather"] = list(full);
    ranks.broadcast(full.copy_(values(ranks.rank(), length, dtype)), ranks.size() - 1, "broadcast")->wait();
    of["broadcast"] = list(full);
  }
  std::puts(DumpJson(results).c_str());
}

/// Between two collectives the ranks compute, each for COMM_PROBE_SECONDS of its own.
void compute(Communicator& ranks) {
  const char* seconds = std::getenv("COMM_PROBE_SECONDS");
  const at::Tensor buffer = ranks.allocate(1000, at::kFloat).fill_(0);
  ranks.all_reduce(buffer, ReduceOp::kSum, "blocks.3")->wait();
  std::puts("running");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds == nullptr ? 0 : std::atof(seconds)));
  ranks.all_reduce(buffer, ReduceOp::kSum, "blocks.3")->wait();
}

/// All-reduces until something ends it; says when it has begun, and at `stuck_at` steps rank 1 stops coming.
void loop(Communicator& ranks, int stuck_at, int64_t elements = 1000) {
  const at::Tensor buffer = ranks.allocate(elements, at::kFloat).fill_(0);
  for (int step = 0;; ++step) {
    if (step == stuck_at && ranks.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::hours(1));
    }
    ranks.all_reduce(buffer, ReduceOp::kAverage, "blocks.3")->wait();
    if (step == 3) {
      std::puts("running");
      std::fflush(stdout);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// One message from rank 0 to rank 1 that takes a while.
void message(Communicator& ranks) {
  const at::Tensor buffer = at::empty({int64_t{512} << 20}, at::kByte);
  ranks.barrier("start");
  std::puts("running");
  std::fflush(stdout);
  (ranks.rank() == 0 ? ranks.send(buffer, 1, "block") : ranks.recv(buffer, 0, "block"))->wait();
}

void differ(Communicator& ranks) {
  const at::Tensor buffer = at::zeros({8}, at::kFloat);
  if (ranks.rank() == 0) {
    ranks.all_reduce(buffer, ReduceOp::kSum, "blocks.3")->wait();
  } else {
    ranks.broadcast(buffer, 0, "blocks.2")->wait();
  }
}

int run(const std::string& mode, const std::string& backend) {
  const Result<RankEnvironment> environment = read_rank_environment();
  const Result<CommOptions> options = read_comm_options();
  const Status& status = environment.ok() ? options.status() : environment.status();
  if (!status.ok()) {
    std::fprintf(stderr, "comm_probe: %s\n", status.message().c_str());
    return 2;
  }
  try {
    const auto ranks = connect_ranks(*environment, backend, *options);
    if (mode == "check") {
      check(*ranks);
    } else if (mode == "differ") {
      differ(*ranks);
    } else if (mode == "message") {
      message(*ranks);
    } else if (mode == "compute") {
      compute(*ranks);
    } else if (mode == "large") {
      loop(*ranks, -1, int64_t{16} << 20);
    } else {
      loop(*ranks, mode == "stuck" ? 5 : -1);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "comm_probe: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace assay::engine

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: comm_probe check|loop|large|message|stuck|differ|compute [auto|shm|gloo|shm+gloo]\n", stderr);
    return 2;
  }
  return assay::engine::run(argv[1], argc > 2 ? argv[2] : "auto");
}
