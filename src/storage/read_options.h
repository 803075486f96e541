// StoreOptions out of the environment and YAML files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/options.h"

namespace assay::storage {

/// A variable of the environment; an empty value counts as absent.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;
VariableLookup ProcessVariables();

/// One option as it is spelled outside of C++.
struct OptionName {
  std::string_view key;       ///< in YAML: "part_bytes"
  std::string_view variable;  ///< "ASSAY_STORAGE_PART_BYTES"
  std::string_view meaning;   ///< one line, with the unit
};
/// All of them, those of one kind of store too, for help and for the documentation.
std::vector<OptionName> StoreOptionNames();

/// What the environment says of stores of `scheme`, onto the defaults: first the variables that the store's own tools
/// know (StoreKind::variables), then ASSAY_STORAGE_*, which win. Those of credentials, AWS_PROFILE among them, are read
/// where credentials are. An unreadable value is an error that names its variable.
Result<StoreOptions> StoreOptionsFromEnvironment(std::string_view scheme, const VariableLookup& variable);

/// Puts what a YAML file says over `options`. Its keys are those of StoreOptionNames(), at the top for all stores and
/// below the name of a kind of store ("s3") for that one, which wins:
///
///   part_bytes: 16 MiB
///   s3:
///     endpoint: http://127.0.0.1:9000
///
/// Errors name the file, the line and the nearest known key.
Status ReadStoreOptions(const std::string& path, std::string_view scheme, StoreOptions& options);
Status ParseStoreOptions(std::string_view text, const std::string& source, std::string_view scheme,
                         StoreOptions& options);

/// The environment, and over it the file, unless `path` is empty; an empty path means ASSAY_STORAGE_OPTIONS, where
/// that is set. Flags are the caller's to put over it.
Result<StoreOptions> LoadStoreOptions(std::string_view scheme, const std::string& path,
                                      const VariableLookup& variable = ProcessVariables());

}  // namespace assay::storage
