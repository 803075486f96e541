// A report's model over time: whoever has an older one is given what has changed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace assay::serve {

/// Text that several responses share while it is sent.
using Text = std::shared_ptr<const std::string>;

/// Models are told apart by what is in their members, when they were made aside. Not thread-safe.
class ModelVersions {
 public:
  /// The model of now, an object.
  void Set(const nlohmann::json& model);
  bool empty() const { return versions_.empty(); }
  std::string version() const;

  /// {"version", "base", "parts": {member: value}}: the members that differ from those of version `base`; where that is
  /// unknown, or too old, all, and "base" is null. `base` may be what somebody made up.
  Text Since(std::string_view base);

 private:
  struct Version {
    std::string name;
    std::map<std::string, uint64_t> hashes;  ///< of the members
  };

  const Version* Find(std::string_view name) const;
  bool HasChanged(const std::string& part, const Version& since) const;

  std::map<std::string, std::string> parts_;  ///< members of the newest as JSON
  std::deque<Version> versions_;              ///< the newest at the end
  std::map<std::string, Text> answers_;       ///< of the newest, by base
};

}  // namespace assay::serve
