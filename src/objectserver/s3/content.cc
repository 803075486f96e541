#include "objectserver/s3/content.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"
#include "objectserver/s3/aws_chunked.h"

namespace assay::objectserver::s3 {
namespace {

using storage::ChecksumKind;

constexpr int64_t kMaxContentBytes = int64_t{5} << 30;
constexpr std::string_view kChecksumPrefix = "x-amz-checksum-";

bool IsSha256Hex(std::string_view text) {
  return text.size() == 64 && storage::HexDecode(text).has_value();
}

std::optional<ChecksumKind> KindOfHeader(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (!lower.starts_with(kChecksumPrefix)) {
    return std::nullopt;
  }
  const auto kind = storage::ChecksumKindOf(lower.substr(kChecksumPrefix.size()));
  return kind == ChecksumKind::kMd5 ? std::nullopt : kind;
}

std::optional<Error> PlanSize(const Request& request, ContentPlan& plan) {
  const std::string payload = request.HeaderText("x-amz-content-sha256");
  const bool encoded = request.HeaderText("Content-Encoding").find("aws-chunked") != std::string::npos;
  plan.aws_chunked = payload.starts_with("STREAMING-") || encoded;
  plan.signed_chunks = payload.starts_with("STREAMING-AWS4-HMAC-SHA256-PAYLOAD") && request.identity.dialect != nullptr;
  if (plan.aws_chunked) {
    const auto size = ParseNumber(request.HeaderText("x-amz-decoded-content-length"));
    if (!size) {
      return Error{"MissingContentLength"};
    }
    plan.size = *size;
  } else if (!request.head.content_length) {
    return Error{"MissingContentLength"};
  } else {
    plan.size = *request.head.content_length;
  }
  if (plan.size > kMaxContentBytes) {
    return Error{"EntityTooLarge",
                 {},
                 0,
                 {{"ProposedSize", std::to_string(plan.size)}, {"MaxSizeAllowed", std::to_string(kMaxContentBytes)}}};
  }
  if (IsSha256Hex(payload)) {
    plan.payload_sha256 = payload;
  }
  return std::nullopt;
}

std::optional<Error> PlanMd5(const Request& request, ContentPlan& plan) {
  const auto header = request.Header("Content-MD5");
  if (!header) {
    return std::nullopt;
  }
  plan.md5 = storage::Base64Decode(*header);
  return plan.md5 && plan.md5->size() == storage::DigestBytes(ChecksumKind::kMd5)
             ? std::nullopt
             : std::optional(Error{"InvalidDigest"});
}

std::optional<Error> PlanTrailer(const Request& request, ContentPlan& plan) {
  const std::string trailer = request.HeaderText("x-amz-trailer");
  if (trailer.empty()) {
    return std::nullopt;
  }
  const auto kind = KindOfHeader(trailer);
  if (!kind || !plan.aws_chunked || plan.checksum_kind) {
    return Error{"InvalidRequest", "The value specified in the x-amz-trailer header is not supported"};
  }
  plan.checksum_kind = kind;
  plan.trailer = trailer;
  return std::nullopt;
}

std::optional<Error> PlanChecksum(const Request& request, ContentPlan& plan) {
  for (const http::Header& header : request.head.headers.all()) {
    const auto kind = KindOfHeader(header.name);
    if (!kind) {
      continue;
    }
    const auto raw = storage::Base64Decode(header.value);
    if (!raw || raw->size() != storage::DigestBytes(*kind)) {
      return Error{"InvalidRequest", fmt::format("Value for {} header is invalid.", header.name)};
    }
    if (plan.checksum_kind) {
      return Error{"InvalidRequest",
                   "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."};
    }
    plan.checksum_kind = kind;
    plan.checksum = *raw;
  }
  if (std::optional<Error> error = PlanTrailer(request, plan)) {
    return error;
  }
  if (request.Header("x-amz-sdk-checksum-algorithm") && !plan.checksum_kind) {
    return Error{"InvalidRequest",
                 "x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer "
                 "headers were found."};
  }
  return std::nullopt;
}

Error DigestError(ChecksumKind kind, const std::string& expected, const std::string& computed) {
  if (kind == ChecksumKind::kMd5) {
    return {
        "BadDigest",
        "The Content-MD5 you specified did not match what we received.",
        0,
        {{"ExpectedDigest", storage::Base64Encode(expected)}, {"CalculatedDigest", storage::Base64Encode(computed)}}};
  }
  std::string name(storage::NameOf(kind));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return {"BadDigest", fmt::format("The {} you specified did not match the calculated checksum.", name)};
}

/// Nothing when what came keeps to the plan.
std::optional<Error> CheckDigests(const ContentPlan& plan, const Digests& digests,
                                  const std::optional<std::string>& trailer_value) {
  if (plan.payload_sha256 && storage::HexEncode(digests.at(ChecksumKind::kSha256)) != *plan.payload_sha256) {
    return Error{"XAmzContentSHA256Mismatch",
                 {},
                 0,
                 {{"ClientComputedContentSHA256", *plan.payload_sha256},
                  {"S3ComputedContentSHA256", storage::HexEncode(digests.at(ChecksumKind::kSha256))}}};
  }
  if (plan.md5 && digests.at(ChecksumKind::kMd5) != *plan.md5) {
    return DigestError(ChecksumKind::kMd5, *plan.md5, digests.at(ChecksumKind::kMd5));
  }
  std::optional<std::string> expected = plan.checksum;
  if (!plan.trailer.empty()) {
    expected = trailer_value ? storage::Base64Decode(*trailer_value) : std::nullopt;
    if (!expected) {
      return Error{"MalformedTrailerError"};
    }
  }
  if (expected && digests.at(*plan.checksum_kind) != *expected) {
    return DigestError(*plan.checksum_kind, *expected, digests.at(*plan.checksum_kind));
  }
  return std::nullopt;
}

std::set<ChecksumKind> DigestKinds(const ContentPlan& plan, ChecksumKind kept) {
  std::set<ChecksumKind> kinds = {kept, plan.etag_kind};
  if (plan.payload_sha256) {
    kinds.insert(ChecksumKind::kSha256);
  }
  if (plan.md5) {
    kinds.insert(ChecksumKind::kMd5);
  }
  // Who sends no checksum of S3's may speak Google's XML dialect, which answers with this one.
  kinds.insert(plan.checksum_kind.value_or(ChecksumKind::kCrc32c));
  return kinds;
}

}  // namespace

std::optional<Error> PlanContent(const Request& request, bool always_md5, ContentPlan& plan) {
  for (const auto step : {&PlanSize, &PlanMd5, &PlanChecksum}) {
    if (std::optional<Error> error = step(request, plan)) {
      return error;
    }
  }
  plan.etag_kind = EtagKind(true, plan.size, plan.md5.has_value(), always_md5);
  return std::nullopt;
}

std::string EtagUnder(const Attributes& attributes, std::string computed) {
  const auto encryption = attributes.system.find("x-amz-server-side-encryption");
  const bool opaque = encryption != attributes.system.end() && encryption->second.starts_with("aws:kms");
  return opaque ? RandomUid() : std::move(computed);
}

std::unique_ptr<http::Exchange> ReceiveContent(Store& store, RequestPointer request, const ContentPlan& plan,
                                               std::optional<ChecksumKind> wanted, ContentDone done) {
  Result<std::unique_ptr<BlobWriter>> writer = store.NewWriter(plan.size);
  if (!writer.ok()) {
    return http::ReadyExchange(ErrorAnswer(*request, {"InternalError", writer.status().message()}));
  }
  const ChecksumKind kept = plan.checksum_kind.value_or(wanted.value_or(ChecksumKind::kCrc64Nvme));
  std::set<ChecksumKind> kinds = DigestKinds(plan, kept);
  kinds.insert(wanted.value_or(kept));
  ContentReceiver receiver(std::move(writer).value(), kinds);
  auto finish = [request, plan, kept, wanted, done = std::move(done)](Result<ReceivedContent> content,
                                                                      const std::optional<std::string>& trailer_value) {
    if (!content.ok()) {
      return ErrorAnswer(*request, {"InternalError", content.status().message()});
    }
    if (content->blob.size() != plan.size) {
      return ErrorAnswer(*request, {"IncompleteBody"});
    }
    if (const std::optional<Error> error = CheckDigests(plan, content->digests, trailer_value)) {
      return ErrorAnswer(*request, *error);
    }
    CheckedContent checked{std::move(content->blob), EtagOf(content->digests, plan.etag_kind, plan.size), {}};
    for (const ChecksumKind kind : {kept, wanted.value_or(kept), ChecksumKind::kMd5, ChecksumKind::kCrc32c}) {
      if (const auto found = content->digests.find(kind); found != content->digests.end()) {
        checked.digests.insert(*found);
      }
    }
    return done(std::move(checked));
  };
  if (plan.aws_chunked) {
    return MakeAwsChunkedExchange(std::move(receiver), request, plan, std::move(finish));
  }
  return std::make_unique<ContentExchange>(std::move(receiver),
                                           [finish = std::move(finish)](Result<ReceivedContent> content) {
                                             return finish(std::move(content), std::nullopt);
                                           });
}

}  // namespace assay::objectserver::s3
