// Every collective of every backend against the same arithmetic done on one rank.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/comm/hierarchy/hierarchical_communicator.h"
#include "engine/comm/local_communicator.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"

namespace assay::engine {
namespace {

using testing::Group;
using testing::run_ranks;

/// The machine that each of `size` ranks is on.
using Machines = std::vector<int> (*)(int size);

std::vector<int> one_machine(int size) {
  return std::vector<int>(static_cast<size_t>(size), 0);
}

std::vector<int> pairs(int size) {
  std::vector<int> machines;
  for (int rank = 0; rank < size; ++rank) {
    machines.push_back(rank / 2);
  }
  return machines;
}

std::vector<int> in_turn(int size) {
  std::vector<int> machines;
  for (int rank = 0; rank < size; ++rank) {
    machines.push_back(rank % 2);
  }
  return machines;
}

std::vector<int> all_but_the_first(int size) {
  std::vector<int> machines(static_cast<size_t>(size), 1);
  machines.front() = 0;
  return machines;
}

struct Backend {
  std::string name;
  Group (*make)(const std::vector<int>& machines);
  std::vector<int> sizes;
  Machines machines = one_machine;
};

Group make_self(const std::vector<int>& /*machines*/) {
  Group group;
  group.push_back(make_self_communicator());
  return group;
}

Group make_shm_caller(const std::vector<int>& machines) {
  return make_thread_group(static_cast<int>(machines.size()),
                           {.execution = Execution::kCaller, .arena_bytes = 64 << 20});
}

Group make_shm_thread(const std::vector<int>& machines) {
  return make_thread_group(static_cast<int>(machines.size()),
                           {.execution = Execution::kThread, .arena_bytes = 64 << 20});
}

Group make_gloo(const std::vector<int>& machines) {
  return make_gloo_thread_group(static_cast<int>(machines.size()));
}

Group make_hierarchical(const std::vector<int>& machines) {
  return make_hierarchical_thread_group(machines, {.arena_bytes = 64 << 20});
}

const Backend kBackends[] = {{"self", make_self, {1}},
                             {"shm_caller", make_shm_caller, {1, 2, 3, 4}},
                             {"shm_thread", make_shm_thread, {1, 2, 3, 4}},
                             {"gloo", make_gloo, {1, 2, 3, 4}},
                             {"pairs", make_hierarchical, {3, 4, 5}, pairs},
                             {"in_turn", make_hierarchical, {3, 4}, in_turn},
                             {"all_but_the_first", make_hierarchical, {2, 4}, all_but_the_first}};

std::vector<std::tuple<Backend, int>> cases() {
  std::vector<std::tuple<Backend, int>> all;
  for (const Backend& backend : kBackends) {
    for (const int size : backend.sizes) {
      all.emplace_back(backend, size);
    }
  }
  return all;
}

/// Where a test's buffers are.
enum class Memory { kShared, kPrivate, kMixed };

at::Tensor buffer(Communicator& rank, int64_t elements, at::ScalarType dtype, Memory memory) {
  const bool shared = memory == Memory::kShared || (memory == Memory::kMixed && rank.rank() % 2 == 0);
  return shared ? rank.allocate(elements, dtype) : at::empty({elements}, dtype);
}

/// Rank `rank`'s values: different everywhere, of either sign, exact in no 16-bit format.
at::Tensor values(int rank, int64_t elements, at::ScalarType dtype) {
  const at::Tensor index = at::arange(elements, at::kDouble);
  return (at::sin(index * 0.7 + rank * 1.3) * (rank + 1) * 3.0).to(dtype);
}

/// Sums in float32, in order of rank within machines and then in order of machines, rounded once: what is promised.
at::Tensor expected(const std::vector<int>& machines, int64_t elements, at::ScalarType dtype, ReduceOp op) {
  const at::ScalarType wide = dtype == at::kDouble ? at::kDouble : at::kFloat;
  const auto join = [&](at::Tensor& total, const at::Tensor& more) {
    if (!total.defined()) {
      total = more;
    } else {
      total = op == ReduceOp::kMax ? at::maximum(total, more) : total + more;
    }
  };
  at::Tensor total;
  for (int machine = 0; machine <= *std::ranges::max_element(machines); ++machine) {
    at::Tensor part;
    for (size_t rank = 0; rank < machines.size(); ++rank) {
      if (machines[rank] == machine) {
        join(part, values(static_cast<int>(rank), elements, dtype).to(wide));
      }
    }
    join(total, part);
  }
  return (op == ReduceOp::kAverage ? total * (1.0 / static_cast<double>(machines.size())) : total).to(dtype);
}

class CollectivesTest : public ::testing::TestWithParam<std::tuple<Backend, int>> {
 protected:
  static const Backend& backend() { return std::get<0>(GetParam()); }
  static int size() { return std::get<1>(GetParam()); }
  static std::vector<int> machines() { return backend().machines(size()); }
  static Group group() { return backend().make(machines()); }
};

constexpr at::ScalarType kDtypes[] = {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble};
constexpr int64_t kLengths[] = {0, 1, 7, 1000, 50001};
constexpr Memory kMemories[] = {Memory::kShared, Memory::kPrivate, Memory::kMixed};

TEST_P(CollectivesTest, AllReduce) {
  const Group ranks = group();
  for (const at::ScalarType dtype : kDtypes) {
    for (const int64_t length : kLengths) {
      for (const Memory memory : kMemories) {
        run_ranks(ranks, [&](Communicator& rank) {
          const at::Tensor all = buffer(rank, length, dtype, memory);
          for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMax}) {
            all.copy_(values(rank.rank(), length, dtype));
            rank.all_reduce(all, op, "test")->wait();
            EXPECT_TRUE(at::equal(all, expected(machines(), length, dtype, op)))
                << dtype << " " << length << " memory " << static_cast<int>(memory) << " op " << static_cast<int>(op);
          }
        });
      }
    }
  }
}

