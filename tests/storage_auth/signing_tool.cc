// Lets tests in Python ask the signers: one JSON object a line in, one out. "do" says what:
//   sign, presign      SigV4 with given keys and time: method, url, headers, hash, key, secret, token, region, time
//   verify             the server's half: method, path, query, headers, key, secret, token, region, time; for a
//                      service account's URL: email, public_pem
//   oci_sign           pem, passphrase, key_id, time, method, url, headers, body_hash, host
//   oci_verify         public_pem, time, method, path, query, headers
//   goog_presign       RSA: pem, email, time, seconds, method, url, headers
//   jwt                pem, header, claims
//   aws, gcs, oci      the chain's credentials in this process's environment: profile, region
//   store              what a store's signer of this environment puts on a request: store, method, url, profile
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "storage/auth/jwt.h"
#include "storage/auth/oci_signature.h"
#include "storage/auth/sigv4.h"
#include "storage/auth/sigv4_verify.h"
#include "storage/gcs/gcs_signer.h"
#include "storage/oci/oci_signer.h"
#include "storage/s3/aws_credentials.h"
#include "storage/s3/s3_signer.h"
#include "storage/store_environment.h"

namespace assay::storage {
namespace {

using nlohmann::json;

std::string Text(const json& in, const char* name) {
  return in.value(name, std::string());
}

http::Headers ReadHeaders(const json& in) {
  http::Headers headers;
  for (const json& pair : in.value("headers", json::array())) {
    headers.Add(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  return headers;
}

json WriteHeaders(const http::Headers& headers) {
  json out = json::object();
  for (const http::Header& header : headers.all()) {
    out[header.name] = header.value;
  }
  return out;
}

http::Request ReadRequest(const json& in) {
  return {.method = Text(in, "method"), .url = Text(in, "url"), .headers = ReadHeaders(in), .body = {}};
}

SigV4Key ReadKey(const json& in, const SigV4Dialect& dialect) {
  const std::string service = in.value("service", std::string("s3"));
  SigV4Key key{Text(in, "key"), Text(in, "token"), {Text(in, "time").substr(0, 8), Text(in, "region"), service}, {}};
  key.signing_key = SigningKey(dialect, Text(in, "secret"), key.scope);
  return key;
}

json Fail(const Status& status) {
  return {{"error", status.message()}};
}

json Sign(const json& in) {
  http::Request request = ReadRequest(in);
  if (!SignHeaders(kAws4Hmac, ReadKey(in, kAws4Hmac), Text(in, "time"), Text(in, "hash"), request)) {
    return {{"error", "malformed URL"}};
  }
  return {{"headers", WriteHeaders(request.headers)}};
}

json Presign(const json& in) {
  return {{"url", PresignUrl(kAws4Hmac, ReadKey(in, kAws4Hmac), Text(in, "time"), in.at("seconds"), ReadRequest(in))}};
}

json Verify(const json& in) {
  const http::Headers headers = ReadHeaders(in);
  const std::string method = Text(in, "method");
  const std::string path = Text(in, "path");
  const std::string query = Text(in, "query");
  const auto lookup = [&in](std::string_view id) -> std::optional<SigV4Secret> {
    return id == Text(in, "key") ? std::optional(SigV4Secret{Text(in, "secret"), Text(in, "token"), 0}) : std::nullopt;
  };
  const double now = ParseSigV4Timestamp(Text(in, "time")).value_or(0);
  SigV4VerifyOptions options;
  options.region = Text(in, "region");
  options.now = now;
  options.service_account_key = [&in](std::string_view email) -> std::optional<RsaKey> {
    auto key = RsaKey::FromPublicPem(Text(in, "public_pem"), "the test");
    return key.ok() && email == Text(in, "email") ? std::optional(*key) : std::nullopt;
  };
  const SigV4Verdict verdict = VerifySigV4({method, path, query, &headers}, lookup, options);
  return {{"accepted", verdict.kind == SigV4Verdict::Kind::kAccepted},
          {"code", verdict.code},
          {"message", verdict.message},
          {"canonical", verdict.canonical_request}};
}

json OciSign(const json& in) {
  const auto key = RsaKey::FromPrivatePem(Text(in, "pem"), Text(in, "passphrase"), "the test");
  if (!key.ok()) {
    return Fail(key.status());
  }
  http::Request request = ReadRequest(in);
  const std::string hash = Text(in, "body_hash");
  const Status status = SignOciRequest(*key, Text(in, "key_id"), in.at("time"),
                                       {.host = in.value("host", true), .sha256 = hash}, request);
  return status.ok() ? json{{"headers", WriteHeaders(request.headers)}, {"fingerprint", key->Fingerprint()}}
                     : Fail(status);
}

json OciVerify(const json& in) {
  const http::Headers headers = ReadHeaders(in);
  const std::string method = Text(in, "method");
  const std::string path = Text(in, "path");
  const std::string query = Text(in, "query");
  const auto lookup = [&in](std::string_view) -> std::optional<RsaKey> {
    auto key = RsaKey::FromPublicPem(Text(in, "public_pem"), "the test");
    return key.ok() ? std::optional(*key) : std::nullopt;
  };
  const OciVerdict verdict = VerifyOciRequest({method, path, query, &headers}, lookup, in.at("time"));
  return {{"accepted", verdict.kind == OciVerdict::Kind::kAccepted},
          {"key_id", verdict.key_id},
          {"body_signed", verdict.body_signed},
          {"message", verdict.message}};
}

json GoogPresign(const json& in) {
  const auto rsa = RsaKey::FromPrivatePem(Text(in, "pem"), "", "the test");
  if (!rsa.ok()) {
    return Fail(rsa.status());
  }
  const SigV4Key key{Text(in, "email"), "", {Text(in, "time").substr(0, 8), "auto", "storage"}, {}};
  const UnsignedUrl url = PrepareUrl(kGoog4Rsa, key, Text(in, "time"), in.at("seconds"), ReadRequest(in));
  return {{"url", url.url}, {"string_to_sign", url.string_to_sign}};
}

json Jwt(const json& in) {
  const auto key = RsaKey::FromPrivatePem(Text(in, "pem"), "", "the test");
  const auto token = key.ok() ? MakeJwt(in.at("header"), in.at("claims"), *key) : Result<std::string>(key.status());
  return token.ok() ? json{{"token", *token}, {"expires", JwtExpiry(*token)}} : Fail(token.status());
}

StoreOptions ReadOptions(const json& in) {
  StoreOptions options;
  options.profile = Text(in, "profile");
  options.region = Text(in, "region");
  options.anonymous = in.value("anonymous", false);
  return options;
}

Environment TestEnvironment(const json& in) {
  return EnvironmentOf(ReadOptions(in));
}

json Aws(const json& in) {
  const auto found = LoadAwsCredentials(ReadOptions(in), TestEnvironment(in));
  if (!found.ok()) {
    return Fail(found.status());
  }
  return {{"key", found->access_key_id},
          {"secret", found->secret_access_key},
          {"token", found->session_token},
          {"expires", found->expires},
          {"source", found->source}};
}

json Gcs(const json& in) {
  const auto found = LoadGcsCredentials(TestEnvironment(in));
  return found.ok() ? json{{"token", found->access_token}, {"expires", found->expires}, {"source", found->source}}
                    : Fail(found.status());
}

json Oci(const json& in) {
  const auto found = LoadOciCredentials(ReadOptions(in), TestEnvironment(in));
  return found.ok() ? json{{"key_id", found->key_id},
                           {"public_pem", found->key->PublicPem()},
                           {"expires", found->expires},
                           {"source", found->source}}
                    : Fail(found.status());
}

json Store(const json& in) {
  const std::string store = Text(in, "store");
  auto* const make = store == "gs" ? &MakeGcsSigner : &MakeOciSigner;
  const StoreOptions options = ReadOptions(in);
  auto signer =
      store == "s3" ? MakeS3Signer(options, options.region, TestEnvironment(in)) : make(options, TestEnvironment(in));
  if (!signer.ok()) {
    return Fail(signer.status());
  }
  if (Status status = (*signer)->Prepare(); !status.ok()) {
    return Fail(status);
  }
  http::Request request = ReadRequest(in);
  const Status status = (*signer)->Sign(request, Text(in, "hash"));
  const auto url = (*signer)->Presign(ReadRequest(in), 60);
  return status.ok() ? json{{"headers", WriteHeaders(request.headers)},
                            {"url", url.ok() ? *url : url.status().message()},
                            {"describe", (*signer)->Describe()}}
                     : Fail(status);
}

json Answer(const json& in) {
  static const std::pair<const char*, json (*)(const json&)> kVerbs[] = {{"sign", &Sign},
                                                                         {"presign", &Presign},
                                                                         {"verify", &Verify},
                                                                         {"oci_sign", &OciSign},
                                                                         {"oci_verify", &OciVerify},
                                                                         {"goog_presign", &GoogPresign},
                                                                         {"jwt", &Jwt},
                                                                         {"aws", &Aws},
                                                                         {"gcs", &Gcs},
                                                                         {"oci", &Oci},
                                                                         {"store", &Store}};
  const std::string verb = Text(in, "do");
  for (const auto& [name, answer] : kVerbs) {
    if (verb == name) {
      return answer(in);
    }
  }
  return {{"error", "unknown 'do'"}};
}

}  // namespace
}  // namespace assay::storage

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << assay::storage::Answer(nlohmann::json::parse(line)).dump() << std::endl;
  }
}
