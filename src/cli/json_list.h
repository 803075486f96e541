// A JSON array on standard output that is printed as its elements come, so that none of them is kept.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace assay::cli {

/// One element a line. What was not finished is no JSON. Belongs to one thread at a time.
class JsonList {
 public:
  void Add(const nlohmann::json& element);
  /// Closes the array, also one without elements; no newline follows.
  void Finish();

 private:
  bool begun_ = false;
};

}  // namespace assay::cli
