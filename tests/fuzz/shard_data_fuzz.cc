// Samples of shards: what offsets and sizes say never leads out of the file, whatever they say.
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_input.h"
#include "shards/convert/csv.h"
#include "shards/format/index.h"
#include "shards/format/json_row.h"
#include "shards/format/litdata.h"
#include "shards/format/row_json.h"
#include "shards/format/shard_layout.h"
#include "shards/format/webdataset.h"

namespace {

using namespace assay::shards;  // NOLINT: the whole target is about it
using assay::fuzz::Require;

/// Every column of MDS that has sizes within.
std::shared_ptr<const ShardSchema> MdsSchema() {
  const auto columns = ParseColumns(
      "a:ndarray,b:ndarray:int32,c:ndarray:uint8:2,3,d:str,e:json,f:pil,g:jpeg_array,h:list[png],i:str_int,"
      "j:str_float,k:float16,l:bytes");
  return std::make_shared<const ShardSchema>(ShardSchema{.columns = *columns});
}

/// Every kind of member of a tar.
std::shared_ptr<const ShardSchema> TarSchema() {
  const auto columns = ParseColumns("bin:bytes,cls:int,jpg:jpeg,json:json,txt:str,x:float32");
  return std::make_shared<const ShardSchema>(
      ShardSchema{.format = ShardFormat::kWebDataset, .format_name = "webdataset", .columns = *columns});
}

void ReadSamples(const ShardEntry& shard, std::span<const std::byte> data) {
  const auto offsets = FindSamples(shard, data, {});
  if (!offsets.ok()) {
    return;
  }
  Row row;
  std::string scratch;
  std::string json;
  for (size_t i = 0; i + 1 < offsets->size(); ++i) {
    Require((*offsets)[i] <= (*offsets)[i + 1] && (*offsets)[i + 1] <= data.size(), "samples lie within the file");
    const auto sample = data.subspan((*offsets)[i], (*offsets)[i + 1] - (*offsets)[i]);
    if (DecodeSample(*shard.schema, sample, row, scratch).ok()) {
      AppendRowJson(shard.schema->columns, row, json);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::shared_ptr<const ShardSchema> schema = MdsSchema();
  if (size == 0) {
    return 0;
  }
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data + 1, size - 1));
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  ShardEntry shard{.schema = schema, .samples = data[0]};
  shard.raw_data.bytes = static_cast<int64_t>(bytes.size());
  ReadSamples(shard, bytes);
  static const std::shared_ptr<const ShardSchema> of_tars = TarSchema();
  shard.schema = of_tars;
  ReadSamples(shard, bytes);
  const auto whole = EndOfWholeSamples(bytes);
  Require(!whole.ok() || *whole <= bytes.size(), "whole samples end within the file");
  Row row;
  std::string scratch;
  (void)DecodeSample(*schema, bytes, row, scratch);
  if (const auto tar = FindWebSamples(bytes); tar.ok()) {
    WebSample sample;
    for (size_t i = 0; i + 1 < tar->size(); ++i) {
      (void)DecodeWebSample(bytes.subspan((*tar)[i], (*tar)[i + 1] - (*tar)[i]), sample);
    }
  }
  std::vector<std::string_view> fields;
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = CsvRecordEnd(rest, ',', true);
    Require(end && *end > 0 && *end <= rest.size(), "a record takes some of what is left");
    (void)SplitCsvRecord(rest.substr(0, *end), ',', fields, scratch);
    rest.remove_prefix(*end);
  }
  return 0;
}
