// What a file store keeps of an object beside its bytes: an extended attribute of its file.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// "inode-size-mtime" in hexadecimal, the time in nanoseconds: changes with every publish (a new inode, a time set to
/// the nanosecond) and when another program writes into the file.
std::string EtagOf(const struct stat& status);

/// Size, etag and time of `status`; from the attribute of `fd`, unless that is -1, also content type, metadata and
/// CRC32C. A checksum that was recorded for another size or time than the file's is left out: another program wrote
/// into it.
ObjectInfo DescribeFile(int fd, const struct stat& status, std::string key);

/// Sets the file's time to now and records content type, metadata and checksum with it. On file systems without
/// extended attributes these are not kept; metadata that does not fit (ext4: 4 KiB in all) is InvalidArgument. Returns
/// what DescribeFile() would say from now on, under the key of `info`.
Result<ObjectInfo> RecordAttributes(int fd, const ObjectInfo& info, const std::string& uri);

}  // namespace assay::storage
