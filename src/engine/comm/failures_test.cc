// What the other ranks see of a rank that does not do its part.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <latch>
#include <numeric>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "base/text.h"
#include "engine/comm/gloo/gloo_communicator.h"
#include "engine/comm/hierarchy/hierarchical_communicator.h"
#include "engine/comm/host_map.h"
#include "engine/comm/shm/shared_segment.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/kernels/memory.h"

namespace assay::engine {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using testing::Group;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_ranks_to_end;

/// With patience in which everybody else comes, on a busy machine too.
constexpr CommOptions kOptions = {.deadline_seconds = 3, .arena_bytes = 16 << 20};
/// With patience that no test has.
constexpr CommOptions kPatient = {.deadline_seconds = 600, .arena_bytes = 16 << 20};

std::vector<std::string> messages(const std::vector<std::exception_ptr>& errors) {
  std::vector<std::string> texts;
  for (const std::exception_ptr& error : errors) {
    try {
      if (error) {
        std::rethrow_exception(error);
      }
      texts.emplace_back();
    } catch (const CommError& lost) {
      texts.emplace_back(lost.what());
    } catch (const c10::OutOfMemoryError& error) {
      texts.push_back(std::string(" failed in collective ") + error.what_without_backtrace());
    }
  }
  return texts;
}

TEST(FailuresTest, DifferentCallsAreOneErrorForAll) {
  const auto group = make_thread_group(2, kPatient);
  const auto texts = messages(run_ranks_to_end(group, [](Communicator& rank) {
    const at::Tensor full = at::zeros({8}, at::kFloat);
    const at::Tensor shard = at::zeros({4}, at::kFloat);
    rank.barrier("start");
    if (rank.rank() == 0) {
      rank.all_gather(full, shard, "blocks.3")->wait();
    } else {
      rank.reduce_scatter(shard, full, ReduceOp::kSum, "blocks.2 gradients")->wait();
    }
  }));
  EXPECT_THAT(texts,
              Each("the ranks do not call the same in collective 2: rank 0 calls all_gather of blocks.3 (8 "
                   "elements of Float), rank 1 calls reduce_scatter of blocks.2 gradients (8 elements of Float)"));
}

TEST(FailuresTest, DifferentSizesLabelsAndOperationsAreFound) {
  struct Case {
    int64_t elements;
    ReduceOp op;
    std::string label;
  };
  for (const Case& other : {Case{5, ReduceOp::kSum, "x"}, Case{4, ReduceOp::kMax, "x"}, Case{4, ReduceOp::kSum, "y"}}) {
    const auto group = make_thread_group(2, kPatient);
    const auto texts = messages(run_ranks_to_end(group, [&](Communicator& rank) {
      const Case own = rank.rank() == 0 ? Case{4, ReduceOp::kSum, "x"} : other;
      rank.all_reduce(at::zeros({own.elements}, at::kFloat), own.op, own.label)->wait();
    }));
    EXPECT_THAT(texts, Each(HasSubstr("do not call the same in collective 1: rank 0 calls all_reduce of x")));
  }
}

TEST(FailuresTest, MessagesOfDifferentSizeAreAnError) {
  const auto group = make_thread_group(2, kPatient);
  const auto texts = messages(run_ranks_to_end(group, [&](Communicator& rank) {
    if (rank.rank() == 0) {
      rank.send(at::zeros({4}, at::kFloat), 1, "activations")->wait();
    } else {
      rank.recv(at::zeros({5}, at::kFloat), 0, "activations")->wait();
    }
  }));
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("message 1 from rank 0 to rank 1"), HasSubstr("5 elements"))));
}

