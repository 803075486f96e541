// A file that is read only as its manifest describes it.
#pragma once

#include <memory>

#include "checkpoint/manifest/manifest.h"
#include "checkpoint/tensor/data_source.h"

namespace assay::checkpoint {

/// `source` as `file` describes it: every byte that is read or viewed lies in a stretch whose CRC32C was found right,
/// be it the whole file or a part. Reading a part fetches the stretches that it touches. Each stretch that is viewed is
/// summed once. A damaged one is an error that names the file, the bytes and the tensors in them. Null where the sizes
/// differ: the status says so.
Result<std::shared_ptr<const DataSource>> CheckSums(std::shared_ptr<const DataSource> source,
                                                    std::shared_ptr<const ManifestFile> file);

/// The tensors, by name, that bytes [begin, end) of the file belong to: "tensors 'a' and 'b'"; "its header" for none.
std::string WhatLiesAt(const ManifestFile& file, int64_t begin, int64_t end);

}  // namespace assay::checkpoint
