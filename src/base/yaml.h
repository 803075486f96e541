// YAML documents as trees whose nodes know their line.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace assay {

/// A node of a YAML document. A cheap handle; the document lives as long as any of its nodes.
class YamlNode {
 public:
  /// Reads the first document of a file. Errors name the file and the line.
  static Result<YamlNode> ReadFile(const std::string& path);
  static Result<YamlNode> Parse(std::string_view text, std::string source);

  bool IsMap() const;
  bool IsSequence() const;
  bool IsScalar() const;
  bool IsNull() const;
  int line() const;  ///< from 1

  /// "space.yaml:7"
  std::string where() const;
  /// An InvalidArgument whose message starts with where().
  Status Error(std::string_view message) const;

  /// Fails on the first key of this map that is not in `known`, naming its line and the nearest known key.
  Status CheckKeys(const std::vector<std::string>& known) const;

  bool Has(std::string_view key) const;
  /// The value under `key`, or an error that names the line of this map and the key.
  Result<YamlNode> Get(std::string_view key) const;
  std::vector<std::pair<std::string, YamlNode>> entries() const;  ///< of a map, in file order
  std::vector<YamlNode> items() const;                            ///< of a sequence

  Result<std::string> AsText() const;
  Result<int64_t> AsInteger() const;
  Result<double> AsNumber() const;
  /// The scalar, list or map as JSON; scalars by YAML 1.2 core rules plus True/False/None, quoted ones are text.
  nlohmann::json ToJson() const;

 private:
  struct Impl;
  explicit YamlNode(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace assay
