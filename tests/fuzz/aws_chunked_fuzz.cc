// S3's aws-chunked bodies, signed and not. The first byte of an input chooses the form and whether the rest is the body
// as it stands, or content that is framed and signed here, with a checksum behind it where the form has trailers: then
// the whole must be taken, and nothing that was changed on the way.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "fuzz_input.h"
#include "objectserver/testing.h"
#include "storage/auth/sigv4.h"

namespace {

using namespace assay;
using objectserver::testing::Harness;
using objectserver::testing::Reply;

constexpr std::string_view kForms[] = {storage::kStreamingUnsignedTrailer, storage::kStreamingSigned,
                                       storage::kStreamingSignedTrailer};
constexpr const char* kTarget = "/test/k";
constexpr const char* kChecksum = "x-amz-checksum-crc32c";

bool HasTrailer(std::string_view form) {
  return form != storage::kStreamingSigned;
}

/// A server that knows one key.
std::unique_ptr<Harness> MakeServer() {
  static const TemporaryDirectory folder = TemporaryDirectory::Create("aws-chunked").value();
  const std::string path = folder.path() + "/keys.yaml";
  fuzz::Require(WriteFileAtomically(path, "keys: [{access_key_id: AKID, secret_access_key: secret}]\n").ok(), "a file");
  objectserver::ServeOptions options;
  options.credentials_file = path;
  return std::make_unique<Harness>(options);
}

/// One request in the making: its head is signed, its chunks may be.
class Upload {
 public:
  Upload(std::string_view form, size_t decoded_bytes, bool announces_checksum)
      : timestamp_(storage::SigV4Timestamp(objectserver::UnixSeconds())),
        key_{"AKID", "", {timestamp_.substr(0, 8), "us-east-1", "s3"}, {}} {
    key_.signing_key = storage::SigningKey(storage::kAws4Hmac, "secret", key_.scope);
    request_.method = "PUT";
    request_.url = std::string("http://127.0.0.1:9000") + kTarget;
    request_.headers.Set("Host", "127.0.0.1:9000");
    request_.headers.Set("x-amz-decoded-content-length", std::to_string(decoded_bytes));
    if (announces_checksum) {
      request_.headers.Set("x-amz-trailer", kChecksum);
    }
    fuzz::Require(storage::SignHeaders(storage::kAws4Hmac, key_, timestamp_, form, request_), "the head is signed");
    const std::string authorization(request_.headers.Find("Authorization").value_or(""));
    signature_ = authorization.substr(authorization.rfind('=') + 1);
  }

  std::string Chunk(std::string_view form, std::string_view data) {
    std::string size = Hex(data.size());
    if (form != storage::kStreamingUnsignedTrailer) {
      signature_ = storage::ChunkSignature(key_, timestamp_, signature_, storage::Sha256(data));
      size += ";chunk-signature=" + signature_;
    }
    return size + "\r\n" + std::string(data) + (data.empty() ? "" : "\r\n");
  }
  /// `checksum` is that of the content, or not.
  std::string End(std::string_view form, const std::string& checksum) {
    if (!HasTrailer(form)) {
      return "\r\n";
    }
    const std::string trailer = std::string(kChecksum) + ':' + checksum;
    const std::string signature =
        form == storage::kStreamingSignedTrailer
            ? "x-amz-trailer-signature:" + storage::TrailerSignature(key_, timestamp_, signature_, trailer + '\n') +
                  "\r\n"
            : std::string();
    return trailer + "\r\n" + signature + "\r\n";
  }
  Reply Send(Harness& server, std::string_view body) const {
    return server.Send("PUT", kTarget, body, request_.headers.all());
  }

 private:
  static std::string Hex(size_t value) {
    std::string text;
    do {
      text.insert(text.begin(), "0123456789abcdef"[value % 16]);
      value /= 16;
    } while (value > 0);
    return text;
  }

  const std::string timestamp_;
  storage::SigV4Key key_;
  std::string signature_;
  http::Request request_;
};

/// What stands under the key.
std::string Stored(Harness& server) {
  const auto found = server.store().Find("test", "k");
  std::string text;
  if (found.ok()) {
    (void)found.object->blob.ForEachPiece([&](std::span<const std::byte> bytes) {
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
  }
  return text;
}

std::string ChecksumOf(std::string_view content) {
  return storage::ChecksumOf(storage::ChecksumKind::kCrc32c, std::as_bytes(std::span(content))).Base64();
}

/// Sends `content` with what `claimed` has for a checksum. `flip`: the place of a bit that is changed on the way.
int SendFramed(Harness& server, std::string_view form, std::string_view content, std::string_view claimed,
               std::optional<size_t> flip) {
  Upload upload(form, content.size(), HasTrailer(form));
  std::string body;
  // Lines of the content are its chunks, so that their number and sizes vary.
  for (std::string_view rest = content; !rest.empty();) {
    const std::string_view piece = rest.substr(0, rest.find('\n') + 1 == 0 ? rest.size() : rest.find('\n') + 1);
    body += upload.Chunk(form, piece);
    rest.remove_prefix(piece.size());
  }
  body += upload.Chunk(form, "");
  body += upload.End(form, ChecksumOf(claimed));
  if (flip) {
    body[*flip % body.size()] ^= 1;
  }
  return upload.Send(server, body).status;
}

void CheckFramed(Harness& server, std::string_view form, std::string_view content) {
  fuzz::Require(SendFramed(server, form, content, content, std::nullopt) == 200,
                "a body that is framed and signed is taken");
  fuzz::Require(Stored(server) == content, "what it held is stored");
  const int status = SendFramed(server, form, content, content, content.size() * 7);
  fuzz::Require(status != 200 || Stored(server) == content, "other content than was signed or summed is not taken");
  if (HasTrailer(form)) {
    const std::string other = std::string(content) + 'x';
    fuzz::Require(SendFramed(server, form, content, other, std::nullopt) != 200, "another checksum is not taken");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static std::unique_ptr<Harness> server = MakeServer();
  if (size < 2) {
    return 0;
  }
  const std::string_view form = kForms[data[0] % std::size(kForms)];
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[0] >= 128) {
    CheckFramed(*server, form, rest);
    return 0;
  }
  const int status = Upload(form, data[1], false).Send(*server, rest).status;
  fuzz::Require(status >= 200 && status < 600, "every body is answered");
  fuzz::Require(status != 200 || form == storage::kStreamingUnsignedTrailer, "nobody guesses a signature");
  fuzz::Require(status != 200 || Stored(*server).size() == data[1], "as much is taken as was announced");
  return 0;
}
