#include "storage/transfer/upload_parts.h"

#include <algorithm>
#include <utility>

#include "storage/transfer/checksum_parts.h"

namespace assay::storage {

bool HoldsSent(const UploadedPart& listed, const UploadedPart& sent) {
  if (listed.bytes != sent.bytes) {
    return false;
  }
  for (const std::optional<Checksum>& known : {sent.checksum, sent.digest}) {
    if (known && listed.checksum && known->kind == listed.checksum->kind) {
      return *known == *listed.checksum;
    }
  }
  return listed.etag == sent.etag;
}

void UploadParts::Add(int number, int64_t bytes, Pieces pieces) {
  entries_.resize(std::max(entries_.size(), static_cast<size_t>(number)));
  entries_[static_cast<size_t>(number - 1)] = {std::move(pieces), std::nullopt, false};
  total_bytes_ += bytes;
}

void UploadParts::Set(UploadedPart part, bool recorded) {
  Entry& entry = entries_[static_cast<size_t>(part.number - 1)];
  entry.recorded = recorded;
  entry.part = std::move(part);
}

std::vector<UploadedPart> UploadParts::Named() const {
  std::vector<UploadedPart> parts;
  for (const Entry& entry : entries_) {
    parts.push_back(*entry.part);
    if (!entry.recorded) {
      parts.back().checksum.reset();
    }
  }
  return parts;
}

bool UploadParts::all_recorded() const {
  return std::ranges::all_of(entries_, &Entry::recorded);
}

std::optional<Checksum> UploadParts::Combined() const {
  std::vector<PartChecksum> checksums;
  int64_t offset = 0;
  for (const Entry& entry : entries_) {
    if (!entry.part->checksum) {
      return std::nullopt;
    }
    checksums.push_back({offset, entry.part->bytes, *entry.part->checksum});
    offset += entry.part->bytes;
  }
  return CombineParts(std::move(checksums), total_bytes_);
}

std::vector<int> UploadParts::Reconcile(const std::map<int, UploadedPart>& listed) {
  std::vector<int> unproven;
  for (Entry& entry : entries_) {
    const auto standing = listed.find(entry.part->number);
    if (standing != listed.end() && HoldsSent(standing->second, *entry.part)) {
      entry.part->etag = standing->second.etag;
    } else {
      unproven.push_back(entry.part->number);
    }
  }
  return unproven;
}

}  // namespace assay::storage
