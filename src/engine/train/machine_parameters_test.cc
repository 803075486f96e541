#include "engine/train/machine_parameters.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/files.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
#include "engine/model/decoder.h"
#include "engine/model/load.h"
#include "engine/model/mapped_pages.h"
#include "engine/model/safetensors.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kConfig[] = R"({"model_type": "llama", "vocab_size": 32, "hidden_size": 16, "intermediate_size": 24,
  "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1})";
constexpr uint64_t kSeed = 3;
constexpr char kWhat[] = "read the model";

/// By rank, the number of its machine.
RankEnvironment environment_of(int rank, const std::vector<int>& machines) {
  const auto own = machines.begin() + rank;
  return {.rank = rank,
          .world_size = static_cast<int>(machines.size()),
          .local_rank = static_cast<int>(std::count(machines.begin(), own, *own)),
          .local_world_size = static_cast<int>(std::ranges::count(machines, *own)),
          .group = fmt::format("{}", *own)};
}

/// All of them on one.
std::vector<int> machines_of(int ranks) {
  return std::vector<int>(static_cast<size_t>(ranks), 0);
}

/// The inode of the file that is mapped where `tensor` lies.
std::string file_that_holds(const at::Tensor& tensor) {
  const auto address = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    uintptr_t begin = 0;
    uintptr_t end = 0;
    std::string rights, offset, device, inode;
    char dash = 0;
    fields >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> inode;
    if (begin <= address && address < end) {
      return inode;
    }
  }
  return "none";
}

class MachineParametersTest : public ::testing::Test {
 protected:
  MachineParametersTest() { throw_if_error(WriteFileAtomically(dir() + "/config.json", kConfig)); }

  const std::string& dir() const { return folder_.path(); }

  std::vector<NamedTensor> alone(at::ScalarType dtype) {
    return load_model(dir(), dtype, at::kCPU, kSeed, random_weights_)->parameters();
  }

  void write_weights() { write_safetensors(dir() + "/model.safetensors", alone(at::kFloat)); }

  MadeParameters made_by(Communicator& rank, at::ScalarType dtype, const TensorPlace& place = {}) {
    return made_by(rank, dtype, environment_of(rank.rank(), machines_of(rank.size())), place);
  }

  MadeParameters made_by(Communicator& rank, at::ScalarType dtype, const RankEnvironment& environment,
                         const TensorPlace& place = {}) {
    return make_on_machine(&rank, environment, at::kCPU, kWhat,
                           [&] { return parameter_maker(dir(), dtype, at::kCPU, kSeed, place); });
  }

  /// Loads the model on every rank of `group`, and compares it with that of one rank.
  void expect_the_same_model(const testing::Group& group, const std::vector<int>& machines, at::ScalarType dtype,
                             const std::vector<int>& local_ranks = {}) {
    const std::vector<NamedTensor> expected = alone(dtype);
    testing::run_ranks(group, [&](Communicator& rank) {
      RankEnvironment environment = environment_of(rank.rank(), machines);
      if (!local_ranks.empty()) {
        environment.local_rank = local_ranks[static_cast<size_t>(rank.rank())];
      }
      const MadeParameters made = made_by(rank, dtype, environment);
      EXPECT_EQ(made.empty(), std::ranges::count(machines, machines[static_cast<size_t>(rank.rank())]) == 1);
      bool random_weights = false;
      const auto model = load_model(dir(), dtype, at::kCPU, kSeed, random_weights, {}, {}, made);
      EXPECT_EQ(random_weights, random_weights_);
      const std::vector<NamedTensor> parameters = model->parameters();
      ASSERT_EQ(parameters.size(), expected.size());
      for (size_t i = 0; i < parameters.size(); ++i) {
        EXPECT_TRUE(parameters[i].second.equal(expected[i].second)) << parameters[i].first;
        EXPECT_TRUE(parameters[i].second.requires_grad());
        EXPECT_EQ(is_mapped(parameters[i].second), !made.empty()) << parameters[i].first;
      }
      rank.barrier("loaded");
      if (!made.empty()) {
        const std::lock_guard lock(mutex_);
        segments_.insert(file_that_holds(parameters.front().second));
      }
      rank.barrier("seen");
    });
  }

  TemporaryDirectory folder_ = value_or_throw(TemporaryDirectory::Create("machine-parameters"));
  bool random_weights_ = false;
  std::mutex mutex_;
  std::set<std::string> segments_;  ///< that the parameters of any rank lie in
};

TEST_F(MachineParametersTest, DrawnOnesAreThoseOfOneRank) {
  expect_the_same_model(make_thread_group(2), {0, 0}, at::kFloat);
  EXPECT_TRUE(random_weights_);
  EXPECT_THAT(segments_, SizeIs(1));
}

TEST_F(MachineParametersTest, ConvertedOnesAreThoseOfOneRank) {
  write_weights();
  expect_the_same_model(make_thread_group(3), {0, 0, 0}, at::kBFloat16);
  EXPECT_FALSE(random_weights_);
}

/// Ranks may be dealt to machines in any way, and machines may have unlike numbers of them.
TEST_F(MachineParametersTest, EachMachineMakesItsOwn) {
  for (const std::vector<int>& machines : {std::vector{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 1}, {0, 1, 1, 0, 1}}) {
    expect_the_same_model(make_thread_group(static_cast<int>(machines.size())), machines, at::kFloat);
    const bool one_is_alone = std::ranges::count(machines, 1) == 1;
    EXPECT_THAT(std::exchange(segments_, {}), SizeIs(one_is_alone ? 1 : 2));
  }
}

