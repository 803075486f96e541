// Which columns of a data set are images and their labels.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "shards/format/index.h"

namespace assay::shards {

/// Their places among the columns of a schema.
struct ImageColumns {
  size_t image = 0;  ///< files, in jpeg, png or bytes
  size_t label = 0;  ///< integers
};

/// A column of files named image, img, jpg, jpeg or png, and one of integers named label, cls or class. InvalidArgument
/// where one is missing.
Result<ImageColumns> FindImageColumns(const ShardSchema& schema);

}  // namespace assay::shards
