// Where a checkpoint stands: one object, or the objects under a prefix.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "checkpoint/tensor/data_source.h"
#include "storage/object_store.h"

namespace assay::checkpoint {

struct Place {
  std::shared_ptr<storage::ObjectStore> store{};
  std::string key{};  ///< of an object; of a folder empty or with '/' at its end
  bool is_folder = false;
  storage::CancelFlag cancel = nullptr;

  std::string uri() const { return store->Uri(key); }
  /// The key of a file of the checkpoint: of a folder that in it, else that beside the object.
  std::string KeyOf(std::string_view name) const;
  /// The name that KeyOf() makes `key` of.
  std::string NameOf(std::string_view key) const;
  /// The last part of the key, without '/'.
  std::string LastName() const;
};

/// The files of a checkpoint, each opened once. Belongs to one thread.
class FileSet {
 public:
  explicit FileSet(Place place) : place_(std::move(place)) {}
  virtual ~FileSet() = default;

  const Place& place() const { return place_; }
  /// NotFound, naming the file, where it is missing.
  Result<std::shared_ptr<const DataSource>> Open(const std::string& name);
  /// Where the tensor of `bytes` bytes that lies alone in [begin, end) of the file begins, where that is known without
  /// reading it.
  virtual std::optional<int64_t> FindTensor(const std::string& name, int64_t begin, int64_t end, int64_t bytes) const {
    return std::nullopt;
  }

 protected:
  virtual Result<std::shared_ptr<const DataSource>> OpenNew(const std::string& name);

 private:
  Place place_;
  std::map<std::string, std::shared_ptr<const DataSource>> opened_;
};

}  // namespace assay::checkpoint
