#include "shards/convert/output.h"

#include <algorithm>
#include <utility>

#include "storage/integrity/checksum.h"

namespace assay::shards {
namespace {

using storage::Bytes;

/// Shards that are written at a time, beyond the first: their bytes.
constexpr int64_t kMostBytesUnderWay = int64_t{256} << 20;
/// Notes that are written at a time.
constexpr size_t kMostNotes = 8;

bool AreDone(const std::vector<std::shared_ptr<storage::Transfer>>& writes) {
  return std::ranges::all_of(writes, [](const auto& write) { return write->done(); });
}

Status WaitForAll(const std::vector<std::shared_ptr<storage::Transfer>>& writes) {
  for (const auto& write : writes) {
    ASSAY_RETURN_IF_ERROR(write->Wait().status());
  }
  return Status::Ok();
}

}  // namespace

ShardOutput::ShardOutput(const DatasetPlace& place, JobPool& pool, storage::Transfers& transfers, int threads,
                         std::vector<WrittenShard> written)
    : place_(place),
      transfers_(transfers),
      threads_(static_cast<size_t>(threads)),
      finishing_(pool),
      written_(std::move(written)) {}

ShardOutput::~ShardOutput() {
  for (const auto& queue : {writing_, noting_}) {
    for (const auto& shard : queue) {
      (void)WaitForAll(shard->writes);
    }
  }
}

int64_t ShardOutput::bytes_under_way() const {
  int64_t bytes = 0;
  for (const auto& shard : writing_) {
    bytes += shard->finished.entry.data().bytes;
  }
  return bytes;
}

Status ShardOutput::Give(BuiltShard built, const RowPosition& next) {
  while (finishing_.size() >= threads_) {
    ASSAY_RETURN_IF_ERROR(BeginWrite());
  }
  auto shard = std::make_shared<Shard>(Shard{.built = std::move(built), .finished = {}, .next = next});
  finishing_.Give([shard]() -> Finished {
    Result<FinishedShard> finished = FinishShard(shard->built);
    if (!finished.ok()) {
      return {finished.status(), shard};
    }
    shard->finished = *std::move(finished);
    return {Status::Ok(), shard};
  });
  return Status::Ok();
}

Status ShardOutput::BeginWrite() {
  auto [status, shard] = finishing_.Take();
  ASSAY_RETURN_IF_ERROR(status);
  while (!writing_.empty() && AreDone(writing_.front()->writes)) {
    ASSAY_RETURN_IF_ERROR(EndWrite());
  }
  while (!writing_.empty() && bytes_under_way() + shard->finished.entry.data().bytes > kMostBytesUnderWay) {
    ASSAY_RETURN_IF_ERROR(EndWrite());
  }
  const FinishedShard& finished = shard->finished;
  const auto begin = [&](const FinishedShard::File& file, uint32_t crc32c, std::vector<Bytes> buffers) {
    storage::WriteOptions options{.expected = storage::MakeCrc32c(crc32c)};
    shard->writes.push_back(
        transfers_.Write(*place_.store, place_.Key(file.name), std::move(buffers), std::move(options)));
  };
  begin(finished.data, finished.proof.crc32c,
        finished.data.content.empty() ? std::vector<Bytes>{AsBytes(shard->built.head), AsBytes(shard->built.samples)}
                                      : std::vector<Bytes>{AsBytes(finished.data.content)});
  if (!finished.meta.name.empty()) {
    begin(finished.meta, finished.proof.meta_crc32c, {AsBytes(finished.meta.content)});
  }
  writing_.push_back(shard);
  return Status::Ok();
}

Status ShardOutput::EndWrite() {
  const std::shared_ptr<Shard> shard = writing_.front();
  writing_.pop_front();
  ASSAY_RETURN_IF_ERROR(WaitForAll(shard->writes));
  const int64_t number = shard->built.number;
  written_.push_back({.entry = std::move(shard->finished.entry),
                      .proof = std::move(shard->finished.proof),
                      .records = std::move(shard->finished.records),
                      .next = shard->next});
  spare_ = std::move(shard->built.samples);
  shard->built = {};
  shard->finished = {};
  shard->journal = FormatJournalEntry(written_.back());
  shard->writes = {transfers_.Write(*place_.store, place_.Key(JournalName(number)), {AsBytes(shard->journal)})};
  noting_.push_back(shard);
  if (noting_.size() > kMostNotes) {
    const std::shared_ptr<Shard> oldest = noting_.front();
    noting_.pop_front();
    return WaitForAll(oldest->writes);
  }
  return Status::Ok();
}

Result<std::vector<WrittenShard>> ShardOutput::Finish() {
  while (!finishing_.empty()) {
    ASSAY_RETURN_IF_ERROR(BeginWrite());
  }
  while (!writing_.empty()) {
    ASSAY_RETURN_IF_ERROR(EndWrite());
  }
  for (; !noting_.empty(); noting_.pop_front()) {
    ASSAY_RETURN_IF_ERROR(WaitForAll(noting_.front()->writes));
  }
  return std::move(written_);
}

}  // namespace assay::shards