TEST_P(CollectivesTest, ReduceScatter) {
  const Group ranks = group();
  for (const at::ScalarType dtype : kDtypes) {
    for (const int64_t shard_length : kLengths) {
      for (const Memory memory : kMemories) {
        const int64_t length = shard_length * size();
        run_ranks(ranks, [&](Communicator& rank) {
          const at::Tensor full = buffer(rank, length, dtype, memory);
          full.copy_(values(rank.rank(), length, dtype));
          const at::Tensor shard = buffer(rank, shard_length, dtype, memory);
          rank.reduce_scatter(shard, full, ReduceOp::kAverage, "test")->wait();
          const at::Tensor want = expected(machines(), length, dtype, ReduceOp::kAverage);
          EXPECT_TRUE(at::equal(shard, want.narrow(0, rank.rank() * shard_length, shard_length)));
        });
      }
    }
  }
}

/// More than the 4 MiB that private buffers pass through at a time.
TEST_P(CollectivesTest, LargePrivateBuffersGoInTiles) {
  const Group ranks = group();
  constexpr int64_t kShard = 1500001;
  run_ranks(ranks, [&](Communicator& rank) {
    for (const Memory memory : {Memory::kPrivate, Memory::kMixed}) {
      const at::Tensor full = buffer(rank, kShard * size(), at::kFloat, memory);
      const at::Tensor shard = full.narrow(0, kShard * rank.rank(), kShard);
      full.fill_(rank.rank() + 1);
      full[kShard - 1] = 100;
      rank.all_reduce(full, ReduceOp::kSum, "test")->wait();
      const float sum = static_cast<float>(size() * (size() + 1)) / 2;
      EXPECT_EQ(full[kShard - 1].item<float>(), 100.0F * static_cast<float>(size()));
      EXPECT_EQ((full == sum).sum().item<int64_t>(), full.numel() - 1);
      rank.reduce_scatter(shard, full, ReduceOp::kAverage, "test")->wait();
      EXPECT_EQ((shard == sum).sum().item<int64_t>(), kShard - (rank.rank() == 0 ? 1 : 0));
      shard.fill_(rank.rank() + 1);
      rank.all_gather(full, shard, "test")->wait();
      EXPECT_EQ(full.sum(at::kDouble).item<double>(), static_cast<double>(sum) * kShard);
    }
  });
}

TEST_P(CollectivesTest, ReduceScatterIntoItsOwnPart) {
  const Group ranks = group();
  constexpr int64_t kShard = 5001;
  const int64_t length = kShard * size();
  for (const Memory memory : kMemories) {
    run_ranks(ranks, [&](Communicator& rank) {
      const at::Tensor full = buffer(rank, length, at::kFloat, memory);
      full.copy_(values(rank.rank(), length, at::kFloat));
      const at::Tensor shard = full.narrow(0, rank.rank() * kShard, kShard);
      rank.reduce_scatter(shard, full, ReduceOp::kSum, "test")->wait();
      const at::Tensor want = expected(machines(), length, at::kFloat, ReduceOp::kSum);
      EXPECT_TRUE(at::equal(shard, want.narrow(0, rank.rank() * kShard, kShard)));
    });
  }
}

