// Typed reading of the keys of a config.json, with errors that name the file and the key.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::architecture {

/// A view of one JSON object. As in transformers, a null counts as absent.
///
/// The first error is kept, one line such as "m/config.json: hidden_size must be an integer of at least 1, not -4", and
/// the read that met it returns a legal value (the minimum, 1, 0, false, no text), so that a caller reads all it needs
/// and asks status() once at the end.
class ConfigReader {
 public:
  /// `object` and its storage must outlive the reader; `source` is a file name, with a key path for nested objects.
  ConfigReader(const nlohmann::json& object, std::string source);

  bool Has(std::string_view key) const;
  /// Like Has(), but true for a null as well.
  bool Contains(std::string_view key) const;

  std::vector<std::string> Keys() const;

  /// Whether the value of any key is an object.
  bool HoldsObjects() const;

  int64_t Integer(std::string_view key, int64_t minimum, int64_t maximum = INT64_MAX);
  int64_t IntegerOr(std::string_view key, int64_t minimum, int64_t absent);
  /// Finite and greater than zero.
  double Positive(std::string_view key);
  double PositiveOr(std::string_view key, double absent);
  /// Finite and at least zero.
  double NonNegativeOr(std::string_view key, double absent);
  /// A list of two numbers of at least 0 in order, of which the second may be without end, as transformers writes that
  /// ({"__float__": "Infinity"}); null or absent: from `absent` on without end.
  std::pair<double, double> LimitsOr(std::string_view key, double absent);
  /// Whether it is there and 0, or there and a text.
  bool IsZero(std::string_view key) const;
  bool IsText(std::string_view key) const;
  bool BooleanOr(std::string_view key, bool absent);
  std::string Text(std::string_view key);
  std::string TextOr(std::string_view key, std::string_view absent);

  /// None when it is absent; an error when it is no list of texts.
  std::optional<std::vector<std::string>> TextList(std::string_view key);

  /// A reader of the object under `key`, or none when it is absent or empty. Its errors are this reader's too.
  std::optional<ConfigReader> Object(std::string_view key);

  /// An error about this file; the first one counts.
  void Fail(const std::string& message);
  const Status& status() const { return *first_error_; }

 private:
  ConfigReader(const nlohmann::json& object, std::string source, std::shared_ptr<Status> first_error);
  const nlohmann::json* Find(std::string_view key) const;
  /// Null, and an error, when it is missing.
  const nlohmann::json* Require(std::string_view key);
  void FailValue(std::string_view key, std::string_view expected, const nlohmann::json& got);
  double Number(std::string_view key, const nlohmann::json& value, bool zero_allowed);

  const nlohmann::json* object_;
  std::string source_;
  std::shared_ptr<Status> first_error_;  ///< of the reader of the whole file, and of those of its parts
};

/// Where the config.json of a Hugging Face model folder is. NotFound when the folder or the file is missing.
Result<std::string> ConfigPath(const std::string& model_dir);

}  // namespace assay::architecture
