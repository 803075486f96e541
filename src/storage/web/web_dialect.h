// Requests for files of web servers, and their answers.
// Source: RFC 9110 (HTTP semantics) sections 8.8 (validators), 13 (conditional requests), 14 (ranges), 15.4
// (redirects).
#pragma once

#include <string>
#include <vector>

#include "storage/transfer/dialect.h"
#include "storage/web/web_places.h"

namespace assay::storage {

class WebDialect : public ReadDialect {
 public:
  explicit WebDialect(std::vector<std::string> folders);

  std::string Uri(std::string_view key) const override;
  Status CheckKey(std::string_view key) const override;
  const DialectTraits& traits() const override { return traits_; }
  Failure ReadFailure(const http::Response& answer) const override;
  void Reroute(const Asked& asked, const http::Response& answer, Failure& failure) const override;
  Outgoing Head(const std::string& key) const override;
  Read<ObjectInfo> ReadHead(const Asked& asked, const http::Response& answer) const override;
  /// Of an object that is served whole only, all of it, if it begins at its first byte.
  Outgoing Get(const std::string& key, int64_t offset, int64_t length, const std::string& etag) const override;
  /// Refuses a range that nothing tells from that of another version, with ErrorCode::kUnsupported.
  Read<RangeHead> ReadGet(const Asked& asked, const http::Response& answer) const override;

  WebPlaces& places() const { return places_; }

 private:
  DialectTraits traits_;
  mutable WebPlaces places_;
};

}  // namespace assay::storage
