#include <algorithm>

#include "experiment/connector/connector.h"

namespace assay::experiment {

const std::vector<ConnectorInfo>& Connectors() {
  static const std::vector<ConnectorInfo> connectors = {
      {.name = "assay", .is_ours = true, .schemes = {}, .compressions = {"zstd", "gz", "bz2", "br", "snappy"}},
      {.name = "streaming", .schemes = {"file", "s3"}, .compressions = {"zstd", "gz", "bz2", "br", "snappy"}},
      {.name = "litdata", .schemes = {"file", "s3"}, .compressions = {"zstd"}},
      {.name = "fsspec", .schemes = {"file", "s3"}, .compressions = {"zstd", "gz"}},
      {.name = "s3torchconnector", .schemes = {"s3"}, .compressions = {"zstd", "gz"}},
      {.name = "assay-copy", .is_ours = true, .schemes = {}, .compressions = {"zstd", "gz", "bz2", "br", "snappy"}},
  };
  return connectors;
}

const ConnectorInfo& ConnectorNamed(const std::string& name) {
  return *std::ranges::find_if(Connectors(), [&](const ConnectorInfo& connector) { return name == connector.name; });
}

}  // namespace assay::experiment
