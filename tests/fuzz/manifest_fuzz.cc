// Manifests of checkpoints, and the texts in them and in safetensors that hold plain values.
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "checkpoint/manifest/manifest.h"
#include "checkpoint/value/value_json.h"
#include "fuzz_input.h"
#include "storage/integrity/checksum.h"

namespace {

using namespace assay;
using namespace assay::checkpoint;
using fuzz::Require;

void CheckManifest(const std::string& text) {
  const Result<Manifest> manifest = ReadManifest(text, "m");
  if (!manifest.ok()) {
    Require(manifest.status().message().find('\n') == std::string::npos, "an error is one line");
    return;
  }
  Require(manifest->Find(manifest->pointer) != nullptr, "the pointer is one of the files");
  for (const ManifestFile& file : manifest->files) {
    Require(file.name.find("..") == std::string::npos || ("/" + file.name + "/").find("/../") == std::string::npos,
            "files lie below the checkpoint");
    int64_t end = 0;
    for (const ManifestItem& item : file.items) {
      Require(item.offset >= end && item.offset + item.bytes <= file.bytes, "items lie in their file, apart");
      end = item.offset + item.bytes;
    }
  }
  const std::string written = WriteManifest(*manifest);
  const Result<Manifest> again = ReadManifest(written, "m");
  Require(again.ok() && WriteManifest(*again) == written, "it is written so that it reads the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  CheckManifest(text);
  // With its checksum, which no fuzzer guesses.
  const std::string line = text.substr(0, text.find('\n'));
  const auto crc = storage::MakeCrc32c(storage::Crc32c(0, std::as_bytes(std::span(line))));
  CheckManifest(line + "\ncrc32c " + crc.Hex() + "\n");
  if (const auto json = ParseJson(text, "v"); json.ok()) {
    const auto value = ValueFromJson(*json, {{"leaf", Value(int64_t{1})}}, "v");
    if (value.ok()) {
      const auto written = ValueToJson(*value);
      const auto again = written.ok() ? ValueFromJson(*written, {}, "v") : value;
      Require(again.ok(), "values that are written can be read");
    }
  }
  return 0;
}
