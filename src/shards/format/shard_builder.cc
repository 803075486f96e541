#include "shards/format/shard_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "shards/format/digest.h"
#include "shards/format/shard_layout.h"
#include "shards/format/tar.h"
#include "storage/integrity/checksum.h"

namespace assay::shards {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kRawDigest = "xxh3_128";

Bytes BytesOf(std::string_view text) {
  return std::as_bytes(std::span(text));
}

uint32_t CrcOf(std::span<const Bytes> parts) {
  uint32_t crc = 0;
  for (const Bytes& part : parts) {
    crc = storage::Crc32c(crc, part);
  }
  return crc;
}

Result<FileEntry> Describe(const ShardSchema& schema, std::string name, std::span<const Bytes> parts) {
  FileEntry file{.basename = std::move(name)};
  for (const Bytes& part : parts) {
    file.bytes += static_cast<int64_t>(part.size());
  }
  for (const std::string& hash : schema.hashes) {
    ASSAY_ASSIGN_OR_RETURN(file.hashes[hash], HashHex(hash, parts));
  }
  return file;
}

/// One file of a shard, compressed where its schema says so.
struct Packed {
  FileEntry raw;
  std::optional<FileEntry> zip;
  FinishedShard::File file;
  uint32_t crc32c = 0;
};

Result<Packed> Pack(const BuiltShard& shard, bool meta, std::span<const Bytes> parts) {
  const ShardSchema& schema = *shard.schema;
  Packed packed;
  ASSAY_ASSIGN_OR_RETURN(packed.raw, Describe(schema, ShardName(schema, shard.number, meta, false), parts));
  packed.file.name = packed.raw.basename;
  if (schema.compression.none()) {
    packed.crc32c = CrcOf(parts);
    return packed;
  }
  // Memory that the system has cleared once serves all shards of a thread.
  thread_local std::string whole;
  whole.clear();
  whole.reserve(static_cast<size_t>(packed.raw.bytes));
  for (const Bytes& part : parts) {
    whole.append(reinterpret_cast<const char*>(part.data()), part.size());
  }
  ASSAY_ASSIGN_OR_RETURN(packed.file.content, Compress(schema.compression, BytesOf(whole)));
  packed.file.name = ShardName(schema, shard.number, meta, true);
  const Bytes content[] = {BytesOf(packed.file.content)};
  ASSAY_ASSIGN_OR_RETURN(packed.zip, Describe(schema, packed.file.name, content));
  packed.crc32c = CrcOf(content);
  return packed;
}

/// The names of the columns, by which a line of csv and its kind begins.
std::string XsvHeader(const ShardSchema& schema) {
  std::string header;
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    header += (i == 0 ? "" : schema.separator) + schema.columns[i].name;
  }
  return header + schema.newline;
}

}  // namespace

std::vector<Bytes> BuiltShard::data() const {
  std::vector<Bytes> parts = {BytesOf(head)};
  for (const SampleBytes& part : samples) {
    parts.push_back(BytesOf(part.bytes));
  }
  return parts;
}

Result<FinishedShard> FinishShard(const BuiltShard& shard) {
  const std::vector<Bytes> data = shard.data();
  ASSAY_ASSIGN_OR_RETURN(Packed packed, Pack(shard, false, data));
  FinishedShard finished;
  ASSAY_ASSIGN_OR_RETURN(finished.proof.raw_digest, HashHex(kRawDigest, data));
  finished.proof.crc32c = packed.crc32c;
  finished.proof.first_offset = shard.head.size();
  finished.entry = {.schema = shard.schema,
                    .samples = static_cast<int64_t>(shard.records.size()),
                    .raw_data = std::move(packed.raw),
                    .zip_data = std::move(packed.zip)};
  finished.data = std::move(packed.file);
  if (!shard.meta.empty()) {
    const Bytes meta[] = {BytesOf(shard.meta)};
    ASSAY_ASSIGN_OR_RETURN(Packed offsets, Pack(shard, true, meta));
    finished.proof.meta_crc32c = offsets.crc32c;
    finished.entry.raw_meta = std::move(offsets.raw);
    finished.entry.zip_meta = std::move(offsets.zip);
    finished.meta = std::move(offsets.file);
    if (finished.meta.content.empty()) {
      finished.meta.content = shard.meta;
    }
  }
  finished.records = shard.records;
  return finished;
}

ShardBuilder::ShardBuilder(std::shared_ptr<const ShardSchema> schema, int64_t number)
    : schema_(std::move(schema)), schema_text_(FormatSchema(*schema_)), number_(number) {}

bool ShardBuilder::IsFullFor(size_t bytes) const {
  if (!schema_->size_limit || records_.empty()) {
    return false;
  }
  const bool is_mds = schema_->format == ShardFormat::kMds;
  const size_t of_shard = is_mds ? 2 * sizeof(uint32_t) + schema_text_.size() : 0;
  const size_t of_sample = is_mds ? sizeof(uint32_t) : 0;
  const size_t with_sample = of_shard + bytes_ + bytes + of_sample * (records_.size() + 1);
  const size_t size = schema_->format == ShardFormat::kWebDataset ? EndedTarBytes(with_sample) : with_sample;
  return static_cast<size_t>(*schema_->size_limit) < size;
}

void ShardBuilder::Add(const SampleBytes& sample, const SampleRecord& record) {
  std::string_view last = samples_.empty() ? std::string_view() : samples_.back().bytes;
  if (sample.owner && !samples_.empty() && samples_.back().owner == sample.owner &&
      last.data() + last.size() == sample.bytes.data()) {
    samples_.back().bytes = {last.data(), last.size() + sample.bytes.size()};
  } else {
    samples_.push_back(sample);
  }
  bytes_ += sample.bytes.size();
  records_.push_back(record);
}

Result<BuiltShard> ShardBuilder::Take() {
  BuiltShard shard;
  shard.schema = schema_;
  shard.number = number_++;
  std::vector<uint32_t> sizes;
  for (const SampleRecord& record : records_) {
    sizes.push_back(record.bytes);
  }
  switch (schema_->format) {
    case ShardFormat::kMds: {
      ASSAY_ASSIGN_OR_RETURN(shard.head, MdsHead(sizes, schema_text_));
      break;
    }
    case ShardFormat::kXsv:
      shard.head = XsvHeader(*schema_);
      [[fallthrough]];
    case ShardFormat::kJson: {
      ASSAY_ASSIGN_OR_RETURN(shard.meta, SplitMeta(sizes, schema_text_, shard.head.size()));
      break;
    }
    case ShardFormat::kWebDataset: {
      ASSAY_RETURN_IF_ERROR(CheckShardEnd(sizes, 0));
      const auto end = std::make_shared<const std::string>(TarEnd(bytes_));
      samples_.push_back({end, *end});
      break;
    }
    case ShardFormat::kLitdata:
      return Status::Unsupported("chunks of litdata are not written");
  }
  shard.samples = std::exchange(samples_, {});
  bytes_ = 0;
  shard.records = std::exchange(records_, {});
  return shard;
}

}  // namespace assay::shards
