// Files of torch.save, read without Python: .pt, .pth, .bin, .ckpt.
#pragma once

#include <memory>

#include "base/status.h"
#include "checkpoint/tensor/data_source.h"
#include "checkpoint/value/value.h"
#include "checkpoint/zip/zip_reader.h"

namespace assay::checkpoint {

/// The object that was saved, with the tensors where they lie in `source`: of the zip format, and of the format before
/// torch 1.6. Names that the pickle may not use, TorchScript, big-endian files and the tar format of 2016 are refused
/// by name. `known` as of ZipArchive::Open().
Result<Value> ReadTorchFile(std::shared_ptr<const DataSource> source, const FindRecord& known = {});

/// The id that torch.save put into the file; empty where it has none, as those before torch 2.1. InvalidArgument for
/// what torch.save did not write.
Result<std::string> ReadSerializationId(std::shared_ptr<const DataSource> source);

}  // namespace assay::checkpoint
