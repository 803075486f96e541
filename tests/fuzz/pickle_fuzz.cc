// Pickles of torch.save and of .metadata: whatever they are, they are read or refused with one line, within bounds, and
// what was read is written so that it reads the same.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "checkpoint/dcp/dcp_metadata.h"
#include "checkpoint/pickle/machine.h"
#include "checkpoint/pickle/value_builder.h"
#include "checkpoint/torch/value_pickler.h"
#include "checkpoint/value/flat_state.h"
#include "checkpoint/value/value_json.h"
#include "fuzz_input.h"

namespace {

using namespace assay;
using namespace assay::checkpoint;
using fuzz::Require;

constexpr int64_t kStorageBytes = 1 << 12;
const PickleLimits kLimits = {.nodes = 1 << 16};

Result<std::shared_ptr<const Storage>> OpenAny(const StorageName& name) {
  static const auto source = SourceOfText(std::string(kStorageBytes, '\0'));
  return std::make_shared<const Storage>(Storage{source, 0, kStorageBytes});
}

Result<Value> Read(std::string_view bytes) {
  ASSAY_ASSIGN_OR_RETURN(const Pickle pickle, ReadPickle(bytes, StateGlobals(), "x", kLimits));
  Require(pickle.end <= bytes.size(), "a pickle ends within its bytes");
  return ToValue(pickle, OpenAny, "x");
}

void RequireOneLine(const Status& status) {
  Require(status.message().find('\n') == std::string::npos, "an error is one line");
}

/// Its text form; empty where it has none.
std::string TextOf(const Value& value) {
  const Result<nlohmann::json> json = ValueToJson(value);
  return json.ok() ? DumpJson(*json) : "";
}

void CheckValue(const Value& value) {
  const Result<PickledValue> pickled = PickleValue(value);
  if (!pickled.ok()) {
    return RequireOneLine(pickled.status());
  }
  const Result<Value> again = Read(pickled->bytes);
  Require(again.ok(), "what is written can be read");
  Require(TextOf(*again) == TextOf(value), "it is the same again");
  if (const auto leaves = Flatten(value); leaves.ok()) {
    for (const Leaf& leaf : *leaves) {
      if (const auto tensor = leaf.value.tensor()) {
        Require(CheckTensor(*tensor, leaf.name).ok(), "a tensor lies within its storage");
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const Result<Value> value = Read(bytes); value.ok()) {
    CheckValue(*value);
  } else {
    RequireOneLine(value.status());
  }
  if (const Result<DcpMetadata> metadata = ReadDcpMetadata(bytes, "x"); metadata.ok()) {
    const std::string written = WriteDcpMetadata(*metadata);
    const Result<DcpMetadata> again = ReadDcpMetadata(written, "x");
    Require(again.ok() && WriteDcpMetadata(*again) == written, "metadata is written so that it reads the same");
  } else {
    RequireOneLine(metadata.status());
  }
  return 0;
}
