// What says what a data set is: indexes, manifests, states of streams, notes of conversions. What is read is written
// again as it was read, and an error is one line.
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "shards/convert/journal.h"
#include "shards/format/index.h"
#include "shards/format/manifest.h"
#include "shards/stream/stream_state.h"

namespace {

using assay::fuzz::Require;

void RequireOneLine(const assay::Status& status) {
  Require(status.message().find('\n') == std::string::npos, "an error is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay::shards;  // NOLINT: the whole target is about it
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto index = ParseIndex(input, "index.json");
  RequireOneLine(index.status());
  if (index.ok()) {
    for (const ShardEntry& shard : index->shards) {
      Require(CheckBasename(shard.data().basename).ok(), "files lie within the data set");
      Require(shard.samples >= 0 && shard.raw_data.bytes >= 0, "counts are none below 0");
    }
    if (!index->shards.empty() && index->shards.front().schema->format != ShardFormat::kLitdata) {
      const std::string text = FormatIndex(*index);
      const auto again = ParseIndex(text, "index.json");
      Require(again.ok() && FormatIndex(*again) == text, "an index is read as it was written");
    }
  }
  const auto manifest = ParseManifest(input, "manifest.json");
  RequireOneLine(manifest.status());
  if (manifest.ok()) {
    const auto again = ParseManifest(FormatManifest(*manifest), "manifest.json");
    Require(again.ok() && FormatManifest(*again) == FormatManifest(*manifest), "a manifest is read as it was written");
  }
  const auto state = ParseState(input, "state.json");
  RequireOneLine(state.status());
  if (state.ok()) {
    const auto again = ParseState(FormatState(*state), "state.json");
    Require(again.ok() && FormatState(*again) == FormatState(*state), "a state is read as it was written");
  }
  (void)ParseJournalEntry(input, "000000");
  return 0;
}
