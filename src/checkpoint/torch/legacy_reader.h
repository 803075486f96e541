// The format of torch.save before torch 1.6: pickles one behind the other, then the storages.
#pragma once

#include <memory>

#include "base/status.h"
#include "checkpoint/tensor/data_source.h"
#include "checkpoint/value/value.h"

namespace assay::checkpoint {

/// Whether a file that begins with `head` is of that format.
bool IsLegacyTorchFile(std::string_view head);

Result<Value> ReadLegacyTorchFile(std::shared_ptr<const DataSource> source);

}  // namespace assay::checkpoint
