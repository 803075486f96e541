// WebDataset: samples as members of a tar that follow one another and share a key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/format/field.h"
#include "shards/format/shard_layout.h"

namespace assay::shards {

/// A member's name in two: what its sample is called, up to the first dot of the last part, and the field, in lower
/// case. False for names without either, and for those between two pairs of underscores, which are nobody's.
bool SplitMemberName(std::string_view name, std::string_view& key, std::string& field);

/// Where the samples of a tar begin and end, as Offsets: samples lie one behind the other.
Result<Offsets> FindWebSamples(std::span<const std::byte> tar);

/// A sample's key and its fields, in the order of the tar: those of txt, json and cls (and cls2, index, id) as text,
/// JSON and integers, all others as bytes. InvalidArgument for a field that comes twice, text that is no UTF-8 and a
/// class that is no integer.
struct WebSample {
  std::string key;
  std::vector<std::string> names;
  Row row;
};
Status DecodeWebSample(std::span<const std::byte> sample, WebSample& out);

/// Appends `row` as the sample `key`: a member a column, sorted by name, what is null left out. A column's name is its
/// ending; text goes as it is, JSON as Python writes it, numbers as digits; arrays are refused.
Status AppendWebSample(std::string& tar, std::string_view key, std::span<const Column> columns, const Row& row);

}  // namespace assay::shards
