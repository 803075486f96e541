#include "engine/comm/mesh.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::engine {
namespace {

int* length_of(MeshShape& shape, size_t axis) {
  int* const lengths[kMeshAxes] = {&shape.data, &shape.shard, &shape.pipeline, &shape.expert, &shape.tensor};
  return lengths[axis];
}

/// "data 2 x shard 4"
std::string describe(const MeshShape& shape) {
  std::vector<std::string> parts;
  const std::vector<int> lengths = shape.lengths();
  for (size_t axis = 0; axis < kMeshAxes; ++axis) {
    if (lengths[axis] != 1) {
      parts.push_back(fmt::format("{} {}", to_string(static_cast<MeshAxis>(axis)), lengths[axis]));
    }
  }
  return parts.empty() ? "a mesh of one rank" : Join(parts, " x ");
}

}  // namespace

std::string_view to_string(MeshAxis axis) {
  constexpr std::string_view kNames[kMeshAxes] = {"data", "shard", "pipeline", "expert", "tensor"};
  return kNames[static_cast<int>(axis)];
}

Result<MeshShape> resolve_mesh(MeshShape shape, int ranks) {
  const std::string asked = describe(shape);
  int64_t product = 1;
  int* open = nullptr;
  for (size_t axis = 0; axis < kMeshAxes; ++axis) {
    int* length = length_of(shape, axis);
    if (*length < 0 || (*length == 0 && open != nullptr)) {
      return Status::InvalidArgument(
          fmt::format("mesh of {}: lengths must be positive, and one at most may be left open (0)", asked));
    }
    open = *length == 0 ? length : open;
    product *= std::max(*length, 1);
  }
  if (open != nullptr && ranks % product == 0) {
    *open = static_cast<int>(ranks / product);
    product = ranks;
  }
  if (product != ranks) {
    return Status::InvalidArgument(fmt::format("mesh of {}: {} ranks do not make it up (they {} {})", asked, ranks,
                                               open != nullptr ? "must be a multiple of" : "must be", product));
  }
  return shape;
}

std::vector<int> mesh_coordinates(const MeshShape& shape, int rank) {
  const std::vector<int> lengths = shape.lengths();
  std::vector<int> coordinates(kMeshAxes);
  for (size_t axis = kMeshAxes; axis-- > 0;) {
    coordinates[axis] = rank % lengths[axis];
    rank /= lengths[axis];
  }
  return coordinates;
}

std::vector<int> mesh_members(const MeshShape& shape, const std::vector<MeshAxis>& axes, int rank) {
  const std::vector<int> own = mesh_coordinates(shape, rank);
  int64_t ranks = 1;
  for (const int length : shape.lengths()) {
    ranks *= length;
  }
  std::vector<int> members;
  for (int other = 0; other < ranks; ++other) {
    const std::vector<int> coordinates = mesh_coordinates(shape, other);
    bool same = true;
    for (size_t axis = 0; axis < kMeshAxes; ++axis) {
      const bool free = std::find(axes.begin(), axes.end(), static_cast<MeshAxis>(axis)) != axes.end();
      same = same && (free || coordinates[axis] == own[axis]);
    }
    if (same) {
      members.push_back(other);
    }
  }
  return members;
}

Mesh::Mesh(Communicator& world, const MeshShape& shape)
    : world_(world), shape_(shape), coordinates_(mesh_coordinates(shape, world.rank())) {
  const Result<MeshShape> resolved = resolve_mesh(shape, world.size());
  TORCH_CHECK(resolved.ok(), resolved.status().message());
  TORCH_CHECK(resolved->lengths() == shape.lengths(), "a mesh needs every length: call resolve_mesh() first");
}

Communicator* Mesh::group(const std::vector<MeshAxis>& axes) {
  std::vector<MeshAxis> divided;
  std::vector<std::string> names;
  for (const MeshAxis axis : axes) {
    if (length(axis) > 1) {
      divided.push_back(axis);
      names.emplace_back(to_string(axis));
    }
  }
  if (divided.empty()) {
    return nullptr;
  }
  const std::vector<int> members = mesh_members(shape_, divided, world_.rank());
  const bool parts_of_model =
      std::ranges::count(divided, MeshAxis::kTensor) + std::ranges::count(divided, MeshAxis::kPipeline) > 0;
  if (static_cast<int>(members.size()) == world_.size() && !parts_of_model) {
    return &world_;
  }
  std::unique_ptr<Communicator>& group = groups_[divided];
  if (group == nullptr) {
    group = world_.split(members, Join(names, "+"));
  }
  return group.get();
}

}  // namespace assay::engine
