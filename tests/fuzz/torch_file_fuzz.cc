// Files of torch.save, zip and legacy: records and storages that are taken lie within the file, whatever it is.
#include <string>
#include <string_view>

#include "checkpoint/torch/torch_reader.h"
#include "checkpoint/value/flat_state.h"
#include "checkpoint/zip/zip_reader.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;              // NOLINT: the whole target is about them
  using namespace assay::checkpoint;  // NOLINT
  using fuzz::Require;
  const auto source = SourceOfText(std::string(reinterpret_cast<const char*>(data), size));
  const auto file_bytes = static_cast<int64_t>(size);
  if (const auto archive = ZipArchive::Open(source); archive.ok()) {
    int64_t bytes = 0;
    for (const ZipRecord& record : archive->records()) {
      Require(record.data_offset >= 0 && record.bytes >= 0 && record.data_offset + record.bytes <= file_bytes,
              "a record lies within the file");
      bytes += record.bytes;
    }
    Require(bytes <= file_bytes, "no byte belongs to two records");
  }
  const Result<Value> value = ReadTorchFile(source);
  if (!value.ok()) {
    Require(value.status().message().find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  const auto leaves = Flatten(*value);
  for (const Leaf& leaf : leaves.ok() ? *leaves : std::vector<Leaf>()) {
    const auto tensor = leaf.value.tensor();
    if (tensor != nullptr && tensor->bytes() <= file_bytes) {
      Require(ReadText(*RowMajorBytes(tensor), 0, tensor->bytes()).ok(), "a tensor can be read");
    }
  }
  return 0;
}
