#include "checkpoint/torch/torch_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/terminal.h"
#include "checkpoint/pickle/value_builder.h"
#include "checkpoint/torch/legacy_reader.h"
#include "checkpoint/zip/zip_reader.h"

namespace assay::checkpoint {
namespace {

constexpr int64_t kMostPickleBytes = int64_t{2} << 30;
constexpr int64_t kMostSmallRecordBytes = 4096;

Status Unreadable(const DataSource& source, const std::string& what) {
  return Status::Unsupported(fmt::format("{}: {}", source.uri(), what));
}

/// Storages of a file by their keys: those that share memory are one.
class ZipStorages {
 public:
  explicit ZipStorages(const ZipArchive& archive) : archive_(archive) {}

  Result<std::shared_ptr<const Storage>> Open(const StorageName& name) {
    std::shared_ptr<const Storage>& storage = by_key_[name.key];
    if (storage != nullptr) {
      return storage;
    }
    const ZipRecord* record = archive_.Find("data/" + name.key);
    if (record == nullptr) {
      return Status::InvalidArgument(fmt::format("{}: a tensor lies in its record 'data/{}', which it does not have",
                                                 archive_.source().uri(), name.key));
    }
    int64_t bytes = 0;
    if (__builtin_mul_overflow(name.elements, ElementBytes(name.dtype), &bytes) || bytes > record->bytes) {
      return Status::InvalidArgument(fmt::format("{}: its record '{}' has {} bytes, too few for {} elements of {}",
                                                 archive_.source().uri(), record->name, record->bytes, name.elements,
                                                 InfoOf(name.dtype).name));
    }
    storage = std::make_shared<const Storage>(Storage{archive_.shared_source(), record->data_offset, bytes});
    return storage;
  }

 private:
  const ZipArchive& archive_;
  std::map<std::string, std::shared_ptr<const Storage>> by_key_;
};

Status CheckByteOrder(const ZipArchive& archive) {
  const ZipRecord* record = archive.Find("byteorder");
  if (record == nullptr) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string order, archive.Read(*record, kMostSmallRecordBytes));
  return order == "little" ? Status::Ok()
                           : Unreadable(archive.source(), fmt::format("its byte order is '{}'; only little is read "
                                                                      "(load it with torch and save it again)",
                                                                      order));
}

Result<const ZipRecord*> PickleOf(const ZipArchive& archive) {
  const ZipRecord* record = archive.Find("data.pkl");
  return record != nullptr
             ? Result<const ZipRecord*>(record)
             : Status::InvalidArgument(fmt::format(
                   "{}: it is a zip archive without data.pkl, not written by torch.save", archive.source().uri()));
}

Result<Value> ReadZip(std::shared_ptr<const DataSource> source, const FindRecord& known) {
  ASSAY_ASSIGN_OR_RETURN(const ZipArchive archive, ZipArchive::Open(std::move(source), known));
  ASSAY_ASSIGN_OR_RETURN(const ZipRecord* record, PickleOf(archive));
  if (archive.Find("constants.pkl") != nullptr) {
    return Unreadable(archive.source(), "it is a TorchScript program (save its state_dict instead)");
  }
  ASSAY_RETURN_IF_ERROR(CheckByteOrder(archive));
  ASSAY_ASSIGN_OR_RETURN(const std::string bytes, archive.Read(*record, kMostPickleBytes));
  ASSAY_ASSIGN_OR_RETURN(const Pickle pickle, ReadPickle(bytes, StateGlobals(), archive.source().uri()));
  ZipStorages storages(archive);
  return ToValue(pickle, [&](const StorageName& name) { return storages.Open(name); }, archive.source().uri());
}

/// Whether it is of the format before torch 1.6; the one before that is refused.
Result<bool> IsLegacy(const DataSource& source) {
  constexpr int64_t kTarMagicAt = 257;
  constexpr int64_t kHeadBytes = kTarMagicAt + 5;
  ASSAY_ASSIGN_OR_RETURN(const std::string head, ReadText(source, 0, std::min<int64_t>(source.bytes(), kHeadBytes)));
  if (head.size() == kHeadBytes && head.substr(kTarMagicAt) == "ustar") {
    return Unreadable(source, "it is in the tar format of torch before 0.1.10 (load it with torch and save it again)");
  }
  return IsLegacyTorchFile(head);
}

}  // namespace

Result<Value> ReadTorchFile(std::shared_ptr<const DataSource> source, const FindRecord& known) {
  ASSAY_ASSIGN_OR_RETURN(const bool is_legacy, IsLegacy(*source));
  Result<Value> value = is_legacy ? ReadLegacyTorchFile(std::move(source)) : ReadZip(std::move(source), known);
  return value.ok() ? std::move(value) : Escaped(value.status());
}

Result<std::string> ReadSerializationId(std::shared_ptr<const DataSource> source) {
  ASSAY_ASSIGN_OR_RETURN(const bool is_legacy, IsLegacy(*source));
  if (is_legacy) {
    return std::string();
  }
  ASSAY_ASSIGN_OR_RETURN(const ZipArchive archive, ZipArchive::OpenForOne(std::move(source), ".data/serialization_id"));
  ASSAY_RETURN_IF_ERROR(PickleOf(archive).status());
  const ZipRecord* record = archive.Find(".data/serialization_id");
  return record == nullptr ? Result<std::string>(std::string()) : archive.Read(*record, kMostSmallRecordBytes);
}

}  // namespace assay::checkpoint
