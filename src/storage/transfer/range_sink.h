// Takes the answer to a ranged request: checks its headers, computes its checksum, and lays it into memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/body.h"
#include "storage/transfer/dialect.h"
#include "storage/transfer/range_plan.h"
#include "storage/transfer/store_call.h"

namespace assay::storage {

/// What one answer must be.
struct RangeExpectation {
  std::string key;
  std::string etag;  ///< empty: any
  int64_t offset = 0;
  int64_t bytes = 0;            ///< ignored where the object may be shorter
  bool may_be_shorter = false;  ///< the object's size is not known: less than `bytes` may come
};

class RangeSink : public http::BodySink {
 public:
  /// Where the bytes go, told when the headers are there; called on the I/O thread. May refuse.
  using Placement = std::function<Result<std::vector<ReadPiece>>(const RangeHead& head)>;

  /// `attempt` gets the refusal. Both outlive the sink. `checksum` is computed where the answer names none of another
  /// kind; nothing: none is.
  RangeSink(const ReadDialect& dialect, Attempt& attempt, RangeExpectation expectation,
            std::optional<ChecksumKind> checksum, Placement place);

  /// As ReadOptions::file.
  void set_file(const MappedFile* file) { file_ = file; }

  Status Begin(const http::Response& head) override;
  Status Consume(std::span<const std::byte> chunk) override;
  std::span<std::byte> Memory(size_t most) override;
  Status Filled(size_t count) override;
  Status End() override;

  const RangeHead& head() const { return head_; }
  int64_t offset() const { return expectation_.offset; }
  int64_t received() const { return position_ - expectation_.offset; }
  /// Of all bytes that came; nothing where it was not asked for. Once, after End().
  std::optional<Checksum> TakeChecksum();

 private:
  Status Refuse(Failure failure);
  std::optional<Failure> CheckHead(const http::Response& head) const;
  /// Lays the part of `chunk`, which begins at position_, that a target wants into its memory, or into the file.
  Status LayInto(const ReadPiece& target, std::span<const std::byte> chunk);

  const ReadDialect& dialect_;
  Attempt& attempt_;
  RangeExpectation expectation_;
  std::optional<ChecksumKind> checksum_;
  Placement place_;
  const MappedFile* file_ = nullptr;
  RangeHead head_;
  int64_t end_ = 0;       ///< in the object
  int64_t position_ = 0;  ///< in the object
  std::vector<ReadPiece> targets_;
  size_t target_ = 0;
  std::optional<ChecksumStream> stream_;
};

/// Copies bytes that begin at `offset` of an object to where its pieces want them.
void Scatter(std::span<const std::byte> bytes, int64_t offset, std::span<const ReadPiece> targets);

}  // namespace assay::storage
