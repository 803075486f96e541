// Values as pickles of torch.save: tensors as their rebuilding from storages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/value/value.h"

namespace assay::checkpoint {

/// A storage that the pickle refers to by its number.
struct PickledStorage {
  std::string item{};  ///< the name of the first tensor in it: "model.embed.weight"
  Storage storage{};
};

struct PickledValue {
  std::string bytes{};
  std::vector<PickledStorage> storages{};  ///< number 0 first
};

/// `value` as torch.save pickles it. Tensors that share a storage share it again, one that lies in several blocks gets
/// a storage of its own, in row-major order. InvalidArgument for an object whose class no pickle of ours may name.
Result<PickledValue> PickleValue(const Value& value);

}  // namespace assay::checkpoint
