#include "storage/auth/sigv4_signer.h"

#include "storage/auth/time_format.h"

namespace assay::storage {
namespace {

Status NotPrepared() {
  return Status::Internal("a request was to be signed before credentials were fetched");
}

}  // namespace

SigV4Signer::SigV4Signer(SigV4SignerOptions options, std::function<Result<AwsCredentials>()> load,
                         std::function<double()> now)
    : options_(std::move(options)), now_(now), cache_(std::move(load), std::move(now)) {}

std::shared_ptr<const SigV4Signer::DayKey> SigV4Signer::KeyFor(std::string_view timestamp) {
  std::shared_ptr<const AwsCredentials> credentials = cache_.Current();
  if (credentials == nullptr) {
    return nullptr;
  }
  const std::string_view date = timestamp.substr(0, 8);
  const std::lock_guard lock(key_mutex_);
  if (key_ == nullptr || key_->credentials != credentials || key_->key.scope.date != date) {
    auto made = std::make_shared<DayKey>();
    made->key = {credentials->access_key_id,
                 credentials->session_token,
                 {std::string(date), options_.region, options_.service},
                 {}};
    made->key.signing_key = SigningKey(*options_.dialect, credentials->secret_access_key, made->key.scope);
    made->credentials = std::move(credentials);
    key_ = std::move(made);
  }
  return key_;
}

Status SigV4Signer::Sign(http::Request& request, std::string_view payload_hash) {
  const std::string timestamp = SigV4Timestamp(now_() + clock_offset_seconds_);
  const auto key = KeyFor(timestamp);
  if (key == nullptr) {
    return NotPrepared();
  }
  if (!SignHeaders(*options_.dialect, key->key, timestamp, payload_hash, request)) {
    return Status::InvalidArgument("cannot sign a request: its address is no http or https URL");
  }
  return Status::Ok();
}

Result<std::string> SigV4Signer::Presign(const http::Request& request, int64_t seconds) {
  if (seconds <= 0 || seconds > kLongestPresignSeconds) {
    return Status::InvalidArgument("a presigned URL lives for 1 second to 7 days (604800 seconds)");
  }
  const std::string timestamp = SigV4Timestamp(now_() + clock_offset_seconds_);
  const auto key = KeyFor(timestamp);
  if (key == nullptr) {
    return NotPrepared();
  }
  std::string url = PresignUrl(*options_.dialect, key->key, timestamp, seconds, request);
  if (url.empty()) {
    return Status::InvalidArgument("cannot presign a request: its address is no http or https URL");
  }
  return url;
}

void SigV4Signer::CorrectClock(std::string_view date) {
  if (const std::optional<double> server_time = ParseHttpDate(date)) {
    clock_offset_seconds_ = *server_time - now_();
  }
}

std::string SigV4Signer::Describe() const {
  const auto credentials = cache_.Current();
  return credentials != nullptr ? credentials->source : "no credentials yet";
}

}  // namespace assay::storage
