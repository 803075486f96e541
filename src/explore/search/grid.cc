#include "explore/search/grid.h"

#include <algorithm>
#include <iterator>

namespace assay::explore {
namespace {

/// Ascending or descending numbers: a list in any other order says nothing of nearness.
bool IsOrdered(const space::Domain& domain) {
  const int64_t size = *domain.size();
  if (domain.type() != space::VariableType::kDiscrete) {
    return false;
  }
  const auto number = [&](int64_t i) {
    const space::Value value = domain.At(i);
    return std::holds_alternative<int64_t>(value) ? static_cast<double>(std::get<int64_t>(value))
                                                  : std::get<double>(value);
  };
  bool ascending = true;
  bool descending = true;
  for (int64_t i = 1; i < size; ++i) {
    ascending &= number(i - 1) < number(i);
    descending &= number(i - 1) > number(i);
  }
  return ascending || descending;
}

}  // namespace

Grid::Grid(const experiment::BoundSpace& space) {
  for (const space::Property& property : space.space().properties) {
    axes_.push_back({*property.domain.size(), IsOrdered(property.domain)});
  }
  axes_.push_back({std::ssize(space.experiments()), false});
}

int64_t Grid::size() const {
  int64_t size = 1;
  for (const GridAxis& axis : axes_) {
    size *= axis.size;
  }
  return size;
}

std::vector<int64_t> Grid::At(int64_t position) const {
  std::vector<int64_t> coordinates(axes_.size());
  for (size_t i = axes_.size(); i-- > 0;) {
    coordinates[i] = position % axes_[i].size;
    position /= axes_[i].size;
  }
  return coordinates;
}

int64_t Grid::PositionOf(const std::vector<int64_t>& coordinates) const {
  int64_t position = 0;
  for (size_t i = 0; i < axes_.size(); ++i) {
    position = position * axes_[i].size + coordinates[i];
  }
  return position;
}

std::vector<double> Grid::Features(int64_t position) const {
  const std::vector<int64_t> coordinates = At(position);
  std::vector<double> features;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const auto place = static_cast<double>(coordinates[i]);
    const auto steps = static_cast<double>(std::max<int64_t>(1, axes_[i].size - 1));
    features.push_back(axes_[i].ordered ? place / steps : place);
  }
  return features;
}

}  // namespace assay::explore
