// What a signature costs: it is paid for every request, so for each of thousands of small objects.
#include <benchmark/benchmark.h>

#include "storage/auth/oci_signature.h"
#include "storage/auth/sigv4.h"
#include "storage/auth/sigv4_signer.h"
#include "storage/auth/sigv4_verify.h"
#include "storage/auth/time_format.h"

namespace assay::storage {
namespace {

// A small upload as the S3 store sends it.
http::Request Upload() {
  http::Request request;
  request.method = "PUT";
  request.url = "http://127.0.0.1:9000/bucket/data/shard-00001/sample-000000042.bin";
  request.headers.Add("Content-Type", "application/octet-stream");
  request.headers.Add("x-amz-checksum-crc32c", "4waSgw==");
  request.headers.Add("Content-Length", "16384");
  return request;
}

SigV4Signer MakeSigner() {
  return SigV4Signer(
      {.dialect = &kAws4Hmac, .region = "us-east-1", .service = "s3"},
      [] {
        return AwsCredentials{.access_key_id = "AKIAIOSFODNN7EXAMPLE",
                              .secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                              .session_token = {},
                              .expires = 0,
                              .source = "the benchmark"};
      },
      &WallClockSeconds);
}

void SigV4Sign(benchmark::State& state) {
  SigV4Signer signer = MakeSigner();
  if (!signer.Prepare().ok()) {
    state.SkipWithError("no credentials");
    return;
  }
  const http::Request upload = Upload();
  for (auto _ : state) {
    http::Request request = upload;
    benchmark::DoNotOptimize(signer.Sign(request, kUnsignedPayload).ok());
  }
}
BENCHMARK(SigV4Sign);

void SigV4Verify(benchmark::State& state) {
  SigV4Signer signer = MakeSigner();
  http::Request request = Upload();
  request.headers.Set("Host", "127.0.0.1:9000");
  if (!signer.Prepare().ok() || !signer.Sign(request, kUnsignedPayload).ok()) {
    state.SkipWithError("not signed");
    return;
  }
  const auto url = http::ParseUrl(request.url);
  const auto lookup = [](std::string_view) -> std::optional<SigV4Secret> {
    return SigV4Secret{"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", 0};
  };
  const double now = WallClockSeconds();
  for (auto _ : state) {
    const SigV4Verdict verdict = VerifySigV4({request.method, url->path, url->query, &request.headers}, lookup,
                                             {.region = "us-east-1", .now = now});
    if (verdict.kind != SigV4Verdict::Kind::kAccepted) {
      state.SkipWithError("refused");
      break;
    }
  }
}
BENCHMARK(SigV4Verify);

void OciSign(benchmark::State& state) {
  const Result<RsaKey> key = RsaKey::Generate(2048);
  for (auto _ : state) {
    http::Request request = Upload();
    benchmark::DoNotOptimize(
        SignOciRequest(*key, "ocid1.tenancy/ocid1.user/aa:bb", 1.7e9, {.host = true, .sha256 = {}}, request).ok());
  }
}
BENCHMARK(OciSign);

}  // namespace
}  // namespace assay::storage
