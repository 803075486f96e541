// ObjectStore: one set of semantics over files, S3, Google Cloud Storage, OCI and memory.
//
// Keys, ranges and parts only: there are no directories. Absence is data, not an error. A write is visible whole or not
// at all. Every operation blocks its caller and may be called from any thread; parallelism is inside.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/integrity/checksum.h"

namespace assay::storage {

struct MappedFile;  // storage/mapped_file.h

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// What a store says of an object.
struct ObjectInfo {
  std::string key{};
  int64_t size = 0;
  /// As the store gives it, without quotes; changes with the content. Of a write, empty where the store names none.
  std::string etag{};
  std::string version{};  ///< S3 version id, GCS generation; empty where there is none
  double modified = 0;    ///< seconds since 1970, UTC
  std::string storage_class{};
  std::string content_type{};
  std::optional<Checksum> checksum{};             ///< of the whole content, where the store records one
  std::map<std::string, std::string> metadata{};  ///< the user's, names in lower case
};

/// A cooperative stop: operations poll it and end with ErrorCode::kAborted, aborting unfinished uploads.
using CancelFlag = const std::atomic<bool>*;

/// Bytes that moved since the last call; called from any thread, cheap.
using ProgressCallback = std::function<void(int64_t bytes)>;

/// Bytes of an object, and their checksum where it was computed (a value of no bytes where not).
struct PartChecksum {
  int64_t offset = 0;
  int64_t bytes = 0;
  Checksum checksum;
};

struct ReadOptions {
  std::string if_match{};  ///< etag the object must still have; an object that changed is FailedPrecondition
  /// Compare each range with its checksum where the store tells one, and a whole with what the store records of it:
  /// a read of all bytes asks for that where no answer brings it.
  bool verify = true;
  /// What Stat() said of the version that `if_match` names, its size too: its checksum is not asked again. Not owned.
  const ObjectInfo* known = nullptr;
  CancelFlag cancel = nullptr;
  ProgressCallback progress{};
  /// Of remote stores: parts of operations with a higher one are sent first.
  int priority = 0;
  /// Of Read() and ReadWhole(): a file that is open for writing, of whose mapped memory that of the pieces is a part.
  /// Remote stores write what comes into the file then, which costs less than to fill pages of it. Not owned.
  const MappedFile* file = nullptr;
  /// Of Read() and ReadWhole() of remote stores: told of each range that lies in its memory, once it was checked, in
  /// any order, on a thread of the store, which it must not use; again where the whole turns out to be damaged and is
  /// read again.
  std::function<void(const PartChecksum&)> on_range{};
};

/// One piece of an object and the memory it lands in; the memory's size is the range's length.
struct ReadPiece {
  int64_t offset = 0;
  MutableBytes memory{};
};

/// When a write may replace what stands under its key.
struct WriteCondition {
  enum class Kind { kNone, kAbsent, kMatches };
  Kind kind = Kind::kNone;
  std::string etag{};  ///< for kMatches
};

/// A part that a store holds of an upload.
struct UploadedPart {
  int number = 0;  ///< from 1
  int64_t bytes = 0;
  std::string etag{};
  std::optional<Checksum> checksum{};
  std::optional<Checksum> digest{};  ///< of another kind, where the store told one when it took the part
};

/// What another program needs to go on with an upload in parts.
struct ResumableUpload {
  std::string upload_id{};
  std::string write_token{};
  int64_t part_bytes = 0;
  std::vector<UploadedPart> parts{};  ///< the finished ones
  std::string terms{};  ///< the store's word for how it was begun: begun in any other way, it is not gone on with
};

/// Remembers an upload in parts while it runs. Called by one thread at a time, a thread of the store among them, which
/// must not be used meanwhile.
class UploadJournal {
 public:
  virtual ~UploadJournal() = default;
  /// The upload stands; with what it goes on from when it was begun earlier.
  virtual void OnBegin(const ResumableUpload& upload) = 0;
  virtual void OnPart(const UploadedPart& part) = 0;
  /// A part has been sent, but perhaps for its last bytes. An error gives the write up: nothing more is sent of what
  /// BeforePublish() would refuse. On threads of the store, several at a time.
  virtual Status BeforePartEnds() { return Status::Ok(); }
  /// Everything but the last bytes, or the request that publishes them, has been sent. An error gives the write up:
  /// what was sent is not of one version. Every store asks; where an object goes in one request, on a thread of the
  /// store.
  virtual Status BeforePublish() = 0;
  /// The upload was given up, and the store says that it holds nothing of it any more.
  virtual void OnGone() {}
  /// False: nothing is written down, so an upload that fails is aborted whatever ended it.
  virtual bool remembers() const { return true; }
};

struct WriteOptions {
  WriteCondition condition{};
  std::string content_type = "application/octet-stream";
  std::map<std::string, std::string> metadata{};
  /// Stored as metadata "assay-write-token" of a conditional write, so that a retry can tell "I won and lost the
  /// answer" from "another won". Empty: the store makes one.
  std::string write_token{};
  /// Of the whole content, where the caller knows it: the write fails rather than publish anything else.
  std::optional<Checksum> expected{};
  CancelFlag cancel = nullptr;
  ProgressCallback progress{};
  int priority = 0;  ///< as of ReadOptions
  /// Of Write(), where the store has `resumable_uploads`: told of an upload in parts, and an upload that the network
  /// ended is kept. Of other stores, asked only whether to publish. Not owned.
  UploadJournal* journal = nullptr;
  /// Of Write(): an upload of the same content, kept from an earlier try. What the store still holds of it is not sent
  /// again; one that the store does not know any more, or that was begun with other options, is begun anew. Not
  /// owned.
  const ResumableUpload* resume = nullptr;
};

/// A write of unknown length. Belongs to one thread. Nothing is visible before Commit; the destructor aborts.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  /// Takes the bytes before it returns (copied into parts within the store's memory budget); blocks while that is full.
  virtual Status Write(Bytes bytes) = 0;
  virtual Result<ObjectInfo> Commit() = 0;
  /// Gives the upload up and frees what the store holds of it.
  virtual void Abort() = 0;
};

