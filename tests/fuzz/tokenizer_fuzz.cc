// tokenizer.json and a text: what is read encodes to ids of its vocabulary, the same every time. The first line is the
// text, the rest the file.
#include <cstdint>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer.h"
#include "fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;  // NOLINT: the whole target is about it
  fuzz::Input input(data, size);
  const std::string_view text = input.Line();
  const Result<data::Tokenizer> tokenizer = data::Tokenizer::FromJson(input.rest(), "tokenizer.json");
  if (!tokenizer.ok()) {
    fuzz::Require(!tokenizer.status().message().empty(), "an error says what is wrong");
    return 0;
  }
  const Result<std::vector<int32_t>> ids = tokenizer->Encode(text, true);
  const Result<std::vector<int32_t>> again = tokenizer->Encode(text, true);
  fuzz::Require(ids.ok() == again.ok(), "encoding fails every time or never");
  if (ids.ok()) {
    fuzz::Require(*ids == *again, "ids do not depend on what is in the cache");
    for (const int32_t id : *ids) {
      fuzz::Require(id >= 0 && id < tokenizer->vocab_size(), "ids are of the vocabulary");
    }
    (void)tokenizer->Decode(*ids, false).ok();
    (void)tokenizer->Decode(*ids, true).ok();
  }
  return 0;
}
