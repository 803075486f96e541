#include "engine/comm/mesh.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/comm/hierarchy/hierarchical_communicator.h"
#include "engine/comm/shm/shm_communicator.h"
#include "engine/comm/testing.h"

namespace assay::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MeshTest, FillsTheOpenAxis) {
  const Result<MeshShape> shape = resolve_mesh({.data = 0, .pipeline = 2, .tensor = 2}, 12);
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->data, 3);
}

TEST(MeshTest, RefusesWhatDoesNotMultiplyUp) {
  EXPECT_THAT(resolve_mesh({.shard = 2, .tensor = 2}, 6).status().message(),
              "mesh of shard 2 x tensor 2: 6 ranks do not make it up (they must be 4)");
  EXPECT_THAT(resolve_mesh({.data = 0, .tensor = 4}, 6).status().message(), HasSubstr("must be a multiple of 4"));
  EXPECT_THAT(resolve_mesh({.data = 0, .tensor = 0}, 6).status().message(), HasSubstr("one at most"));
  EXPECT_THAT(resolve_mesh({.data = -1}, 6).status().message(), HasSubstr("must be positive"));
}

TEST(MeshTest, DataIsOutermostAndTensorInnermost) {
  const MeshShape shape{.data = 2, .pipeline = 2, .tensor = 2};
  EXPECT_THAT(mesh_coordinates(shape, 6), ElementsAre(1, 0, 1, 0, 0));
  EXPECT_THAT(mesh_members(shape, {MeshAxis::kTensor}, 6), ElementsAre(6, 7));
  EXPECT_THAT(mesh_members(shape, {MeshAxis::kPipeline}, 6), ElementsAre(4, 6));
  EXPECT_THAT(mesh_members(shape, {MeshAxis::kData}, 6), ElementsAre(2, 6));
  EXPECT_THAT(mesh_members(shape, {MeshAxis::kData, MeshAxis::kTensor}, 6), ElementsAre(2, 3, 6, 7));
}

void check_groups_of_four(Communicator& world) {
  Mesh mesh(world, {.data = 2, .tensor = 2});
  const auto sum = [&](const std::vector<MeshAxis>& axes) {
    const at::Tensor value = at::full({1}, static_cast<float>(1 << world.rank()));
    mesh.group(axes)->all_reduce(value, ReduceOp::kSum, "test")->wait();
    return value.item<float>();
  };
  EXPECT_EQ(sum({MeshAxis::kData}), world.rank() % 2 == 0 ? 1 + 4 : 2 + 8);
  EXPECT_EQ(sum({MeshAxis::kTensor}), world.rank() < 2 ? 1 + 2 : 4 + 8);
  EXPECT_EQ(mesh.group({MeshAxis::kPipeline}), nullptr);
  EXPECT_EQ(mesh.group({MeshAxis::kData, MeshAxis::kPipeline}), mesh.group({MeshAxis::kData})) << "made once";
  EXPECT_EQ(mesh.group({MeshAxis::kData, MeshAxis::kTensor})->size(), 4);
  EXPECT_EQ(Mesh(world, {.data = 4}).group({MeshAxis::kData}), &world);
  EXPECT_EQ(mesh.coordinate(MeshAxis::kData), world.rank() / 2);
}

TEST(MeshTest, GroupsReduceAlongTheirAxisAlone) {
  testing::run_ranks(make_thread_group(4, {.arena_bytes = 16 << 20}), check_groups_of_four);
}

TEST(MeshTest, GroupsOverMachinesTakeWhatTheirMembersHave) {
  testing::run_ranks(make_hierarchical_thread_group({0, 0, 1, 1}, {.arena_bytes = 16 << 20}), [](Communicator& world) {
    check_groups_of_four(world);
    Mesh mesh(world, {.data = 2, .tensor = 2});
    EXPECT_EQ(mesh.group({MeshAxis::kTensor})->backend(), "shm");
    EXPECT_EQ(mesh.group({MeshAxis::kData})->backend(), "gloo");
    EXPECT_EQ(mesh.group({MeshAxis::kData, MeshAxis::kTensor})->backend(), "shm+gloo");
  });
}

TEST(MeshTest, NeedsARankForEveryPlace) {
  const auto ranks = make_thread_group(1, {.arena_bytes = 16 << 20});
  EXPECT_THROW(Mesh(*ranks[0], {.data = 2}), c10::Error);
}

}  // namespace
}  // namespace assay::engine
