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

/// Where the samples of a tar begin and end, as Offsets: samples lie one behind the other. `offset` is that of
/// TarReader.
Result<Offsets> FindWebSamples(std::span<const std::byte> tar, uint64_t offset = 0);

/// Where the last sample of `tar`, which goes on behind, begins: those before it are whole. 0: there is none.
/// InvalidArgument where it is damaged before.
Result<uint64_t> EndOfWholeSamples(std::span<const std::byte> tar, uint64_t offset = 0);

/// A sample's key and its fields, in the order of the tar: those of txt, json and cls (and cls2, index, id) as text,
/// JSON and integers, all others as bytes. InvalidArgument for a field that comes twice, text that is no UTF-8 and a
/// class that is no integer.
struct WebSample {
  std::string key;
  std::vector<std::string> names;
  Row row;
};
Status DecodeWebSample(std::span<const std::byte> sample, WebSample& out);

/// What tar files cannot hold: arrays, lists of files, pixels; a name that a member cannot have; two that differ in
/// case alone; bytes that readers would take for something else by their name.
Status CheckWebColumns(std::span<const Column> columns);

/// Appends `row` as the sample `key`, which has no dot in its last part: a member a column, with what readers know the
/// column's values by at the end of its name, unless that is there: "text.txt", "image.jpg", "label.cls", "more.json".
/// Texts, bytes and files go as they are, numbers as digits. An error names the column.
Status EncodeWebSample(std::span<const Column> columns, std::string_view key, const Row& row, std::string& tar);

/// The other way: members that are no columns are read over. Views into `sample`.
Status DecodeWebColumns(std::span<const Column> columns, std::span<const std::byte> sample, Row& row);

}  // namespace assay::shards