struct ListOptions {
  std::string prefix{};
  std::string delimiter{};    ///< keys that hold it after the prefix are rolled up into `prefixes`
  std::string start_after{};  ///< only keys behind it, in byte order of UTF-8
  std::string end_before{};   ///< only keys before it; empty: no end
  std::string page_token{};   ///< of the page before
  int max_keys = 1000;
  /// Of objects only keys are of use: all else may be left out that costs a request, a system call or bytes on the way.
  bool keys_only = false;
  CancelFlag cancel = nullptr;  ///< of remote stores: ends also a page that is on its way
};

struct ListPage {
  /// In byte order of keys; etag, size and time set (not for `keys_only`), the rest where listed.
  std::vector<ObjectInfo> objects{};
  std::vector<std::string> prefixes{};  ///< with their delimiter
  std::string next_page_token{};        ///< empty: the last page
};

/// An upload that was begun and neither completed nor aborted.
struct UnfinishedUpload {
  std::string key{};
  std::string upload_id{};
  double started = 0;  ///< seconds since 1970
};

/// One of many that are read or written together.
struct ObjectRead {
  std::string key{};
  ReadPiece piece{};
  const ReadOptions* options = nullptr;  ///< in place of those of all; not owned

  const ReadOptions& OptionsOr(const ReadOptions& of_all) const { return options == nullptr ? of_all : *options; }
};
struct ObjectWrite {
  std::string key{};
  Bytes content{};
  const WriteOptions* options = nullptr;  ///< in place of those of all; not owned

  const WriteOptions& OptionsOr(const WriteOptions& of_all) const { return options == nullptr ? of_all : *options; }
};

/// What a store can do; asked before an operation that not all have.
struct Capabilities {
  bool conditional_create = false;
  bool conditional_replace = false;
  bool compose = false;
  bool presign = false;
  bool unfinished_uploads = false;
  bool resumable_uploads = false;
};

/// Where a service keeps a store's objects.
struct ServicePlace {
  std::string service{};  ///< its address, the account and whatever else must agree; empty: none
  std::string bucket{};
};