TEST(FailuresTest, ARankThatDoesNotComeIsNamedWhenTimeIsUp) {
  const auto group = make_thread_group(3, kOptions);
  const auto texts = messages(run_ranks_to_end(group, [&](Communicator& rank) {
    if (rank.rank() != 1) {
      rank.all_reduce(at::zeros({4}, at::kFloat), ReduceOp::kSum, "blocks.3")->wait();
    }
  }));
  for (const int rank : {0, 2}) {
    EXPECT_THAT(texts[static_cast<size_t>(rank)],
                AllOf(HasSubstr("rank 1 (process "), HasSubstr("was lost in collective 1 (all_reduce of blocks.3)")));
  }
}

TEST(FailuresTest, ARankThatLeavesIsNamedAtOnce) {
  auto group = make_thread_group(2, kPatient);
  std::thread leaver([&] { group[1].reset(); });
  leaver.join();
  const double start = MonotonicSeconds();
  try {
    group[0]->barrier("end of epoch");
    ADD_FAILURE() << "the barrier passed without rank 1";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("was lost in collective 1 (barrier of end of epoch): it has left the group"));
  }
  EXPECT_LT(MonotonicSeconds() - start, kPatient.deadline_seconds / 2);
  EXPECT_THROW(group[0]->barrier("again"), CommError);
}

TEST(FailuresTest, GroupsSayTheirNameAndShareTheFailure) {
  const auto group = make_thread_group(2, kOptions);
  const auto texts = messages(run_ranks_to_end(group, [&](Communicator& rank) {
    const auto data = rank.split({0, 1}, "data");
    if (rank.rank() == 0) {
      data->barrier("alone");
    } else {
      rank.barrier("elsewhere");
    }
  }));
  EXPECT_THAT(texts, Each(texts[0]));
  EXPECT_THAT(texts[0], HasSubstr("was lost in collective"));
}

TEST(FailuresTest, SplitIntoGroupsThatDisagreeIsAnError) {
  const auto group = make_thread_group(2, kPatient);
  const auto texts = messages(run_ranks_to_end(group, [&](Communicator& rank) {
    rank.split(rank.rank() == 0 ? std::vector<int>{0, 1} : std::vector<int>{1}, "odd");
  }));
  EXPECT_THAT(texts[0], HasSubstr("ranks 0 and 1 do not name the same members"));
}

Group two_machines(const CommOptions& options = kOptions) {
  return make_hierarchical_thread_group({0, 0, 1, 1}, options);
}

TEST(FailuresTest, OverMachinesDifferentCallsAreOneErrorForAll) {
  const auto texts = messages(run_ranks_to_end(two_machines(kPatient), [](Communicator& rank) {
    const at::Tensor full = at::zeros({8}, at::kFloat);
    rank.barrier("start");
    if (rank.rank() < 2) {
      rank.all_reduce(full, ReduceOp::kSum, "blocks.3")->wait();
    } else {
      rank.broadcast(full, 1, "blocks.2")->wait();
    }
  }));
  EXPECT_THAT(texts, Each(texts[0]));
  EXPECT_THAT(texts[0], AllOf(HasSubstr("the ranks do not call the same in collective 2: rank "),
                              HasSubstr("calls all_reduce of blocks.3 (8 elements of Float)"),
                              HasSubstr("calls broadcast of blocks.2 (8 elements of Float) from rank 1")));
}

TEST(FailuresTest, OverMachinesTheRankThatDoesNotComeIsNamed) {
  const auto texts = messages(run_ranks_to_end(two_machines(), [](Communicator& rank) {
    if (rank.rank() != 3) {
      rank.all_reduce(at::zeros({4}, at::kFloat), ReduceOp::kSum, "blocks.3")->wait();
    }
  }));
  EXPECT_THAT(texts[0], HasSubstr("rank 3 of machine 1 (here) was lost in collective 1 (all_reduce of blocks.3): "));
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_EQ(texts[2], texts[0]);
}

