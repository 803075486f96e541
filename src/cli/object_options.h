// What the verbs of `assay object` share: how a store is reached, places, interruption.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "cli/object_decorators.h"
#include "storage/object_store.h"
#include "storage/open.h"
#include "storage/options.h"

namespace assay::cli {

/// A URI with its store. `key` is empty for a whole bucket; for a folder it ends with '/'.
struct ObjectPlace {
  std::string uri;
  storage::StoreUri parsed;
  std::shared_ptr<storage::ObjectStore> store;
  std::string key;

  bool is_file() const { return parsed.scheme == "file"; }
};

/// The flags that say how a store is reached. They win over --config, which wins over the environment.
class StoreFlags {
 public:
  void AddTo(CLI::App& app);
  Result<storage::StoreOptions> Load(const std::string& scheme) const;
  /// A path that is a folder is taken as one, with or without its '/'.
  Result<ObjectPlace> Open(const std::string& uri) const;
  /// Both; one store where they are in the same bucket.
  Result<std::pair<ObjectPlace, ObjectPlace>> OpenBoth(const std::string& from, const std::string& to) const;
  /// What Open() puts around the stores; none unless the verb adds its flags.
  StoreDecorators& decorators() const { return *decorators_; }

 private:
  template <typename T>
  void Add(CLI::App& app, const char* name, const char* help, T storage::StoreOptions::* field, const char* type);
  void AddBytes(CLI::App& app, const char* name, const char* help, int64_t storage::StoreOptions::* field);
  /// The flags of an option that one kind of store has.
  void AddOwn(CLI::App& app, const storage::OwnOption& option);
  void AddSwitch(CLI::App& app, const char* name, const char* help, bool storage::StoreOptions::* field, bool value);

  std::string config_;
  std::vector<std::function<void(storage::StoreOptions&)>> given_;
  std::unique_ptr<StoreDecorators> decorators_ = std::make_unique<StoreDecorators>();
};

/// Flags of what is written.
class WriteFlags {
 public:
  void AddTo(CLI::App& app);
  Result<storage::WriteOptions> Make() const;

 private:
  std::string content_type_;
  std::vector<std::string> metadata_;
  bool if_absent_ = false;
  CLI::Option* if_match_given_ = nullptr;
  std::string if_match_;
};

/// An object's key is needed, not a bucket's or a folder's.
Status CheckIsObject(const ObjectPlace& place);
/// What a copy of the object is called in a folder.
std::string FileName(const ObjectPlace& place);
/// With one '/' at its end, unless it is empty.
std::string AsFolder(std::string key);

/// A cancel flag that follows Ctrl-C while this lives.
class InterruptFlag {
 public:
  InterruptFlag();
  storage::CancelFlag get() const { return &flag_; }

 private:
  std::atomic<bool> flag_ = false;
  std::jthread watcher_;
};

}  // namespace assay::cli