class AsyncStore;  // storage/async_store.h
class FileStore;   // storage/file/file_store.h
class MemoryPool;  // storage/memory_pool.h

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// "s3://bucket/key", for messages and for people; never holds a secret.
  virtual std::string Uri(std::string_view key) const = 0;
  virtual Capabilities capabilities() const = 0;

  /// Nothing when there is no such object. `cancel`: of remote stores; ends also a request that is on its way.
  virtual Result<std::optional<ObjectInfo>> Stat(const std::string& key, CancelFlag cancel = nullptr) = 0;

  /// Of an object that Stat() did not find: what is missing besides (its bucket), as the store says it. Ok where it is
  /// the object alone.
  virtual Status ExplainAbsence(const std::string& key, CancelFlag cancel = nullptr) { return Status::Ok(); }

  /// Fills every piece, or fails. Pieces may come in any order; near ones are fetched in one request, large ones in
  /// several at a time, all of the same version of the object. A missing object is NotFound, a piece beyond the end is
  /// InvalidArgument.
  virtual Result<ObjectInfo> Read(const std::string& key, std::span<const ReadPiece> pieces,
                                  const ReadOptions& options) = 0;
  /// The whole object, whatever its size, in memory from `allocate(size)`: called once, before the bytes come. Remote
  /// stores call it on an I/O thread, whose transfers wait for it, and may call those of other reads meanwhile: it must
  /// be quick (take address space, not touch it) and must not use the store.
  virtual Result<ObjectInfo> ReadWhole(const std::string& key,
                                       const std::function<MutableBytes(int64_t size)>& allocate,
                                       const ReadOptions& options) = 0;
  /// Pieces of any number of objects of any size, as many at a time as connections allow; one status each.
  virtual std::vector<Status> ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) = 0;

  /// The concatenation of `buffers`, sent from where they lie.
  virtual Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes> buffers,
                                   const WriteOptions& options) = 0;
  virtual Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key, const WriteOptions& options) = 0;
  /// Any number of objects of any size, as many at a time as connections allow; one status each.
  virtual std::vector<Status> WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) = 0;

  virtual Result<ListPage> List(const ListOptions& options) = 0;

  /// Fine when there is no such object.
  virtual Status Remove(const std::string& key) = 0;
  /// One status a key: Aborted where `cancel` (of remote stores) came before the store had answered, which may have
  /// removed it.
  virtual std::vector<Status> RemoveMany(std::span<const std::string> keys, CancelFlag cancel = nullptr) = 0;

  /// Within the store, without the bytes passing through here. Where `options` names no content type or no
  /// metadata of its own, the copy has that of what it was copied from.
  virtual Result<ObjectInfo> Copy(const std::string& from, const std::string& to, const WriteOptions& options) = 0;
  /// The store itself where its objects are files, whose bytes can be had where they lie; null for all others, and for
  /// what stands around one.
  virtual const FileStore* as_files() const { return nullptr; }
  /// The same store for who waits without a thread; null: its operations hold the one that calls them.
  virtual AsyncStore* async() { return nullptr; }
  /// Where whoever reads or writes this store takes buffers from; null: there is no budget.
  virtual MemoryPool* memory_pool() { return nullptr; }
  /// Where a service keeps the objects; of no service where none copies between its buckets.
  virtual ServicePlace place() const { return {}; }
  /// Likewise from a bucket with which this one SharesService(). Nothing where it does not, or the service does not let
  /// us: then the bytes must pass through here.
  virtual Result<std::optional<ObjectInfo>> CopyFrom(ObjectStore& source, const std::string& from,
                                                     const std::string& to, const WriteOptions& options) {
    return std::optional<ObjectInfo>();
  }
  /// The concatenation of objects of the store.
  virtual Result<ObjectInfo> Compose(std::span<const std::string> from, const std::string& to,
                                     const WriteOptions& options) = 0;

  // `cancel`: of remote stores; ends also a request that is on its way, which the store may have carried out.
  /// A URL that lets its holder do `method` (GET or PUT) for `seconds`.
  virtual Result<std::string> Presign(const std::string& key, std::string_view method, int64_t seconds,
                                      CancelFlag cancel = nullptr) = 0;

  /// The bucket itself. One that exists already is FailedPrecondition.
  virtual Status MakeBucket(CancelFlag cancel = nullptr) { return NoBucketStatus("make"); }
  /// One that holds objects is FailedPrecondition, and stays.
  virtual Status RemoveBucket(CancelFlag cancel = nullptr) { return NoBucketStatus("remove"); }

  virtual Result<std::vector<UnfinishedUpload>> ListUploads(const std::string& prefix, CancelFlag cancel = nullptr) = 0;
  virtual Status AbortUpload(const std::string& key, const std::string& upload_id, CancelFlag cancel = nullptr) = 0;
  /// The same for whom nobody waits, within StoreOptions::give_up_seconds. Whether nothing of the upload is left: not
  /// where the store is out of reach, refuses, or knows no such bucket.
  virtual bool GiveUpUpload(const std::string& key, const std::string& upload_id) {
    const Status aborted = AbortUpload(key, upload_id);
    return aborted.ok() || aborted.code() == ErrorCode::kNotFound;
  }

 private:
  Status NoBucketStatus(std::string_view verb) const {
    return Status::Unsupported("cannot " + std::string(verb) + " " + Uri("") + ": it is no bucket of a service");
  }
};

/// Whether both are buckets of one service and one account, between which CopyFrom() can be tried.
inline bool SharesService(const ObjectStore& a, const ObjectStore& b) {
  return !a.place().service.empty() && a.place().service == b.place().service;
}

}  // namespace assay::storage
