// One conversion at a place at a time: what stands there, and whose turn it is.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "shards/convert/sources.h"
#include "shards/dataset/dataset.h"
#include "shards/format/index.h"

namespace assay::shards {

/// What tells one conversion from another: its sources with their sizes and etags, the schema, the version it makes.
std::string FormatPlan(std::span<const SourceFile> sources, const ShardSchema& schema,
                       const std::string& tokenizer_hash, int64_t version);

/// Writes the plan down where none stands; FailedPrecondition where one does, of whomever it is.
Status ClaimPlace(const DatasetPlace& place, const std::string& plan);

/// The plan that stands is this one; FailedPrecondition, saying in what they differ, where it is another or none.
Status ReclaimPlace(const DatasetPlace& place, const std::string& plan);

/// Whether a conversion that was cut off had made its version already, and has only its notes left to remove.
Result<bool> IsPublished(const DatasetPlace& place);

}  // namespace assay::shards
