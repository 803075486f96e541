#include "storage/copy/key_spool.h"

#include <algorithm>
#include <cerrno>

namespace assay::storage {
namespace {

constexpr char kWhere[] = "the list of what is to be removed, a temporary file";

Status Failed(const char* verb) {
  return ErrnoStatus(errno != 0 ? errno : EIO, verb, kWhere);
}

}  // namespace

// A length and that many bytes each: keys may hold any character.
Status KeySpool::Add(const std::string& key) {
  if (!file_) {
    file_.reset(std::tmpfile());
  }
  const auto bytes = static_cast<uint32_t>(key.size());
  if (!file_ || std::fwrite(&bytes, sizeof bytes, 1, file_.get()) != 1 ||
      std::fwrite(key.data(), 1, key.size(), file_.get()) != key.size()) {
    return Failed("write");
  }
  ++size_;
  return Status::Ok();
}

Status KeySpool::ForEachBatch(size_t batch, const std::function<Status(const std::vector<std::string>&)>& take) {
  if (size_ > 0 && (std::fflush(file_.get()) != 0 || std::fseek(file_.get(), 0, SEEK_SET) != 0)) {
    return Failed("write");
  }
  for (int64_t given = 0; given < size_;) {
    std::vector<std::string> keys(std::min(batch, static_cast<size_t>(size_ - given)));
    for (std::string& key : keys) {
      uint32_t bytes = 0;
      if (std::fread(&bytes, sizeof bytes, 1, file_.get()) != 1) {
        return Failed("read");
      }
      key.resize(bytes);
      if (std::fread(key.data(), 1, key.size(), file_.get()) != key.size()) {
        return Failed("read");
      }
    }
    given += static_cast<int64_t>(keys.size());
    ASSAY_RETURN_IF_ERROR(take(keys));
  }
  return Status::Ok();
}

}  // namespace assay::storage
