#include "storage/file/object_attributes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/xattr.h>
#include <time.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"

namespace assay::storage {
namespace {

constexpr const char* kAttribute = "user.assay.object";
constexpr const char* kDefaultContentType = "application/octet-stream";

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Empty where there is none.
std::string ReadAttribute(int fd) {
  std::string text(4096, '\0');
  ssize_t size = ::fgetxattr(fd, kAttribute, text.data(), text.size());
  if (size < 0 && errno == ERANGE) {
    text.resize(64 << 10);
    size = ::fgetxattr(fd, kAttribute, text.data(), text.size());
  }
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return text;
}

void ReadMetadata(const nlohmann::json& json, std::map<std::string, std::string>& metadata) {
  const auto found = json.find("metadata");
  if (found == json.end() || !found->is_object()) {
    return;
  }
  for (const auto& [name, value] : found->items()) {
    if (value.is_string()) {
      metadata[name] = value.get<std::string>();
    }
  }
}

nlohmann::json AttributesOf(const ObjectInfo& info, const struct stat& status) {
  nlohmann::json json = {{"content_type", info.content_type}};
  if (!info.metadata.empty()) {
    json["metadata"] = info.metadata;
  }
  if (info.checksum.has_value() && info.checksum->kind == ChecksumKind::kCrc32c) {
    json["crc32c"] = info.checksum->Base64();
    json["size"] = static_cast<int64_t>(status.st_size);
    json["mtime_ns"] = Nanoseconds(status.st_mtim);
  }
  return json;
}

std::optional<Checksum> RecordedChecksum(const nlohmann::json& json, const struct stat& status) {
  int64_t size = -1;
  int64_t mtime_ns = -1;
  std::string crc32c;
  const Status read[] = {ReadField(json, "size", size), ReadField(json, "mtime_ns", mtime_ns),
                         ReadField(json, "crc32c", crc32c)};
  const auto value = Base64Decode(crc32c);
  if (!read[0].ok() || !read[1].ok() || !read[2].ok() || size != status.st_size ||
      mtime_ns != Nanoseconds(status.st_mtim) || !value.has_value() || value->size() != 4) {
    return std::nullopt;
  }
  return Checksum{ChecksumKind::kCrc32c, *value};
}

ObjectInfo InfoOf(const struct stat& status, std::string key) {
  return {.key = std::move(key),
          .size = static_cast<int64_t>(status.st_size),
          .etag = EtagOf(status),
          .modified = static_cast<double>(Nanoseconds(status.st_mtim)) * 1e-9};
}

// What the attribute says.
void AddRecorded(const std::string& attribute, const struct stat& status, ObjectInfo& info) {
  info.content_type = kDefaultContentType;
  const nlohmann::json json = nlohmann::json::parse(attribute, nullptr, false);
  if (!json.is_object() || !ReadField(json, "content_type", info.content_type).ok()) {
    return;
  }
  ReadMetadata(json, info.metadata);
  info.checksum = RecordedChecksum(json, status);
}

}  // namespace

std::string EtagOf(const struct stat& status) {
  return fmt::format("{:x}-{:x}-{:x}", status.st_ino, status.st_size, Nanoseconds(status.st_mtim));
}

ObjectInfo DescribeFile(int fd, const struct stat& status, std::string key) {
  ObjectInfo info = InfoOf(status, std::move(key));
  if (fd >= 0) {
    AddRecorded(ReadAttribute(fd), status, info);
  }
  return info;
}

Result<ObjectInfo> RecordAttributes(int fd, const ObjectInfo& info, const std::string& uri) {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  const timespec times[2] = {now, now};
  struct stat status;
  if (::futimens(fd, times) != 0 || ::fstat(fd, &status) != 0) {
    return ErrnoStatus(errno, "write", uri);
  }
  const std::string text = DumpJson(AttributesOf(info, status));
  const bool kept = ::fsetxattr(fd, kAttribute, text.data(), text.size(), 0) == 0;
  if (kept || errno == ENOTSUP) {
    ObjectInfo recorded = InfoOf(status, info.key);
    AddRecorded(kept ? text : std::string(), status, recorded);
    return recorded;
  }
  if (errno == ENOSPC || errno == E2BIG || errno == ERANGE) {
    if (text.size() > 2048) {
      return Status::InvalidArgument(
          fmt::format("cannot write {}: its metadata takes {} bytes and the file system keeps fewer (shorten it)", uri,
                      text.size()));
    }
    return ErrnoStatus(ENOSPC, "write", uri);
  }
  return ErrnoStatus(errno, "write", uri);
}

}  // namespace assay::storage
