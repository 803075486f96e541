// The body of an upload that carries an object's metadata and its bytes in one request.
// Source: "Upload an object from a file: JSON API multipart upload" in the Cloud Storage documentation, RFC 2387.
#pragma once

#include <string>

#include "http/body.h"

namespace assay::storage {

/// Text, another source's bytes, and text again. Does not own the source.
class MultipartRelatedSource : public http::BodySource {
 public:
  /// `resource` is JSON; `content_type` that of `media`.
  MultipartRelatedSource(const std::string& resource, const std::string& content_type, http::BodySource& media);

  /// What the request's Content-Type must be.
  const std::string& content_type() const { return content_type_; }

  int64_t bytes() const override;
  size_t Read(std::span<std::byte> out) override;
  void Rewind() override;

 private:
  size_t ReadText(const std::string& text, size_t begin, std::span<std::byte> out);

  std::string content_type_;
  std::string head_;
  std::string tail_;
  http::BodySource& media_;
  size_t read_ = 0;  // of everything
};

}  // namespace assay::storage
