// An object in a file of this machine that has no name.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "storage/file/mapped_object.h"
#include "storage/object_store.h"

namespace assay::storage {

/// Its space is taken when it is made, and given back with its owner.
class WholeFile {
 public:
  /// For an object of `size` bytes. `uri` is for the error, that of a full disk say.
  static Result<std::shared_ptr<WholeFile>> Make(int64_t size, const std::string& uri);

  MutableBytes memory() const { return mapping_ ? mapping_->memory() : MutableBytes(); }
  ObjectInfo info{};  ///< of what is in it

 private:
  std::optional<FileMapping> mapping_;  ///< nothing of an empty one
};

}  // namespace assay::storage