TEST(FailuresTest, AMachineThatDoesNotComeIsNamedWithItsRanks) {
  const auto texts = messages(run_ranks_to_end(two_machines(), [](Communicator& rank) {
    if (rank.rank() < 2) {
      rank.all_reduce(at::zeros({4}, at::kFloat), ReduceOp::kSum, "blocks.3")->wait();
    }
  }));
  EXPECT_THAT(texts[0], HasSubstr("machine 1 (here: ranks 2 and 3) was lost in collective 1 (all_reduce of blocks.3)"));
  EXPECT_EQ(texts[1], texts[0]);
}

TEST(FailuresTest, MessagesBetweenMachinesThatDoNotComeNameTheirSender) {
  const auto texts = messages(run_ranks_to_end(two_machines(), [](Communicator& rank) {
    if (rank.rank() == 0) {
      rank.recv(at::zeros({4}, at::kFloat), 2, "activations")->wait();
    }
  }));
  EXPECT_THAT(texts[0], HasSubstr("rank 2 of machine 1 (here) was lost in message 1 (recv of activations)"));
}

TEST(FailuresTest, OverGlooMessagesOfDifferentSizeAreAnError) {
  const auto group = make_gloo_thread_group(2, kPatient);
  const auto texts = messages(run_ranks_to_end(group, [&](Communicator& rank) {
    if (rank.rank() == 0) {
      rank.send(at::zeros({1 << 20}, at::kFloat), 1, "activations")->wait();
      rank.barrier("after it");
    } else {
      rank.recv(at::zeros({5}, at::kFloat), 0, "activations")->wait();
    }
  }));
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("message 1 from rank 0 to rank 1"), HasSubstr("5 elements"))));
}

TEST(FailuresTest, OverGlooMessagesMayBeWaitedForInAnyOrder) {
  const auto group = make_gloo_thread_group(2);
  testing::run_ranks(group, [&](Communicator& rank) {
    const at::Tensor small = at::full({3}, rank.rank() == 0 ? 1.0 : 0.0, at::kFloat);
    const at::Tensor large = at::full({1 << 16}, rank.rank() == 0 ? 2.0 : 0.0, at::kFloat);
    const auto pass = [&](const at::Tensor& tensor) {
      return rank.rank() == 0 ? rank.send(tensor, 1, "activations") : rank.recv(tensor, 0, "activations");
    };
    const WorkPtr first = pass(small);
    const WorkPtr second = pass(large);
    second->wait();
    first->wait();
    EXPECT_EQ(small.sum().item<float>(), 3);
    EXPECT_EQ(large.sum().item<float>(), 2 << 16);
  });
}

constexpr char kDiskFull[] = "rank 1 failed: its disk is full";

/// Rank 1 gives up while the others wait for it, with patience that no test has.
void expect_told(const Group& group) {
  const auto texts = messages(run_ranks_to_end(group, [](Communicator& rank) {
    rank.barrier("start");
    if (rank.rank() == 1) {
      rank.give_up(kDiskFull);
    }
    rank.all_reduce(at::zeros({1 << 16}, at::kFloat), ReduceOp::kSum, "blocks.3")->wait();
  }));
  EXPECT_THAT(texts, Each(kDiskFull));
}

TEST(FailuresTest, WhoGivesUpTellsTheOthersWhy) {
  expect_told(make_thread_group(3, kPatient));
  expect_told(make_gloo_thread_group(3, kPatient));
  expect_told(make_hierarchical_thread_group({0, 0, 1, 1}, kPatient));
}