TEST_P(CollectivesTest, AllGather) {
  const Group ranks = group();
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kByte}) {
    for (const int64_t length : kLengths) {
      for (const Memory memory : kMemories) {
        for (const bool in_place : {false, true}) {
          run_ranks(ranks, [&](Communicator& rank) {
            const at::Tensor full = buffer(rank, length * size(), dtype, memory);
            const at::Tensor shard =
                in_place ? full.narrow(0, rank.rank() * length, length) : buffer(rank, length, dtype, memory);
            const auto of = [&](int r) { return (values(r, length, at::kFloat) + 20).to(dtype); };
            shard.copy_(of(rank.rank()));
            rank.all_gather(full, shard, "test")->wait();
            for (int r = 0; r < size(); ++r) {
              EXPECT_TRUE(at::equal(full.narrow(0, r * length, length), of(r)));
            }
          });
        }
      }
    }
  }
}

TEST_P(CollectivesTest, Broadcast) {
  const Group ranks = group();
  for (int root = 0; root < size(); ++root) {
    for (const int64_t length : {int64_t{0}, int64_t{3}, int64_t{1100001}}) {
      const at::Tensor sent = values(root, length, at::kFloat);
      for (const Memory memory : kMemories) {
        run_ranks(ranks, [&](Communicator& rank) {
          const at::Tensor all = buffer(rank, length, at::kFloat, memory);
          rank.rank() == root ? all.copy_(sent) : all.fill_(-1);
          rank.broadcast(all, root, "test")->wait();
          EXPECT_TRUE(at::equal(all, sent));
        });
      }
    }
  }
}

TEST_P(CollectivesTest, MessagesGoInOrderAndBothWays) {
  if (size() < 2) {
    GTEST_SKIP() << "one rank has nobody to send to";
  }
  constexpr int64_t kLength = 1000;
  constexpr int kMessages = 12;
  run_ranks(group(), [&](Communicator& rank) {
    const int next = (rank.rank() + 1) % size();
    const int previous = (rank.rank() + size() - 1) % size();
    std::vector<at::Tensor> buffers;
    std::vector<WorkPtr> works;
    for (int message = 0; message < kMessages; ++message) {
      const at::Tensor out = buffer(rank, kLength, at::kFloat, message % 2 == 0 ? Memory::kShared : Memory::kPrivate);
      out.copy_(values(100 * rank.rank() + message, kLength, at::kFloat));
      buffers.push_back(at::empty({kLength}, at::kFloat));
      const WorkPtr sent = rank.send(out, next, "out");
      rank.recv(buffers.back(), previous, "in")->wait();
      sent->wait();
    }
    for (int message = 0; message < kMessages; ++message) {
      EXPECT_TRUE(
          at::equal(buffers[static_cast<size_t>(message)], values(100 * previous + message, kLength, at::kFloat)));
    }
  });
}

TEST_P(CollectivesTest, WorksAreDoneInCallOrderWhateverTheOrderOfWaits) {
  run_ranks(group(), [&](Communicator& rank) {
    const at::Tensor a = rank.allocate(10000, at::kFloat).fill_(1);
    const at::Tensor b = at::full({10000}, 2.0F);
    const WorkPtr first = rank.all_reduce(a, ReduceOp::kSum, "a");
    const WorkPtr second = rank.all_reduce(b, ReduceOp::kSum, "b");
    second->wait();
    first->wait();
    first->wait();
    rank.barrier("end");
    EXPECT_EQ(a[9999].item<float>(), static_cast<float>(size()));
    EXPECT_EQ(b[0].item<float>(), 2.0F * static_cast<float>(size()));
  });
}

TEST_P(CollectivesTest, SplitMakesGroupsOfTheirOwn) {
  if (size() != 4) {
    GTEST_SKIP() << "needs four ranks";
  }
  run_ranks(group(), [&](Communicator& rank) {
    const bool odd = rank.rank() % 2 == 1;
    const auto part = rank.split(odd ? std::vector<int>{1, 3} : std::vector<int>{0, 2}, odd ? "odd" : "even");
    EXPECT_EQ(part->size(), 2);
    EXPECT_EQ(part->rank(), rank.rank() / 2);
    const at::Tensor own = part->allocate(3, at::kFloat).fill_(rank.rank());
    part->all_reduce(own, ReduceOp::kSum, "test")->wait();
    EXPECT_EQ(own[1].item<float>(), odd ? 4.0F : 2.0F);
  });
}

TEST_P(CollectivesTest, SumsAreThoseOfOneMachineButForTheOrderOfAdding) {
  constexpr int64_t kLength = 20001;
  run_ranks(group(), [&](Communicator& rank) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      const at::Tensor sum = values(rank.rank(), kLength, dtype);
      rank.all_reduce(sum, ReduceOp::kSum, "test")->wait();
      const at::Tensor one = expected(one_machine(size()), kLength, dtype, ReduceOp::kSum);
      const double tolerance =
          dtype == at::kFloat ? 1e-6 : 1.0 / 128;  // of bfloat16: a last bit, where float32's differs
      EXPECT_TRUE(at::allclose(sum.to(at::kDouble), one.to(at::kDouble), tolerance, 1e-5));
    }
  });
}

