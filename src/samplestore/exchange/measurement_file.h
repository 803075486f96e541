// Files that hold whole measurements, in any of the formats that there are. A format is a file beside this one and a
// row in the table of measurement_file.cc.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "samplestore/measurement.h"

namespace assay::samplestore {

/// Writes a file beside its place; only Commit() puts it there, whole.
class MeasurementWriter {
 public:
  virtual ~MeasurementWriter() = default;
  virtual Status Write(const Measurement& measurement) = 0;
  virtual Status Commit() = 0;
};

/// A row of the table of formats.
struct FileFormat {
  std::string_view name;
  std::string_view ending;  ///< of a file's name, by which it is chosen; empty: only by its own
  Result<std::unique_ptr<MeasurementWriter>> (*create)(const std::string& path);
  Status (*read)(const std::string& path, const std::function<Status(Measurement)>& take);
  std::string_view other_ending = {};  ///< that chooses it too; empty: there is none
};

std::vector<std::string> FileFormatNames();

/// The one named `name`; where that is empty, by the ending of `path`: JSON lines for one that is not known.
Result<const FileFormat*> FindFileFormat(std::string_view name, std::string_view path);

}  // namespace assay::samplestore
