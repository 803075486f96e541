// What a pickle made, as values and tensors.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "checkpoint/pickle/machine.h"
#include "checkpoint/value/value.h"

namespace assay::checkpoint {

/// A storage as the persistent id of a pickle names it.
struct StorageName {
  DType dtype = DType::kUInt8;
  std::string key{};
  std::string location{};
  int64_t elements = 0;  ///< of `dtype`
};

/// Where the bytes of a storage are.
using OpenStorage = std::function<Result<std::shared_ptr<const Storage>>(const StorageName& name)>;

/// The value of the pickle. InvalidArgument, naming `source`, where it holds itself, is deeper than kMaxValueDepth,
/// would be larger than tens of millions of values if everything shared were written out, or describes a tensor that
/// reaches beyond its storage.
Result<Value> ToValue(const Pickle& pickle, const OpenStorage& open_storage, const std::string& source);

/// A plain value without tensors.
Result<Value> ToPlainValue(const Pickle& pickle, const std::string& source);

}  // namespace assay::checkpoint
