// Joins objects of a bucket into one, on the store's side where its limits on parts allow.
#pragma once

#include <span>
#include <string>

#include "storage/memory_pool.h"
#include "storage/s3/compose_plan.h"
#include "storage/s3/s3_dialect.h"
#include "storage/transfer/upload.h"

namespace assay::storage {

/// One operation.
class S3Compose {
 public:
  S3Compose(const CallContext& context, const S3Dialect& dialect, std::string to, const WriteOptions& options)
      : context_(context), dialect_(dialect), to_(std::move(to)), options_(options) {}

  /// Objects in one piece are copied whole however large they are: by parts.
  Result<ObjectInfo> Run(std::span<const ObjectInfo> sources);

 private:
  Status AddPart(MultipartUpload& upload, std::span<const ObjectInfo> sources, const ComposedPart& part);
  /// Out of the store's memory; none for no bytes.
  Result<PooledMemory> ReadRanges(std::span<const ObjectInfo> sources, const ComposedPart& part);

  CallContext context_;
  const S3Dialect& dialect_;
  std::string to_;
  WriteOptions options_;
};

}  // namespace assay::storage
