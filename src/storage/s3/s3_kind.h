// Amazon S3 and what speaks its language as a kind of store: "s3://bucket/key", and the options that it alone has.
#pragma once

#include <optional>
#include <string>

#include "storage/store_kind.h"

namespace assay::storage {

extern const StoreKind kS3Kind;

/// Whether a store keeps the conditions of writes (If-None-Match, If-Match).
enum class ConditionalWrites {
  kAuto,  ///< Amazon's does; every other endpoint is tried before the first write under one
  kYes,
  kNo,  ///< writes under a condition are refused
};

struct S3Options {
  /// Bucket in the host name or in the path; nothing: by the endpoint and the bucket's name (S3Address).
  std::optional<bool> virtual_host_style;
  std::string encryption;  ///< "AES256", "aws:kms"
  /// Checksums follow the body (aws-chunked), computed while it is sent, instead of standing in a header before it.
  /// Only for stores that know this encoding: others take it for content. Nothing: for Amazon's.
  std::optional<bool> trailing_checksums;
  ConditionalWrites conditional_writes = ConditionalWrites::kAuto;
};
S3Options S3OptionsOf(const StoreOptions& options);

}  // namespace assay::storage
