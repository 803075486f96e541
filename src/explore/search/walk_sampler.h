// A walk through the entities of a space: in order or at random, one by one or a group at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

#include "explore/search/grid.h"
#include "explore/search/sampler.h"
#include "explore/search/untried.h"

namespace assay::explore {

struct Walk {
  bool random = false;  ///< which group comes next, or which entity where they are not grouped
  /// Axes of the entities: those that are alike on all of these are a group, whose members follow each other in the
  /// space's order. Empty: each entity by itself.
  std::vector<size_t> grouped_by = {};
  std::optional<std::vector<int64_t>> entities = {};  ///< by their place among the space's; nothing: all of them
  std::unordered_set<int64_t> left_out = {};          ///< of all of them
};

/// Gives out every experiment of an entity before those of the next. Holds nothing of what it was not given, so the
/// space may have any number of entities.
class WalkSampler : public Sampler {
 public:
  /// `points` as Grid makes it of a space: its last axis are the experiments.
  WalkSampler(const Grid& points, Walk walk, uint64_t seed);

  std::optional<int64_t> Next() override;

 private:
  std::optional<int64_t> NextEntity();
  std::optional<int64_t> NextGroup();
  int64_t BeginOf(int64_t group) const;
  int64_t GroupCount() const;
  /// What stands at a place of the walk's own order, in which the grouping axes vary slowest.
  int64_t NumberAt(int64_t place) const { return walk_.entities ? numbers_[static_cast<size_t>(place)] : place; }
  int64_t NumberOf(int64_t entity) const;
  int64_t EntityOf(int64_t number) const;
  void ListGroups();

  Walk walk_;
  Grid entities_;
  std::vector<size_t> slowest_first_;  ///< axes of the entities in the walk's order
  Grid reordered_;                     ///< those axes
  int64_t members_ = 1;                ///< of a whole group
  std::vector<int64_t> numbers_;       ///< of the listed entities, ascending
  std::vector<int64_t> begins_;        ///< of their groups in it, and its end
  std::optional<Untried> groups_;      ///< that a random walk did not come to yet
  int64_t next_group_ = 0;
  int64_t place_ = 0;  ///< of the group under way
  int64_t end_ = 0;
  int64_t experiments_ = 1;
  int64_t experiment_ = 0;  ///< that comes next at `entity_`
  int64_t entity_ = 0;
};

}  // namespace assay::explore
