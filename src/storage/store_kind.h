// What the rest of the project knows of a kind of store: a row of the table in stores.cc. A new kind is a folder that
// has one, and its line there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/object_store.h"
#include "storage/options.h"

namespace assay::storage {

/// A URI's parts, before anything is opened.
struct StoreUri {
  std::string scheme;  ///< "s3"
  std::string bucket;  ///< of oci: "bucket@namespace"; of file: the folder; of mem: any name
  std::string key;     ///< may be empty: the bucket itself; taken as it stands, nothing is decoded
};

/// How an option is given on the command line.
struct OptionFlag {
  std::string_view names;    ///< "--sse"
  std::string_view help;     ///< one line
  std::string_view value{};  ///< that the flag alone stands for; empty: one follows it
};

/// An option that only some kinds of store have: StoreOptions::own holds it.
struct OwnOption {
  enum class Form {
    kText,
    kSwitch,  ///< true or false
    kWord,    ///< one of `words`
  };
  std::string_view key;       ///< in YAML: "encryption"
  std::string_view variable;  ///< "ASSAY_STORAGE_ENCRYPTION"
  std::string_view meaning;   ///< one line, with the unit
  Form form = Form::kText;
  std::span<const std::string_view> words{};
  std::span<const OptionFlag> flags{};
};

/// A variable of another tool that means one of our options, under its key.
struct ForeignVariable {
  std::string_view variable;
  std::string_view key;
};

struct StoreKind {
  std::string_view name;                      ///< of its section in YAML files
  std::span<const std::string_view> schemes;  ///< of its URIs: "s3"
  std::string_view pattern;                   ///< of its URIs, for messages: "s3://bucket/key"
  /// What follows "scheme://". ParseBucketUri() where it is a bucket and a key.
  Result<StoreUri> (*parse)(std::string_view scheme, std::string_view rest);
  /// Nothing is sent.
  Result<std::unique_ptr<ObjectStore>> (*open)(const StoreUri& uri, const StoreOptions& options);
  bool is_remote = true;                         ///< reached over a network, so that all options of that count
  std::span<const OwnOption> options{};          ///< keys differ from those of all stores
  std::span<const ForeignVariable> variables{};  ///< of two for the same option, the first that is set wins
  /// What a copy of an object is called in a folder; null: what is behind the last '/' of its key.
  std::string (*file_name)(std::string_view key) = nullptr;
};

/// "bucket/key".
Result<StoreUri> ParseBucketUri(std::string_view scheme, std::string_view rest);

}  // namespace assay::storage
