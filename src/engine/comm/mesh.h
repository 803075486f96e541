// The ranks of a job laid out along the axes of parallelism, and a group for each axis.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/comm/communicator.h"

namespace assay::engine {

/// Axes from the outermost to the innermost: ranks next to each other differ along tensor first, so that what talks
/// most is closest.
enum class MeshAxis { kData, kShard, kPipeline, kExpert, kTensor };
inline constexpr int kMeshAxes = 5;

std::string_view to_string(MeshAxis axis);

/// Ranks along each axis; 0 for one of them: what the others leave.
struct MeshShape {
  int data = 1;      ///< replicas
  int shard = 1;     ///< ranks that share one copy of parameters, gradients and states
  int pipeline = 1;  ///< stages
  int expert = 1;    ///< ranks that share the experts of one layer
  int tensor = 1;    ///< ranks that share single layers

  /// By MeshAxis.
  std::vector<int> lengths() const { return {data, shard, pipeline, expert, tensor}; }
};

/// `shape` with its 0 filled in. An error when the axes do not multiply up to `ranks`.
Result<MeshShape> resolve_mesh(MeshShape shape, int ranks);

/// Where `rank` stands along each axis of a resolved shape, by MeshAxis.
std::vector<int> mesh_coordinates(const MeshShape& shape, int rank);
/// The ranks that differ from `rank` along `axes` alone, ascending, itself among them.
std::vector<int> mesh_members(const MeshShape& shape, const std::vector<MeshAxis>& axes, int rank);

/// One rank's place in the mesh, with the groups that it is in.
class Mesh {
 public:
  /// `world` must outlive the mesh. Throws c10::Error when `shape` is not one of resolve_mesh() for this many ranks.
  Mesh(Communicator& world, const MeshShape& shape);

  const MeshShape& shape() const { return shape_; }
  int coordinate(MeshAxis axis) const { return coordinates_[static_cast<size_t>(axis)]; }
  int length(MeshAxis axis) const { return shape_.lengths()[static_cast<size_t>(axis)]; }
  /// This rank's group along `axes`, ascending: the ranks that differ from it in nothing else. Null when that is this
  /// rank alone; the world itself when it is all ranks, unless they are tensor ranks or stages, which errors name as
  /// such. Split from the world when first asked for, which all ranks do together; stays as long as the mesh does.
  Communicator* group(const std::vector<MeshAxis>& axes);
  /// Whether group() split the world.
  bool splits_world() const { return !groups_.empty(); }

 private:
  Communicator& world_;
  MeshShape shape_;
  std::vector<int> coordinates_;
  std::map<std::vector<MeshAxis>, std::unique_ptr<Communicator>> groups_;  ///< by axes of more than one rank
};

}  // namespace assay::engine
