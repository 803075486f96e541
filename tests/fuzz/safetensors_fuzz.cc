// Headers of safetensors files: tensors that are taken fill the file without overlap or hole.
#include <string>
#include <string_view>

#include "engine/model/safetensors_header.h"
#include "engine/model/status_error.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay::engine;  // NOLINT: the whole target is about it
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
    try {
      const SafetensorsHeader read = parse_safetensors_header(whole, "m.safetensors");
      size_t bytes = 0;
      for (const auto& [name, entry] : read.entries) {
        Require(entry.begin <= entry.end && entry.end <= whole.size(), "a tensor lies within the file");
        bytes += entry.end - entry.begin;
      }
      Require(bytes + kLengthBytes <= whole.size(), "no byte belongs to two tensors");
    } catch (const StatusError& error) {
      Require(error.status().message().find('\n') == std::string::npos, "an error is one line");
    }
  }
  return 0;
}
