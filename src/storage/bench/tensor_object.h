// A set of tensors as one object in the safetensors format, written from and read into where the tensors lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/bench/bench_memory.h"
#include "storage/object_store.h"

namespace assay::storage {

/// The u64 length and the JSON header of float32 tensors "t0", "t1", ... of `tensor_bytes` each.
std::string TensorHeader(int64_t tensors, int64_t tensor_bytes);

/// One request for the header, then all tensors at a time into new memory.
Result<std::vector<BenchMemory>> ReadTensors(ObjectStore& store, const std::string& key, const ReadOptions& options);

}  // namespace assay::storage
