#include "engine/train/machine_parameters.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/files.h"
#include "engine/comm/hierarchy/hierarchical_communicator.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"
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

class MachineParametersTest : public ::testing::Test {
 protected:
  MachineParametersTest() { throw_if_error(WriteFileAtomically(dir() + "/config.json", kConfig)); }

  const std::string& dir() const { return folder_.path(); }

  std::vector<NamedTensor> alone(at::ScalarType dtype) {
    return load_model(dir(), dtype, at::kCPU, kSeed, random_weights_)->parameters();
  }

  void write_weights() { write_safetensors(dir() + "/model.safetensors", alone(at::kFloat)); }

  MadeParameters made_by(Communicator& rank, at::ScalarType dtype, int local_ranks = 2) {
    const RankEnvironment environment{.rank = rank.rank(),
                                      .world_size = rank.size(),
                                      .local_rank = rank.rank() % local_ranks,
                                      .local_world_size = local_ranks};
    return make_on_machine(&rank, environment, at::kCPU, kWhat,
                           [&] { return parameter_maker(dir(), dtype, at::kCPU, kSeed); });
  }

  /// Loads the model on every rank of `group`, and compares it with that of one rank.
  void expect_the_same_model(const testing::Group& group, int local_ranks, at::ScalarType dtype) {
    const std::vector<NamedTensor> expected = alone(dtype);
    testing::run_ranks(group, [&](Communicator& rank) {
      const MadeParameters made = made_by(rank, dtype, local_ranks);
      EXPECT_THAT(made, SizeIs(expected.size()));
      bool random_weights = false;
      const auto model = load_model(dir(), dtype, at::kCPU, kSeed, random_weights, {}, {}, made);
      EXPECT_EQ(random_weights, random_weights_);
      const std::vector<NamedTensor> parameters = model->parameters();
      ASSERT_EQ(parameters.size(), expected.size());
      for (size_t i = 0; i < parameters.size(); ++i) {
        EXPECT_TRUE(parameters[i].second.equal(expected[i].second)) << parameters[i].first;
        EXPECT_TRUE(parameters[i].second.requires_grad());
        EXPECT_TRUE(is_mapped(parameters[i].second)) << parameters[i].first;
      }
    });
  }

  TemporaryDirectory folder_ = value_or_throw(TemporaryDirectory::Create("machine-parameters"));
  bool random_weights_ = false;
};

TEST_F(MachineParametersTest, DrawnOnesAreThoseOfOneRank) {
  expect_the_same_model(make_thread_group(2), 2, at::kFloat);
  EXPECT_TRUE(random_weights_);
}

TEST_F(MachineParametersTest, ConvertedOnesAreThoseOfOneRank) {
  write_weights();
  expect_the_same_model(make_thread_group(3), 3, at::kBFloat16);
  EXPECT_FALSE(random_weights_);
}

TEST_F(MachineParametersTest, EachMachineMakesItsOwn) {
  expect_the_same_model(make_hierarchical_thread_group({0, 0, 1, 1}), 2, at::kFloat);
}

TEST_F(MachineParametersTest, TensorRanksHaveTheirRowsThere) {
  const testing::Group group = make_thread_group(2);
  testing::run_ranks(group, [&](Communicator& rank) {
    const MadeParameters made = made_by(rank, at::kFloat);
    bool random_weights = false;
    const auto model = load_model(dir(), at::kFloat, at::kCPU, kSeed, random_weights, {rank.rank(), 2}, {}, made);
    for (const auto& [name, parameter] : model->parameters()) {
      const bool of_columns = name.ends_with("down_proj.weight") || name.ends_with("o_proj.weight");
      EXPECT_NE(is_mapped(parameter), of_columns) << name;
    }
  });
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

TEST_F(MachineParametersTest, GoWithTheLastOfThem) {
  const int64_t before = mapped_bytes();
  testing::run_ranks(make_thread_group(2), [&](Communicator& rank) {
    at::Tensor last = made_by(rank, at::kFloat).at("model.norm.weight");
    rank.barrier("one is left");
    EXPECT_GT(mapped_bytes(), before);
  });
  EXPECT_EQ(mapped_bytes(), before);
}

TEST_F(MachineParametersTest, WhatTheFileHoldsAsItIsWantedStaysThere) {
  write_weights();
  testing::run_ranks(make_thread_group(2),
                     [&](Communicator& rank) { EXPECT_THAT(made_by(rank, at::kFloat), SizeIs(0)); });
}

TEST_F(MachineParametersTest, ARankAloneOnItsMachineMakesThemItself) {
  EXPECT_TRUE(
      make_on_machine(nullptr, {}, at::kCPU, kWhat, [&]() -> ParameterMaker { throw StatusError(Status()); }).empty());
  testing::run_ranks(make_hierarchical_thread_group({0, 1}),
                     [&](Communicator& rank) { EXPECT_THAT(made_by(rank, at::kFloat, /*local_ranks=*/1), SizeIs(0)); });
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
