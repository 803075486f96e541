// What every store checks the same way and says in the same words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::storage {

/// Longest key that all of S3, GCS and OCI take, in bytes of UTF-8.
inline constexpr size_t kMaxKeyBytes = 1024;
/// Metadata that holds the token of a conditional write.
inline constexpr std::string_view kWriteTokenName = "assay-write-token";

/// Keys of files have 1 to 1024 bytes and no NUL, as names of files do.
Status CheckFileKey(std::string_view key, std::string_view uri);
/// All others are UTF-8 besides.
Status CheckKey(std::string_view key, std::string_view uri);
/// What a write says of its object can stand in headers: metadata with names that are tokens of HTTP and values without
/// control characters, likewise the content type, the token and the etag of the condition. Bytes above 127 may stand in
/// values. A condition that an object stands names that object's etag. Nothing is sent of a write that this refuses.
Status CheckHeaders(const WriteOptions& options, std::string_view uri);
/// Both of a write.
Status CheckWrite(std::string_view key, const WriteOptions& options, std::string_view uri);
/// Every piece lies within an object of `size` bytes.
Status CheckPieces(std::span<const ReadPiece> pieces, int64_t size, std::string_view uri);

inline bool IsCancelled(CancelFlag cancel) {
  return cancel != nullptr && cancel->load(std::memory_order_relaxed);
}

/// The errors of the contract; `verb` is "read", "write", "copy".
Status CancelledStatus(std::string_view verb, std::string_view uri);
Status MissingObjectStatus(std::string_view verb, std::string_view uri);
Status ConditionFailedStatus(const WriteCondition& condition, std::string_view uri);
Status ChangedObjectStatus(std::string_view uri, std::string_view expected_etag, std::string_view found_etag);
/// Whether `status` is that of any object.
bool IsChangedObject(const Status& status);
Status ChecksumMismatchStatus(std::string_view verb, std::string_view uri, const Checksum& expected,
                              const Checksum& found);
bool IsChecksumMismatch(const Status& status);
/// What that says of the two: "its crc32c is 5c2f1b09 and not 0a11e3d4". Nothing where `status` is of anything else,
/// also of a store that says the like in its own words.
std::optional<std::string> ChecksumMismatchOf(const Status& status, std::string_view verb, std::string_view uri);

/// What the store says of an object that must exist, or MissingObjectStatus(verb, ...).
Result<ObjectInfo> StatExisting(ObjectStore& store, const std::string& key, std::string_view verb,
                                CancelFlag cancel = nullptr);
/// Likewise of several, in their order, some of them side by side.
Result<std::vector<ObjectInfo>> StatExisting(ObjectStore& store, std::span<const std::string> keys,
                                             std::string_view verb, CancelFlag cancel = nullptr);

/// Fails when `options` expect a checksum and `content` has another, or the write is cancelled meanwhile.
Status CheckExpected(const WriteOptions& options, std::span<const Bytes> content, std::string_view uri);

/// The CRC32C of the objects' concatenation, when all of them have one.
std::optional<Checksum> CombinedChecksum(std::span<const ObjectInfo> objects);
/// Likewise for content that does not pass through here and has checksum `known`, if any: Unsupported where that cannot
/// tell.
Status CheckExpectedOf(const std::optional<Checksum>& expected, const std::optional<Checksum>& known,
                       std::string_view uri);

/// The metadata that a write leaves: the user's, and of one under a condition its token, made here when the caller gave
/// none.
std::map<std::string, std::string> MetadataOf(const WriteOptions& options);
/// What a copy of `source` is written with: the source's content type and metadata (without the token of its own write)
/// where `options` names none of their own.
WriteOptions CopyOptions(const ObjectInfo& source, WriteOptions options);
/// Whether `existing` was made by the very write that `metadata` belongs to: its answer was lost, it won.
bool WonEarlier(const ObjectInfo& existing, const std::map<std::string, std::string>& metadata);

/// The number that a CRC32C holds; nothing for another kind.
std::optional<uint32_t> Crc32cOf(const Checksum& checksum);

int64_t TotalBytes(std::span<const Bytes> buffers);

}  // namespace assay::storage