/// Waits some minutes at most.
bool comes(const std::latch& event) {
  constexpr double kSeconds = 300;
  const double start = MonotonicSeconds();
  while (!event.try_wait() && MonotonicSeconds() - start < kSeconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return event.try_wait();
}

/// The groups of a rank, and in which of them it waits for the others when rank 1 gives up.
using Groups = std::vector<std::vector<int>>;
struct Waiting {
  Groups groups;
  size_t waits_in;
};

/// Rank 1 gives up and keeps its groups until all others have ended, each of which waits in one of its groups.
void expect_told_in_groups(const Group& group, const std::vector<Waiting>& ranks) {
  std::latch others(static_cast<std::ptrdiff_t>(group.size()) - 1);
  const auto texts = messages(run_ranks_to_end(group, [&](Communicator& rank) {
    const Waiting& own = ranks[static_cast<size_t>(rank.rank())];
    Group groups;
    for (const std::vector<int>& members : own.groups) {
      groups.push_back(rank.split(members, "part"));
    }
    rank.barrier("start");
    if (rank.rank() == 1) {
      rank.give_up(kDiskFull);
      EXPECT_TRUE(comes(others)) << "the others still wait for rank 1, which has given up";
      throw CommError(kDiskFull);
    }
    try {
      groups[own.waits_in]->all_reduce(at::zeros({1 << 16}, at::kFloat), ReduceOp::kSum, "blocks.3")->wait();
    } catch (const CommError&) {
      others.count_down();
      throw;
    }
  }));
  EXPECT_THAT(texts, Each(kDiskFull));
}

TEST(FailuresTest, WhoGivesUpIsWaitedForInNoGroup) {
  const Waiting all = {.groups = {{0, 1, 2}}, .waits_in = 0};
  expect_told_in_groups(make_thread_group(3, kPatient), {all, all, all});
  expect_told_in_groups(make_gloo_thread_group(3, kPatient), {all, all, all});
  expect_told_in_groups(make_hierarchical_thread_group({0, 0, 1}, kPatient), {all, all, all});
}

/// Two machines with two tensor ranks each: rank 3 waits for rank 1 over gloo, rank 2 for rank 3 over shared memory,
/// and rank 0 for rank 2 over gloo.
TEST(FailuresTest, WhoWaitsForWhoWaitsForTheOneThatGaveUpIsToldToo) {
  expect_told_in_groups(make_hierarchical_thread_group({0, 0, 1, 1}, kPatient),
                        {{.groups = {{0, 1}, {0, 2}}, .waits_in = 1},
                         {.groups = {{0, 1}, {1, 3}}, .waits_in = 0},
                         {.groups = {{2, 3}, {0, 2}}, .waits_in = 0},
                         {.groups = {{2, 3}, {1, 3}}, .waits_in = 1}});
}

/// Rank 0 waits for rank 4, which goes, and ends the calls of its machine. Of these rank 1 waits in a group within it,
/// and rank 3, on the other machine, for rank 1.
TEST(FailuresTest, WhoIsEndedByItsMachineIsWaitedForInNoGroup) {
  Group group = make_hierarchical_thread_group({0, 0, 0, 1, 1}, kPatient);
  const std::vector<Groups> parts = {{{0}, {0}}, {{1, 2}, {1, 3}}, {{1, 2}, {2}}, {{3}, {1, 3}}, {{4}, {4}}};
  std::latch told(1);
  const auto texts = messages(run_ranks_to_end(group, [&](Communicator& rank) {
    const int own = rank.rank();
    Group groups;
    for (const std::vector<int>& members : parts[static_cast<size_t>(own)]) {
      groups.push_back(rank.split(members, "part"));
    }
    rank.barrier("start");
    const at::Tensor buffer = at::zeros({1 << 16}, at::kFloat);
    if (own == 4) {
      groups.clear();
      group[4].reset();
    } else if (own == 2) {
      EXPECT_TRUE(comes(told)) << "rank 3 still waits for rank 1, which has ended";
    } else if (own == 0) {
      rank.recv(buffer, 4, "activations")->wait();
    } else if (own == 1) {
      try {
        groups[0]->all_reduce(buffer, ReduceOp::kSum, "blocks.3")->wait();
      } catch (const CommError&) {
        comes(told);
        throw;
      }
    } else {
      try {
        groups[1]->all_reduce(buffer, ReduceOp::kSum, "blocks.3")->wait();
      } catch (const CommError&) {
        told.count_down();
        throw;
      }
    }
  }));
  EXPECT_THAT(texts[0], HasSubstr("rank 4 of machine 1 (here) was lost in message 1 (recv of activations)"));
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_EQ(texts[3], texts[0]);
}

TEST(FailuresTest, ASegmentIsNotTakenForAnotherThatIsInItsPlace) {
  const FileDescriptor segment = create_segment("assay-test", 4096);
  const FileDescriptor other = create_segment("assay-test", 4096);
  SegmentAddress address = address_of(segment);
  EXPECT_TRUE(open_segment(address, "rank 2").valid());
  address.fd = other.get();
  try {
    (void)open_segment(address, "rank 2");
    ADD_FAILURE() << "the other segment was taken";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 2 (process "), HasSubstr("has ended while the ranks met")));
  }
}

TEST(FailuresTest, OverGlooARankOfAnotherRunIsNotMet) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  const auto hosts = std::make_shared<HostMap>(std::vector<HostIdentity>(2, {.local_world_size = 2}));
  std::vector<std::string> texts(2);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        const auto run = static_cast<uint64_t>(4711 + rank);
        connect_gloo(make_gloo_job(store, rank, hosts, kPatient, run), rank, 2);
      } catch (const CommError& error) {
        texts[static_cast<size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& rank : ranks) {
    rank.join();
  }
  EXPECT_THAT(texts, Each(HasSubstr("a rank of another run answers")));
}

/// A rank that is gone before others make a group with it.
void expect_named_when_groups_are_made(Group group) {
  const size_t last = group.size() - 1;
  std::thread([&] { group[last].reset(); }).join();
  group.pop_back();
  const double start = MonotonicSeconds();
  const auto texts = messages(run_ranks_to_end(group, [](Communicator& rank) {
    std::vector<int> all(static_cast<size_t>(rank.size()));
    std::iota(all.begin(), all.end(), 0);
    rank.split(all, "data");
  }));
  EXPECT_THAT(texts, Each(AllOf(HasSubstr("lost in"), HasSubstr("the making of groups"))));
  EXPECT_LT(MonotonicSeconds() - start, 300);
}

TEST(FailuresTest, WhoIsGoneIsNotWaitedForWhenGroupsAreMade) {
  const CommOptions patient = {.deadline_seconds = 600, .arena_bytes = 16 << 20};
  expect_named_when_groups_are_made(make_gloo_thread_group(2, patient));
  expect_named_when_groups_are_made(make_hierarchical_thread_group({0, 1}, patient));
}

TEST(FailuresTest, MemoryThatDoesNotSufficeOnTheWayEndsAllRanks) {
  const CommOptions patient = {.deadline_seconds = 600, .arena_bytes = 64 << 20};
  const Group group = make_hierarchical_thread_group({0, 0, 1}, patient);
  const double start = MonotonicSeconds();
  const std::vector<at::Tensor> buffers = {at::zeros({1 << 20}), at::zeros({1 << 20}), at::zeros({1 << 20})};
  SetMemoryBudget(LiveTensorBytes() + (1 << 10));
  const auto errors = run_ranks_to_end(group, [&](Communicator& rank) {
    rank.all_reduce(buffers[static_cast<size_t>(rank.rank())], ReduceOp::kSum, "blocks.3")->wait();
  });
  SetMemoryBudget(0);
  for (const std::string& text : messages(errors)) {
    EXPECT_THAT(text, AllOf(HasSubstr(" failed in collective "), HasSubstr("memory")));
  }
  EXPECT_LT(MonotonicSeconds() - start, 300);
}

TEST(FailuresTest, AFullArenaIsOutOfMemoryWithoutHarm) {
  const auto group = make_thread_group(1, {.arena_bytes = 1 << 20});
  EXPECT_THROW((void)group[0]->allocate(1 << 20, at::kFloat), c10::OutOfMemoryError);
  EXPECT_EQ(group[0]->allocate(1 << 10, at::kFloat).numel(), 1 << 10);
}

}  // namespace
}  // namespace assay::engine
