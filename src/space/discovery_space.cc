#include "space/discovery_space.h"

#include <fmt/format.h>

namespace assay::space {

Result<int64_t> DiscoverySpace::PointCount() const {
  constexpr int64_t kMaxPoints = int64_t{1} << 62;
  int64_t count = 1;
  for (const Property& property : properties) {
    const std::optional<int64_t> size = property.domain.size();
    if (!size) {
      return Status::InvalidArgument(
          fmt::format("{}: {}: {} cannot be enumerated: give `values`, or a range with an interval", property.where,
                      property.identifier, property.domain.Describe()));
    }
    if (*size > kMaxPoints / count) {
      return Status::InvalidArgument(fmt::format("{}: the space has more than 2^62 points", source));
    }
    count *= *size;
  }
  return count;
}

Entity DiscoverySpace::Point(int64_t index) const {
  Entity entity;
  for (auto property = properties.rbegin(); property != properties.rend(); ++property) {
    const int64_t size = *property->domain.size();
    entity[property->identifier] = property->domain.At(index % size);
    index /= size;
  }
  return entity;
}

}  // namespace assay::space