/// As where a launcher gives none and ranks are not dealt to machines one after the other.
TEST_F(MachineParametersTest, LocalRanksMayRepeatAndHaveGaps) {
  expect_the_same_model(make_thread_group(3), {0, 0, 0}, at::kFloat, {0, 1, 1});
  expect_the_same_model(make_thread_group(4), {0, 0, 0, 1}, at::kFloat, {2, 0, 5, 0});
}

TEST_F(MachineParametersTest, TwoFirstRanksOfAMachineAreRefused) {
  const auto errors = testing::run_ranks_to_end(make_thread_group(2), [&](Communicator& rank) {
    RankEnvironment environment = environment_of(rank.rank(), {0, 0});
    environment.local_rank = 0;
    made_by(rank, at::kFloat, environment);
  });
  for (const std::exception_ptr& error : errors) {
    EXPECT_THAT([&] { std::rethrow_exception(error); },
                ::testing::Throws<std::exception>(
                    ::testing::Property(&std::exception::what, HasSubstr("2 ranks of the machine of rank"))));
  }
}

TEST_F(MachineParametersTest, TensorRanksHaveTheirPartsThere) {
  for (const bool in_file : {false, true}) {
    testing::run_ranks(make_thread_group(4), [&](Communicator& rank) {
      const TensorPlace place{rank.rank() % 2, 2};
      const MadeParameters made = made_by(rank, at::kFloat, place);
      bool random_weights = false;
      const auto model = load_model(dir(), at::kFloat, at::kCPU, kSeed, random_weights, place, {}, made);
      for (const auto& [name, parameter] : model->parameters()) {
        const bool of_columns = name.ends_with("down_proj.weight") || name.ends_with("o_proj.weight");
        EXPECT_TRUE(is_mapped(parameter)) << name;
        EXPECT_EQ(made.contains(name), of_columns || !in_file) << name;
      }
      const auto whole = load_model(dir(), at::kFloat, at::kCPU, kSeed, random_weights);
      const std::vector<NamedTensor> expected = whole->parameters();
      const std::vector<NamedTensor> parts = model->parameters();
      for (size_t i = 0; i < expected.size(); ++i) {
        const auto& [name, tensor] = expected[i];
        EXPECT_TRUE(parts[i].second.equal(cut_for_rank(decoder_split_rules(), name, tensor, place))) << name;
      }
    });
    write_weights();
  }
}

TEST_F(MachineParametersTest, ARankMapsNoMoreThanItUses) {
  const int64_t before = mapped_bytes();
  testing::run_ranks(make_thread_group(2), [&](Communicator& rank) {
    at::Tensor last = made_by(rank, at::kFloat).at("model.norm.weight");
    rank.barrier("one is left");
    EXPECT_EQ(mapped_bytes() - before, 2 * ::sysconf(_SC_PAGESIZE));
    rank.barrier("seen");
  });
  EXPECT_EQ(mapped_bytes(), before);
}

TEST_F(MachineParametersTest, WhatOneRankWritesTheOthersDoNotSee) {
  const testing::Group group = make_thread_group(2);
  testing::run_ranks(group, [&](Communicator& rank) {
    const MadeParameters made = made_by(rank, at::kFloat);
    const at::Tensor norm = made.at("model.norm.weight");
    if (rank.rank() == 0) {
      norm.fill_(7);
    }
    rank.barrier("written");
    EXPECT_EQ(norm[0].item<float>(), rank.rank() == 0 ? 7 : 1);
    rank.barrier("read");
  });
}

TEST_F(MachineParametersTest, WhatTheFileHoldsAsItIsWantedStaysThere) {
  write_weights();
  testing::run_ranks(make_thread_group(2),
                     [&](Communicator& rank) { EXPECT_THAT(made_by(rank, at::kFloat), SizeIs(0)); });
}

TEST_F(MachineParametersTest, ARankAloneOnItsMachineMakesThemItself) {
  EXPECT_TRUE(
      make_on_machine(nullptr, {}, at::kCPU, kWhat, [&]() -> ParameterMaker { throw StatusError(Status()); }).empty());
  testing::run_ranks(make_thread_group(2), [&](Communicator& rank) {
    EXPECT_THAT(made_by(rank, at::kFloat, environment_of(rank.rank(), {0, 1})), SizeIs(0));
  });
}

TEST_F(MachineParametersTest, AMissingTensorIsNamedOnEveryRank) {
  std::vector<NamedTensor> parameters = alone(at::kFloat);
  ASSERT_EQ(parameters[1].first, "model.layers.0.self_attn.q_proj.weight");
  parameters.erase(parameters.begin() + 1);
  write_safetensors(dir() + "/model.safetensors", parameters);
  const testing::Group group = make_thread_group(2);
  const auto errors = testing::run_ranks_to_end(group, [&](Communicator& rank) { made_by(rank, at::kBFloat16); });
  for (const std::exception_ptr& error : errors) {
    EXPECT_THAT([&] { std::rethrow_exception(error); },
                ::testing::ThrowsMessage<StatusError>(
                    AllOf(HasSubstr("'model.layers.0.self_attn.q_proj.weight' is missing"), Not(HasSubstr("\n")))));
  }
}

}  // namespace
}  // namespace assay::engine
