// A body in aws-chunked encoding: one chunk, then a trailer with the checksum that was computed while it was sent.
#pragma once

#include <string>

#include "storage/transfer/checksum_source.h"

namespace assay::storage {

/// Source: "Using trailing headers" in the Amazon S3 API reference.
class AwsChunkedSource : public http::BodySource {
 public:
  /// `body` must outlive it.
  explicit AwsChunkedSource(ChecksumSource& body);

  int64_t bytes() const override;
  size_t Read(std::span<std::byte> out) override;
  std::span<const std::byte> Peek(size_t most) const override;
  void Skip(size_t count) override;
  void Rewind() override;

  /// "x-amz-checksum-crc64nvme"
  std::string trailer_name() const;

 private:
  size_t ReadText(std::span<std::byte> out, const std::string& text);

  ChecksumSource& body_;
  std::string head_;
  std::string tail_;  ///< empty until the body has been read
  int64_t position_ = 0;
};

}  // namespace assay::storage
