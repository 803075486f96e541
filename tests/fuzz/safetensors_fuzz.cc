// Headers of safetensors files: tensors that are taken fill the file without overlap or hole.
#include <string>
#include <string_view>

#include "checkpoint/safetensors/safetensors_header.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay::checkpoint;  // NOLINT: the whole target is about it
  using assay::fuzz::Require;
  constexpr size_t kLengthBytes = 8;
  // The length of the header is put before the input, and its data behind it: guessing them takes an eternity.
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = input.find('\n');
  const std::string_view header = input.substr(0, line);
  std::string file(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i) {
    file[i] = static_cast<char>(header.size() >> (8 * i));
  }
  file += header;
  file += line == std::string_view::npos ? "" : input.substr(line + 1);
  for (const std::string_view whole : {std::string_view(file), input}) {
    const auto bytes = static_cast<int64_t>(whole.size());
    const auto read = ParseSafetensorsHeader(whole, bytes, "m.safetensors");
    if (!read.ok()) {
      Require(read.status().message().find('\n') == std::string::npos, "an error is one line");
      continue;
    }
    int64_t taken = 0;
    for (const SafetensorsEntry& entry : read->entries) {
      Require(entry.begin <= entry.end && entry.end <= bytes, "a tensor lies within the file");
      taken += entry.end - entry.begin;
    }
    Require(taken + static_cast<int64_t>(kLengthBytes) <= bytes, "no byte belongs to two tensors");
  }
  return 0;
}
