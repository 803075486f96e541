#include "storage/copy/part_journal.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/copy/checksum_json.h"

namespace assay::storage {
namespace {

nlohmann::json PartJson(const UploadedPart& part) {
  nlohmann::json json = {{"part", part.number}, {"bytes", part.bytes}, {"etag", part.etag}};
  if (part.checksum) {
    json["checksum"] = ChecksumJson(*part.checksum);
  }
  return json;
}

std::optional<UploadedPart> PartFrom(const nlohmann::json& json) {
  UploadedPart part;
  int64_t number = 0;
  if (!json.is_object() || !ReadField(json, "part", number).ok() || !ReadField(json, "bytes", part.bytes).ok() ||
      !ReadField(json, "etag", part.etag).ok() || number < 1 || part.etag.empty()) {
    return std::nullopt;
  }
  part.number = static_cast<int>(number);
  part.checksum = ChecksumFromJson(json.value("checksum", nlohmann::json()));
  return part.checksum ? std::optional(std::move(part)) : std::nullopt;
}

std::optional<ResumableUpload> UploadFrom(const nlohmann::json& json) {
  ResumableUpload upload;
  if (!json.is_object() || !ReadField(json, "upload_id", upload.upload_id).ok() ||
      !ReadField(json, "write_token", upload.write_token).ok() ||
      !ReadField(json, "part_bytes", upload.part_bytes).ok() || !ReadField(json, "terms", upload.terms).ok() ||
      upload.upload_id.empty() || upload.part_bytes <= 0) {
    return std::nullopt;
  }
  return upload;
}

}  // namespace

Result<std::unique_ptr<PartJournal>> PartJournal::Open(const std::string& folder, const MappedObject& source,
                                                       const std::string& source_uri, const std::string& target) {
  ASSAY_RETURN_IF_ERROR(MakeDirectories(folder));
  const std::string name = Sha256Hex(source_uri + '\n' + source.info().etag + '\n' + target);
  std::string path = folder + '/' + name + ".jsonl";
  FileDescriptor file = OpenFile(path.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
  if (!file.valid()) {
    return ErrnoStatus(errno, "open", path);
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return std::unique_ptr<PartJournal>();
  }
  std::unique_ptr<PartJournal> journal(new PartJournal(std::move(path), std::move(file), source));
  journal->ReadEarlier();
  return journal;
}

void PartJournal::ReadEarlier() {
  const Result<std::string> text = ReadFile(path_);
  if (!text.ok()) {
    return;
  }
  for (const std::string& line : Split(*text, '\n')) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!earlier_) {
      earlier_ = UploadFrom(json);
    } else if (auto part = PartFrom(json)) {
      earlier_->parts.push_back(*std::move(part));
    }
  }
}

void PartJournal::OnBegin(const ResumableUpload& upload) {
  begun_ = true;
  // Nothing to go on with: what it is of stands already.
  gone_ = upload.upload_id.empty();
  // Parts that the store does not have are forgotten with the old text.
  if (::ftruncate(file_.get(), 0) != 0) {
    return;
  }
  Append(DumpJson({{"upload_id", upload.upload_id},
                   {"write_token", upload.write_token},
                   {"part_bytes", upload.part_bytes},
                   {"terms", upload.terms}}));
  for (const UploadedPart& part : upload.parts) {
    resumed_bytes_ += part.bytes;
    Append(DumpJson(PartJson(part)));
  }
}

void PartJournal::OnPart(const UploadedPart& part) {
  Append(DumpJson(PartJson(part)));
}

void PartJournal::Append(const std::string& line) {
  // A journal that cannot be written (a full disk) costs a resumption, not the upload.
  const std::string text = line + '\n';
  [[maybe_unused]] const bool written = WriteAll(file_.get(), std::as_bytes(std::span(text)));
}

void PartJournal::Remove() {
  ::unlink(path_.c_str());
}

}  // namespace assay::storage