TEST_P(CollectivesTest, CountsCallsAndBytes) {
  run_ranks(group(), [&](Communicator& rank) {
    const at::Tensor full = rank.allocate(8 * size(), at::kFloat).fill_(0);
    rank.all_gather(full, full.narrow(0, 8 * rank.rank(), 8), "test")->wait();
    rank.all_gather(full, full.narrow(0, 8 * rank.rank(), 8), "test")->wait();
    const std::vector<CollectiveStats> stats = rank.stats();
    ASSERT_EQ(stats.size(), 1U);
    EXPECT_EQ(stats[0].kind, "all_gather");
    EXPECT_EQ(stats[0].calls, 2);
    EXPECT_EQ(stats[0].bytes, 2 * 32 * size());
    rank.reset_stats();
    EXPECT_TRUE(rank.stats().empty());
  });
}

TEST_P(CollectivesTest, RefusesBuffersThatDoNotFit) {
  run_ranks(group(), [&](Communicator& rank) {
    const at::Tensor shard = at::zeros({3}, at::kFloat);
    EXPECT_THROW(rank.all_gather(at::zeros({3 * size() + 1}, at::kFloat), shard, "test"), c10::Error);
    EXPECT_THROW(rank.all_gather(at::zeros({3 * size()}, at::kHalf), shard, "test"), c10::Error);
    EXPECT_THROW(rank.all_reduce(at::zeros({3}, at::kByte), ReduceOp::kSum, "test"), c10::Error);
    EXPECT_THROW(rank.all_reduce(at::zeros({3, 3}, at::kFloat), ReduceOp::kSum, "test"), c10::Error);
    EXPECT_THROW(rank.broadcast(shard, size(), "test"), c10::Error);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, CollectivesTest, ::testing::ValuesIn(cases()), [](const auto& info) {
  return std::get<0>(info.param).name + "_" + std::to_string(std::get<1>(info.param));
});

/// Of an all-reduce during which every rank computes for `seconds`, summed over ranks. It lasts about half of that, as
/// the last rank comes late: a duration beside which a processor taken away for milliseconds does not count.
CollectiveStats stats_beside_computation(const Group& group, double seconds) {
  CollectiveStats total;
  std::mutex mutex;
  run_ranks(group, [&](Communicator& rank) {
    const at::Tensor values = at::ones({1 << 20});
    rank.reset_stats();
    if (rank.rank() + 1 == rank.size()) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 2));
    }
    const WorkPtr work = rank.all_reduce(values, ReduceOp::kSum, "gradients");
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    work->wait();
    const std::lock_guard lock(mutex);
    total.busy_seconds += rank.stats().front().busy_seconds;
    total.hidden_seconds += rank.stats().front().hidden_seconds;
  });
  return total;
}

TEST(Overlap, CollectivesOnAThreadOfTheirOwnAreHiddenBehindComputation) {
  for (const auto make : {make_shm_thread, make_gloo}) {
    const CollectiveStats stats = stats_beside_computation(make({0, 0}), 1);
    EXPECT_GT(stats.hidden_seconds, 0.5 * stats.busy_seconds);
    EXPECT_LE(stats.hidden_seconds, stats.busy_seconds);
  }
}

TEST(Overlap, CollectivesOnTheCallersThreadHideNothing) {
  const CollectiveStats stats = stats_beside_computation(make_shm_caller({0, 0}), 0.02);
  EXPECT_GT(stats.busy_seconds, 0);
  EXPECT_NEAR(stats.hidden_seconds, 0, 1e-6);
}

TEST(Overlap, AWaitForAnotherGroupIsNoComputation) {
  const Group group = make_shm_thread({0, 0});
  run_ranks(group, [](Communicator& world) {
    const std::unique_ptr<Communicator> inner = world.split({0, 1}, "inner");
    const at::Tensor value = at::ones({4});
    inner->reset_stats();
    if (world.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(1));  // what a processor taken away for a moment is little of
    }
    const WorkPtr beside = inner->all_reduce(value, ReduceOp::kSum, "inner");
    world.barrier("outer");
    beside->wait();
    const CollectiveStats stats = inner->stats().front();
    EXPECT_LT(stats.hidden_seconds, 0.05 + 0.5 * stats.busy_seconds);
  });
}

}  // namespace
}  // namespace assay::engine
