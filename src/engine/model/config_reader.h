// Typed reading of the keys of a config.json, with errors that name the file and the key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace assay::engine {

/// A view of one JSON object. As in transformers, a null counts as absent. All methods throw StatusError with one line
/// such as "m/config.json: hidden_size must be an integer of at least 1, not -4".
class ConfigReader {
 public:
  /// `object` and its storage must outlive the reader; `source` is a file name, with a key path for nested objects.
  ConfigReader(const nlohmann::json& object, std::string source);

  bool has(std::string_view key) const;
  /// Like has(), but true for a null as well.
  bool contains(std::string_view key) const;

  int64_t integer(std::string_view key, int64_t minimum) const;
  int64_t integer_or(std::string_view key, int64_t minimum, int64_t absent) const;
  /// Finite and greater than zero.
  double positive(std::string_view key) const;
  double positive_or(std::string_view key, double absent) const;
  /// Finite and at least zero.
  double non_negative_or(std::string_view key, double absent) const;
  bool boolean_or(std::string_view key, bool absent) const;
  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, std::string_view absent) const;

  /// A reader of the object under `key`, or none when it is absent or empty.
  std::optional<ConfigReader> object(std::string_view key) const;

  /// An error about this file.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  const nlohmann::json* find(std::string_view key) const;
  const nlohmann::json& require(std::string_view key) const;
  [[noreturn]] void fail_value(std::string_view key, std::string_view expected, const nlohmann::json& got) const;
  double number(std::string_view key, const nlohmann::json& value, bool zero_allowed) const;

  const nlohmann::json* object_;
  std::string source_;
};

/// Where the config.json of a Hugging Face model folder is. Throws StatusError when the folder or the file is missing.
std::string config_path(const std::string& model_dir);

}  // namespace assay::engine
