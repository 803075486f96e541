// What differs between remote stores: how requests are written and how answers are read. RemoteReader and RemoteStore
// do the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "http/body.h"
#include "http/message.h"
#include "storage/object_store.h"
#include "storage/store_checks.h"
#include "storage/transfer/checksum_source.h"
#include "storage/transfer/failure.h"

namespace assay::storage {

/// A request that is ready but for its signature.
struct Outgoing {
  http::Request request;
  std::string payload_hash;                  ///< what Signer::Sign wants for this body
  std::unique_ptr<http::BodySource> source;  ///< in place of the body it was made for; null: that body, or none
  bool is_signed = true;                     ///< false: the address is its own proof
};

/// A body that is text: XML or JSON.
class TextSource : public http::BodySource {
 public:
  explicit TextSource(std::string text) : text_(std::move(text)) {}
  int64_t bytes() const override { return static_cast<int64_t>(text_.size()); }
  size_t Read(std::span<std::byte> out) override;
  void Rewind() override { offset_ = 0; }

 private:
  std::string text_;
  size_t offset_ = 0;
};

/// Whether conditions of writes are carried out.
enum class Conditions {
  kKept,
  kUnknown,  ///< some that speak the language take them and overwrite all the same
  kNotKept,
};

/// Limits and habits of a store.
struct DialectTraits {
  Capabilities capabilities;
  ChecksumKind checksum = ChecksumKind::kCrc32c;  ///< sent with uploads
  int64_t min_part_bytes = int64_t{5} << 20;      ///< of all parts but the last
  int64_t max_part_bytes = int64_t{5} << 30;
  int64_t max_parts = 10000;
  int64_t part_multiple_bytes = 1;  ///< parts but the last are multiples of this
  Conditions conditions = Conditions::kKept;
  bool page_tokens_are_keys = false;  ///< a listing goes on with the key that its token is
  bool parts_take_conditions = true;  ///< an upload in parts can be published under a WriteCondition
  bool head_tells_checksums = true;   ///< where an answer with bytes told none, HEAD may
};

/// What a GET of a range says besides its bytes.
struct RangeHead {
  ObjectInfo info;  ///< `size` is the whole object's, whatever the range; `checksum` the whole content's where told
  std::optional<Checksum> range_checksum;  ///< of the bytes of this answer, where told
};

struct PartsPage {
  std::vector<UploadedPart> parts;
  std::string next_page;  ///< empty: the last page
};

/// What was asked: an attempt of a request.
struct Asked {
  const std::string& key;
  const std::string& url;
};

/// How objects are read of one bucket of one kind of store. Const, and called from any thread. Reads of answers get 2xx
/// only; their failures (an error inside a 200, a body that is not what it should be) say whether a retry makes sense.
class ReadDialect {
 public:
  template <typename T>
  struct Read {
    T value{};
    std::optional<Failure> failure;
  };

  virtual ~ReadDialect() = default;

  virtual std::string Uri(std::string_view key) const = 0;
  /// Of one that is read.
  virtual Status CheckKey(std::string_view key) const { return storage::CheckKey(key, Uri(key)); }
  virtual const DialectTraits& traits() const = 0;
  /// Refines FailureOfStatus() by the store's own code, message and request id. `answer` is any but a 2xx.
  virtual Failure ReadFailure(const http::Response& answer) const = 0;

  /// An attempt has failed: where another address may serve, what is asked from now on goes there, and `failure`
  /// becomes FailureClass::kAgain. `answer`: what had come of one.
  virtual void Reroute(const Asked& asked, const http::Response& answer, Failure& failure) const {}

  virtual Outgoing Head(const std::string& key) const = 0;
  virtual Read<ObjectInfo> ReadHead(const Asked& asked, const http::Response& answer) const = 0;

  /// Bytes `offset` up to `offset + length` (or the object's end), of the version with that etag unless it is empty.
  virtual Outgoing Get(const std::string& key, int64_t offset, int64_t length, const std::string& etag) const = 0;
  /// From the headers alone; called on the I/O thread.
  virtual Read<RangeHead> ReadGet(const Asked& asked, const http::Response& answer) const = 0;
};

/// Likewise of a store that takes objects, and lists them.
class Dialect : public ReadDialect {
 public:
  /// Which of the store's own options new objects are written with: an upload that was begun with others is not gone on
  /// with.
  virtual std::string WriteTerms() const { return {}; }

  /// `body` outlives the request. `token`: metadata "assay-write-token", unless it is empty.
  virtual Outgoing Put(const std::string& key, ChecksumSource& body, const WriteOptions& options,
                       const std::string& token) const = 0;
  virtual Read<ObjectInfo> ReadPut(const std::string& key, const http::Response& answer) const = 0;

  virtual Outgoing CreateUpload(const std::string& key, const WriteOptions& options,
                                const std::string& token) const = 0;
  virtual Read<std::string> ReadCreateUpload(const http::Response& answer) const = 0;
  virtual Outgoing PutPart(const std::string& key, const std::string& upload_id, int number,
                           ChecksumSource& body) const = 0;
  /// etag and checksums of the part; the rest is known.
  virtual Read<UploadedPart> ReadPutPart(const http::Response& answer) const = 0;
  /// `parts` in order of their numbers; `whole` is the checksum of the whole content where it could be combined.
  virtual Outgoing CompleteUpload(const std::string& key, const std::string& upload_id,
                                  std::span<const UploadedPart> parts, const std::optional<Checksum>& whole,
                                  const WriteOptions& options) const = 0;
  virtual Read<ObjectInfo> ReadCompleteUpload(const std::string& key, const http::Response& answer) const = 0;
  virtual Outgoing AbortUpload(const std::string& key, const std::string& upload_id) const = 0;

  /// Where the traits say `resumable_uploads`: what the store holds of an upload, from `page` on (empty: the first).
  virtual Outgoing ListParts(const std::string& key, const std::string& upload_id, const std::string& page) const {
    return {};
  }
  virtual Read<PartsPage> ReadListParts(const http::Response& answer) const { return {}; }
  /// Whether that will tell enough of a part that was answered with `part` to prove any copy of it that may stand there
  /// then: its checksum, or an etag that is one.
  virtual bool ListProves(const UploadedPart& part) const { return part.digest && part.digest->Hex() == part.etag; }

  virtual Outgoing List(const ListOptions& options) const = 0;
  virtual Read<ListPage> ReadList(const http::Response& answer) const = 0;
  virtual Outgoing Remove(const std::string& key) const = 0;

  /// Of the bucket itself; an error where an option is missing without which the service makes none.
  virtual Result<Outgoing> MakeBucket() const = 0;
  virtual Outgoing RemoveBucket() const = 0;
};

}  // namespace assay::storage
