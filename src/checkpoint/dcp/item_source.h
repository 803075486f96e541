// A tensor's chunk in a file of torch.distributed.checkpoint: a whole file of torch.save that is looked into only when
// its bytes are wanted.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/tensor/data_source.h"
#include "checkpoint/tensor/tensor.h"

namespace assay::checkpoint {

/// The elements of the chunk in row-major order. `file` is the file that `chunk` lies in; `name` is for errors. That
/// the item holds such a tensor shows with the first read.
std::shared_ptr<const DataSource> OpenItem(std::shared_ptr<const DataSource> file, const DcpChunk& chunk, DType dtype,
                                           std::string name);

}  // namespace assay::checkpoint
