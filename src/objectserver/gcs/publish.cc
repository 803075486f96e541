#include "objectserver/gcs/publish.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

namespace assay::objectserver::gcs {
namespace {

using storage::ChecksumKind;

bool ReadDigest(std::string_view text, ChecksumKind kind, std::string& raw) {
  const auto decoded = storage::Base64Decode(text);
  if (!decoded || decoded->size() != storage::DigestBytes(kind)) {
    return false;
  }
  raw = *decoded;
  return true;
}

bool Matches(const Digests& digests, ChecksumKind kind, const std::string& raw) {
  const auto found = digests.find(kind);
  return raw.empty() || (found != digests.end() && found->second == raw);
}

}  // namespace

bool AnnouncedHashes::ReadHeader(std::string_view header) {
  for (const std::string& entry : Split(header, ',')) {
    const std::string_view hash = Trim(entry);
    if (hash.starts_with("crc32c=") && !ReadDigest(hash.substr(7), ChecksumKind::kCrc32c, crc32c)) {
      return false;
    }
    if (hash.starts_with("md5=") && !ReadDigest(hash.substr(4), ChecksumKind::kMd5, md5)) {
      return false;
    }
  }
  return true;
}

bool AnnouncedHashes::ReadResource(const nlohmann::json& resource) {
  const auto read = [&](const char* name, ChecksumKind kind, std::string& raw) {
    const auto found = resource.find(name);
    return found == resource.end() || (found->is_string() && ReadDigest(found->get<std::string>(), kind, raw));
  };
  return read("crc32c", ChecksumKind::kCrc32c, crc32c) && read("md5Hash", ChecksumKind::kMd5, md5);
}

bool AnnouncedHashes::Match(const Digests& digests) const {
  return Matches(digests, ChecksumKind::kCrc32c, crc32c) && Matches(digests, ChecksumKind::kMd5, md5);
}

std::set<ChecksumKind> DigestKinds(const Context& context, std::optional<int64_t> size, bool md5_sent) {
  return {ChecksumKind::kCrc32c, EtagKind(size.has_value(), size.value_or(0), md5_sent, context.options->always_md5)};
}

http::ServerResponse Publish(const Context& context, const Request& request, ObjectRecord object,
                             ReceivedContent content, const AnnouncedHashes& hashes) {
  if (!hashes.Match(content.digests)) {
    return ErrorAnswer(400, "invalid", "Provided hash does not match the calculated hash of the uploaded content.");
  }
  if (object.etag.empty()) {
    const bool has_md5 = content.digests.contains(ChecksumKind::kMd5);
    object.etag = EtagOf(content.digests, has_md5 ? ChecksumKind::kMd5 : ChecksumKind::kCrc64Nvme, content.blob.size());
  }
  content.digests.erase(ChecksumKind::kCrc64Nvme);
  object.blob = std::move(content.blob);
  object.digests = std::move(content.digests);
  const StoreOutcome outcome = context.store->Put(request.bucket, std::move(object), WriteCondition(request.query));
  if (!outcome.ok()) {
    return OutcomeAnswer(request, outcome);
  }
  http::ServerResponse answer = JsonAnswer(ObjectResource(request.bucket, *outcome.object, request.head.origin()));
  answer.headers.Add("X-Goog-Hash", HashHeader(*outcome.object));
  return answer;
}

}  // namespace assay::objectserver::gcs
