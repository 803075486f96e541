#include "objectserver/s3/aws_chunked.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "http/server_chunked.h"
#include "storage/auth/sigv4_verify.h"

namespace assay::objectserver::s3 {
namespace {

constexpr std::string_view kSignatureName = "chunk-signature=";
constexpr std::string_view kTrailerSignature = "x-amz-trailer-signature";

class AwsChunkedExchange : public http::Exchange {
 public:
  AwsChunkedExchange(ContentReceiver receiver, RequestPointer request, const ContentPlan& plan, ChunkedDone done)
      : receiver_(std::move(receiver)), request_(std::move(request)), trailer_(plan.trailer), done_(std::move(done)) {
    if (plan.signed_chunks) {
      verifier_.emplace(request_->identity);
      signed_trailer_ = request_->identity.payload_hash == storage::kStreamingSignedTrailer;
    }
  }

  std::span<std::byte> BodyMemory(size_t most) override {
    if (!error_.code.empty() || decoder_.state() != http::ChunkedDecoder::State::kNeedMore) {
      return {};
    }
    if (decoder_.data_remaining() == 0) {
      return std::as_writable_bytes(std::span(framing_)).first(std::min(most, framing_.size()));
    }
    data_ = receiver_.Memory(static_cast<size_t>(std::min<int64_t>(most, decoder_.data_remaining())));
    return data_;
  }

  void BodyReceived(size_t count) override {
    if (decoder_.data_remaining() > 0) {
      receiver_.Received(count);
      return OnData(data_.first(count));
    }
    std::string_view bytes(framing_.data(), count);
    while (!bytes.empty() && error_.code.empty() && decoder_.state() == http::ChunkedDecoder::State::kNeedMore) {
      bytes.remove_prefix(decoder_.data_remaining() > 0 ? CopyData(bytes) : OnFraming(bytes));
    }
  }

  http::ServerResponse Finish(const http::Headers&) override {
    if (error_.code.empty() && decoder_.state() != http::ChunkedDecoder::State::kDone) {
      error_ = {"IncompleteBody", decoder_.error()};
    }
    if (error_.code.empty() && signed_trailer_ && !TrailersAreSigned()) {
      error_ = {"SignatureDoesNotMatch"};
    }
    if (!error_.code.empty()) {
      return ErrorAnswer(*request_, error_);
    }
    std::optional<std::string> trailer;
    if (const auto value = decoder_.trailers().Find(trailer_); value && !trailer_.empty()) {
      trailer = *value;
    }
    return done_(receiver_.Finish(), trailer);
  }

 private:
  size_t CopyData(std::string_view bytes) {
    const auto count = static_cast<size_t>(std::min<int64_t>(decoder_.data_remaining(), bytes.size()));
    const auto data = std::as_bytes(std::span(bytes.data(), count));
    receiver_.Copy(data);
    OnData(data);
    return count;
  }

  void OnData(std::span<const std::byte> bytes) {
    if (verifier_) {
      verifier_->Update(bytes);
    }
    decoder_.ConsumeData(static_cast<int64_t>(bytes.size()));
    if (decoder_.data_remaining() == 0) {
      FinishChunk();
    }
  }

  size_t OnFraming(std::string_view bytes) {
    const size_t taken = decoder_.FeedFraming(bytes);
    if (decoder_.state() == http::ChunkedDecoder::State::kError) {
      error_ = {"IncompleteBody", decoder_.error()};
    } else if (!last_chunk_seen_ && decoder_.last_chunk()) {
      last_chunk_seen_ = true;
      FinishChunk();
    }
    return taken;
  }

  void FinishChunk() {
    if (!verifier_) {
      return;
    }
    std::string_view signature = decoder_.extension();
    if (!signature.starts_with(kSignatureName) || !verifier_->FinishChunk(signature.substr(kSignatureName.size()))) {
      error_ = {"SignatureDoesNotMatch"};
    }
  }

  bool TrailersAreSigned() {
    std::string signed_text;
    for (const http::Header& trailer : decoder_.trailers().all()) {
      std::string name = trailer.name;
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      if (name != kTrailerSignature) {
        signed_text += name + ':' + trailer.value + '\n';
      }
    }
    const auto signature = decoder_.trailers().Find(kTrailerSignature);
    return signature && verifier_->CheckTrailer(signed_text, *signature);
  }

  ContentReceiver receiver_;
  RequestPointer request_;
  const std::string trailer_;
  ChunkedDone done_;
  http::ChunkedDecoder decoder_;
  std::optional<storage::ChunkVerifier> verifier_;
  bool signed_trailer_ = false;
  bool last_chunk_seen_ = false;
  std::array<char, 4096> framing_{};
  std::span<std::byte> data_;
  Error error_;
};

}  // namespace

std::unique_ptr<http::Exchange> MakeAwsChunkedExchange(ContentReceiver receiver, RequestPointer request,
                                                       const ContentPlan& plan, ChunkedDone done) {
  return std::make_unique<AwsChunkedExchange>(std::move(receiver), std::move(request), plan, std::move(done));
}

}  // namespace assay::objectserver::s3
