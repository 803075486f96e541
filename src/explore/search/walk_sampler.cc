#include "explore/search/walk_sampler.h"

#include <algorithm>
#include <utility>

namespace assay::explore {
namespace {

Grid WithoutLastAxis(const Grid& grid) {
  return Grid(std::vector(grid.axes().begin(), grid.axes().end() - 1));
}

/// The grouping axes before all others, each in its order.
std::vector<size_t> SlowestFirst(const Grid& entities, const std::vector<size_t>& grouped_by) {
  std::vector<size_t> axes;
  for (const bool grouping : {true, false}) {
    for (size_t i = 0; i < entities.axes().size(); ++i) {
      if ((std::ranges::find(grouped_by, i) != grouped_by.end()) == grouping) {
        axes.push_back(i);
      }
    }
  }
  return axes;
}

Grid Reordered(const Grid& entities, const std::vector<size_t>& order) {
  std::vector<GridAxis> axes;
  for (const size_t axis : order) {
    axes.push_back(entities.axes()[axis]);
  }
  return Grid(std::move(axes));
}

int64_t MembersOf(const Grid& reordered, size_t grouping_axes) {
  int64_t members = 1;
  for (size_t i = grouping_axes; grouping_axes > 0 && i < reordered.axes().size(); ++i) {
    members *= reordered.axes()[i].size;
  }
  return members;
}

}  // namespace

WalkSampler::WalkSampler(const Grid& points, Walk walk, uint64_t seed)
    : walk_(std::move(walk)),
      entities_(WithoutLastAxis(points)),
      slowest_first_(SlowestFirst(entities_, walk_.grouped_by)),
      reordered_(Reordered(entities_, slowest_first_)),
      members_(MembersOf(reordered_, walk_.grouped_by.size())),
      experiments_(points.axes().back().size),
      experiment_(experiments_) {
  if (walk_.entities) {
    ListGroups();
  }
  groups_.emplace(GroupCount(), seed);
}

void WalkSampler::ListGroups() {
  for (const int64_t entity : *walk_.entities) {
    numbers_.push_back(NumberOf(entity));
  }
  std::ranges::sort(numbers_);
  for (size_t i = 0; i < numbers_.size(); ++i) {
    if (i == 0 || numbers_[i] / members_ != numbers_[i - 1] / members_) {
      begins_.push_back(static_cast<int64_t>(i));
    }
  }
  begins_.push_back(std::ssize(numbers_));
}

int64_t WalkSampler::GroupCount() const {
  return walk_.entities ? std::ssize(begins_) - 1 : entities_.size() / members_;
}

int64_t WalkSampler::BeginOf(int64_t group) const {
  return walk_.entities ? begins_[static_cast<size_t>(group)] : group * members_;
}

int64_t WalkSampler::NumberOf(int64_t entity) const {
  const std::vector<int64_t> at = entities_.At(entity);
  std::vector<int64_t> reordered;
  for (const size_t axis : slowest_first_) {
    reordered.push_back(at[axis]);
  }
  return reordered_.PositionOf(reordered);
}

int64_t WalkSampler::EntityOf(int64_t number) const {
  const std::vector<int64_t> reordered = reordered_.At(number);
  std::vector<int64_t> at(reordered.size());
  for (size_t i = 0; i < reordered.size(); ++i) {
    at[slowest_first_[i]] = reordered[i];
  }
  return entities_.PositionOf(at);
}

std::optional<int64_t> WalkSampler::NextGroup() {
  if (walk_.random) {
    return groups_->TakeAny();
  }
  return next_group_ < GroupCount() ? std::optional(next_group_++) : std::nullopt;
}

std::optional<int64_t> WalkSampler::NextEntity() {
  while (true) {
    while (place_ == end_) {
      const std::optional<int64_t> group = NextGroup();
      if (!group) {
        return std::nullopt;
      }
      place_ = BeginOf(*group);
      end_ = BeginOf(*group + 1);
    }
    const int64_t entity = EntityOf(NumberAt(place_++));
    if (!walk_.left_out.contains(entity)) {
      return entity;
    }
  }
}

std::optional<int64_t> WalkSampler::Next() {
  if (experiment_ == experiments_) {
    const std::optional<int64_t> entity = NextEntity();
    if (!entity) {
      return std::nullopt;
    }
    entity_ = *entity;
    experiment_ = 0;
  }
  return entity_ * experiments_ + experiment_++;
}

}  // namespace assay::explore
