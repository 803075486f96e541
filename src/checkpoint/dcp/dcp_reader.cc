#include "checkpoint/dcp/dcp_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "checkpoint/dcp/item_source.h"
#include "checkpoint/file/file_digest.h"
#include "checkpoint/find.h"
#include "checkpoint/tensor/read_together.h"
#include "checkpoint/torch/torch_reader.h"

namespace assay::checkpoint {
namespace {

Result<DcpMetadata> ReadOne(FileSet& files, const std::string& name) {
  ASSAY_ASSIGN_OR_RETURN(const auto source, files.Open(name));
  ASSAY_ASSIGN_OR_RETURN(const std::string bytes, ReadBounded(*source, kMostDcpMetadataBytes));
  return ReadDcpMetadata(bytes, source->uri());
}

/// Entries of another rank: chunks that are new come to those of their tensor.
void Merge(DcpMetadata other, DcpMetadata& metadata, std::map<std::string, size_t>& by_name) {
  for (DcpEntry& entry : other.entries) {
    const auto [known, is_new] = by_name.try_emplace(entry.name, metadata.entries.size());
    if (is_new) {
      metadata.entries.push_back(std::move(entry));
      continue;
    }
    std::vector<DcpChunk>& chunks = metadata.entries[known->second].chunks;
    for (DcpChunk& chunk : entry.chunks) {
      if (std::ranges::find(chunks, chunk.box, &DcpChunk::box) == chunks.end()) {
        chunks.push_back(std::move(chunk));
      }
    }
  }
}

Result<std::shared_ptr<const DataSource>> OpenPlace(const std::string& name, const DcpPlace& place, FileSet& files) {
  ASSAY_ASSIGN_OR_RETURN(auto file, files.Open(place.file));
  if (place.length > file->bytes() || place.offset > file->bytes() - place.length) {
    return Status::InvalidArgument(fmt::format("{} has {} bytes, but '{}' lies at {} to {}: it is truncated",
                                               file->uri(), file->bytes(), name, place.offset,
                                               place.offset + place.length));
  }
  return file;
}

const DcpPlace& PlaceOfValue(const DcpEntry* entry) {
  return entry->chunks.front().place;
}

int64_t EndOf(const DcpPlace& place) {
  return place.offset + place.length;
}

/// Values that lie near each other, in the order of their offsets.
using NearValues = std::vector<const DcpEntry*>;

std::vector<NearValues> NearValuesOf(const std::vector<DcpEntry>& entries) {
  NearValues values;
  for (const DcpEntry& entry : entries) {
    if (!entry.is_tensor) {
      values.push_back(&entry);
    }
  }
  std::ranges::stable_sort(values, {}, [](const DcpEntry* entry) {
    return std::pair(std::string_view(PlaceOfValue(entry).file), PlaceOfValue(entry).offset);
  });
  std::vector<NearValues> groups;
  for (const DcpEntry* value : values) {
    const DcpPlace& place = PlaceOfValue(value);
    const bool fits = !groups.empty() && PlaceOfValue(groups.back().front()).file == place.file &&
                      EndOf(place) - PlaceOfValue(groups.back().front()).offset <= kTogetherBytes &&
                      place.offset - EndOf(PlaceOfValue(groups.back().back())) <= kSegmentBytes;
    if (!fits) {
      groups.emplace_back();
    }
    groups.back().push_back(value);
  }
  return groups;
}

/// A training has thousands of some hundred bytes each: they are fetched together.
Status ReadValues(const NearValues& near, FileSet& files, std::map<const DcpEntry*, Value>& values) {
  const int64_t begin = PlaceOfValue(near.front()).offset;
  int64_t end = begin;
  std::shared_ptr<const DataSource> file;
  for (const DcpEntry* entry : near) {
    ASSAY_ASSIGN_OR_RETURN(file, OpenPlace(entry->name, PlaceOfValue(entry), files));
    end = std::max(end, EndOf(PlaceOfValue(entry)));
  }
  if (end - begin <= kTogetherBytes) {
    const std::pair all(begin, end - begin);
    ASSAY_ASSIGN_OR_RETURN(file, Prefetch(std::move(file), std::span(&all, 1)));
  }
  for (const DcpEntry* entry : near) {
    const DcpPlace& place = PlaceOfValue(entry);
    Result<Value> value = ReadTorchFile(RangeOf(file, place.offset, place.length));
    if (!value.ok()) {
      return value.status().WithContext(fmt::format("the item '{}'", entry->name));
    }
    values.emplace(entry, std::move(*value));
  }
  return Status::Ok();
}

Result<Value> ReadTensor(const DcpEntry& entry, FileSet& files) {
  Tensor tensor;
  tensor.dtype = entry.dtype;
  tensor.shape = entry.shape;
  tensor.requires_grad = entry.requires_grad;
  for (const DcpChunk& chunk : entry.chunks) {
    ASSAY_ASSIGN_OR_RETURN(auto file, OpenPlace(entry.name, chunk.place, files));
    const int64_t bytes = BytesOf(entry.dtype, Count(chunk.box.sizes));
    const DcpPlace& place = chunk.place;
    const std::optional<int64_t> known = files.FindTensor(place.file, place.offset, place.offset + place.length, bytes);
    if (!known) {
      file = OpenItem(std::move(file), chunk, entry.dtype, entry.name);
    }
    tensor.blocks.push_back({chunk.box, ContiguousStrides(chunk.box.sizes),
                             std::make_shared<const Storage>(Storage{std::move(file), known.value_or(0), bytes}), 0});
  }
  ASSAY_RETURN_IF_ERROR(CheckTensor(tensor, entry.name));
  return Value(std::make_shared<const Tensor>(std::move(tensor)));
}

std::string MetadataNameOfRank(int rank) {
  return fmt::format("__{}{}", rank, kDcpMetadataName);
}

/// Of "__3.metadata" and "__3_0.distcp".
std::optional<int> RankOf(std::string_view name) {
  int rank = 0;
  if (!name.starts_with("__")) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(name.data() + 2, name.data() + name.size(), rank);
  const std::string_view rest = name.substr(static_cast<size_t>(end - name.data()));
  const bool is_of_rank = rest == kDcpMetadataName || (rest.starts_with('_') && rest.ends_with(".distcp"));
  return error == std::errc() && rank >= 0 && is_of_rank ? std::optional(rank) : std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> MetadataNamesOf(const Place& place) {
  const std::string of_first = MetadataNameOfRank(0);
  ASSAY_ASSIGN_OR_RETURN(const auto whole, place.store->Stat(place.KeyOf(kDcpMetadataName), place.cancel));
  ASSAY_ASSIGN_OR_RETURN(const auto of_rank, place.store->Stat(place.KeyOf(of_first), place.cancel));
  if (whole || !of_rank) {
    return std::vector<std::string>{kDcpMetadataName};
  }
  ASSAY_ASSIGN_OR_RETURN(const FileList files, ListFiles(place));
  int last = 0;
  for (const auto& [name, info] : files) {
    last = std::max(last, RankOf(name).value_or(0));
  }
  std::vector<std::string> names = {of_first};
  for (int rank = 1; rank <= last; ++rank) {
    names.push_back(MetadataNameOfRank(rank));
    if (!files.contains(names.back())) {
      return Status::NotFound(
          fmt::format("{}: {} is missing, and there are files of ranks up to {}", place.uri(), names.back(), last));
    }
  }
  return names;
}

Result<DcpMetadata> ReadDcpMetadataOf(FileSet& files) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, MetadataNamesOf(files.place()));
  if (names.size() == 1) {
    return ReadOne(files, names.front());
  }
  DcpMetadata metadata;
  std::map<std::string, size_t> by_name;
  for (const std::string& name : names) {
    ASSAY_ASSIGN_OR_RETURN(DcpMetadata own, ReadOne(files, name));
    Merge(std::move(own), metadata, by_name);
  }
  return metadata;
}

Result<std::vector<Leaf>> ReadDcpLeaves(const DcpMetadata& metadata, FileSet& files) {
  std::map<const DcpEntry*, Value> values;
  for (const NearValues& near : NearValuesOf(metadata.entries)) {
    if (const Status status = ReadValues(near, files, values); !status.ok()) {
      return status.WithContext(files.place().uri());
    }
  }
  std::vector<Leaf> leaves;
  for (const DcpEntry& entry : metadata.entries) {
    Result<Value> value = entry.is_tensor ? ReadTensor(entry, files) : std::move(values.at(&entry));
    if (!value.ok()) {
      return value.status().WithContext(files.place().uri());
    }
    leaves.push_back({entry.name, entry.path, std::move(*value)});
  }
  return leaves;
}

}  // namespace assay::checkpoint
