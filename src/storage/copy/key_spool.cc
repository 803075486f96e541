#include "storage/copy/key_spool.h"

#include <algorithm>
#include <cerrno>

namespace assay::storage {
namespace {

constexpr size_t kMemoryBytes = 1 << 20;
constexpr char kWhere[] = "the list of what is to be removed, a temporary file";

Status Failed(const char* verb) {
  return ErrnoStatus(errno != 0 ? errno : EIO, verb, kWhere);
}

}  // namespace

// A length and that many bytes each: keys may hold any character.
Status KeySpool::Add(const std::string& key) {
  const auto bytes = static_cast<uint32_t>(key.size());
  waiting_.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  waiting_ += key;
  ++size_;
  return waiting_.size() < kMemoryBytes ? Status::Ok() : Spill();
}

Status KeySpool::Spill() {
  if (!file_) {
    file_.reset(std::tmpfile());
  }
  if (!file_ || std::fwrite(waiting_.data(), 1, waiting_.size(), file_.get()) != waiting_.size() ||
      std::fflush(file_.get()) != 0) {
    return Failed("write");
  }
  waiting_.clear();
  return Status::Ok();
}

Status KeySpool::ForEachBatch(size_t batch, const std::function<Status(const std::vector<std::string>&)>& take) {
  if (file_) {
    ASSAY_RETURN_IF_ERROR(Spill());
    std::rewind(file_.get());
  }
  size_t at = 0;
  const auto read = [&](void* to, size_t bytes) {
    if (file_) {
      return std::fread(to, 1, bytes, file_.get()) == bytes;
    }
    at += waiting_.copy(static_cast<char*>(to), bytes, at);
    return true;
  };
  for (int64_t given = 0; given < size_;) {
    std::vector<std::string> keys(std::min(batch, static_cast<size_t>(size_ - given)));
    for (std::string& key : keys) {
      uint32_t bytes = 0;
      bool whole = read(&bytes, sizeof bytes);
      key.resize(bytes);
      whole = whole && read(key.data(), bytes);
      if (!whole) {
        return Failed("read");
      }
    }
    given += static_cast<int64_t>(keys.size());
    ASSAY_RETURN_IF_ERROR(take(keys));
  }
  return Status::Ok();
}

}  // namespace assay::storage
