// Discovery spaces: which points are to be measured by which experiments, as a YAML file declares them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "space/domain.h"
#include "space/entity.h"
#include "space/repeats.h"

namespace assay::space {

/// An experiment as a space names it; whether it exists is for the reader of the space to find out.
struct ExperimentReference {
  std::string actuator;    ///< `actuatorIdentifier`, or empty
  std::string identifier;  ///< `experimentIdentifier`
  Entity parameterization;
  std::map<std::string, std::string> parameter_where;  ///< parameter to "space.yaml:12"
  std::string where;
};

/// The entities of a space are all combinations of its properties' values.
struct DiscoverySpace {
  std::string source;                ///< file name, for messages
  std::string sample_store;          ///< `sampleStoreIdentifier`, or empty
  std::vector<Property> properties;  ///< `entitySpace`, in file order
  std::vector<ExperimentReference> experiments;
  Repeats repeats;
  std::string name;                           ///< metadata
  std::string description;                    ///< metadata
  std::map<std::string, std::string> labels;  ///< metadata

  /// Number of points; an error names the property that cannot be enumerated, or says that there are more than 2^62.
  Result<int64_t> PointCount() const;
  /// Point `index` of the grid; the last property varies fastest. Requires 0 <= index < PointCount().
  Entity Point(int64_t index) const;
};

/// Reads a space. Errors name the file, the line and, for an unknown key, the nearest known one. A property that stands
/// both in `entitySpace` and in a `parameterization` is an error.
Result<DiscoverySpace> ReadDiscoverySpace(const std::string& path);
Result<DiscoverySpace> ParseDiscoverySpace(std::string_view text, const std::string& source);

}  // namespace assay::space
