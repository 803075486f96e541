#include "objectserver/s3/google_headers.h"

#include <strings.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace assay::objectserver::s3 {
namespace {

constexpr std::string_view kPrefix = "x-goog-";

struct NameRow {
  const char* google;
  const char* amazon;
};

constexpr NameRow kNames[] = {{"x-goog-content-sha256", "x-amz-content-sha256"},
                              {"x-goog-copy-source", "x-amz-copy-source"},
                              {"x-goog-metadata-directive", "x-amz-metadata-directive"}};

struct HashRow {
  std::string_view field;
  const char* header;
};

constexpr HashRow kHashes[] = {{"crc32c=", "x-amz-checksum-crc32c"}, {"md5=", "Content-MD5"}};

}  // namespace

bool SpeaksGoogle(const Request& request) {
  const std::string authorization = request.HeaderText("Authorization");
  return authorization.starts_with("GOOG4-") || authorization.starts_with("Bearer ") ||
         std::ranges::any_of(request.head.headers.all(), [](const http::Header& header) {
           return header.name.size() > kPrefix.size() &&
                  strncasecmp(header.name.c_str(), kPrefix.data(), kPrefix.size()) == 0;
         });
}

void AddAmazonNames(Request& request) {
  http::Headers& headers = request.head.headers;
  const auto add = [&](const char* name, std::string_view value) {
    if (!headers.Has(name)) {
      headers.Set(name, std::string(value));
    }
  };
  for (const NameRow& row : kNames) {
    if (const auto value = headers.Find(row.google)) {
      add(row.amazon, *value);
    }
  }
  for (const std::string& hash : Split(request.HeaderText("x-goog-hash"), ',')) {
    for (const HashRow& row : kHashes) {
      if (const std::string_view text = Trim(hash); text.starts_with(row.field)) {
        add(row.header, text.substr(row.field.size()));
      }
    }
  }
}

std::string_view AnswerPrefix(const Request& request) {
  return SpeaksGoogle(request) ? kPrefix : "x-amz-";
}

}  // namespace assay::objectserver::s3
