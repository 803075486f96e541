#include "objectserver/front.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "objectserver/s3/dialect.h"

namespace assay::objectserver {
namespace {

/// Passes everything on and counts it.
class CountedExchange : public http::Exchange {
 public:
  CountedExchange(Routed routed, Metrics& metrics)
      : inner_(std::move(routed.exchange)), metrics_(metrics), start_(MonotonicSeconds()) {
    sample_.operation = std::move(routed.operation);
  }
  bool wants_body() const override { return inner_->wants_body(); }
  std::span<std::byte> BodyMemory(size_t most) override { return inner_->BodyMemory(most); }
  void BodyReceived(size_t count) override {
    sample_.bytes_in += static_cast<int64_t>(count);
    inner_->BodyReceived(count);
  }
  http::ServerResponse Finish(const http::Headers& trailers) override {
    http::ServerResponse response = inner_->Finish(trailers);
    sample_.status = response.status;
    response.on_sent = [sample = std::move(sample_), &metrics = metrics_, start = start_](int64_t bytes, bool) mutable {
      sample.bytes_out = bytes;
      sample.seconds = MonotonicSeconds() - start;
      metrics.Record(sample);
    };
    return response;
  }

 private:
  std::unique_ptr<http::Exchange> inner_;
  Metrics& metrics_;
  RequestSample sample_;
  double start_;
};

}  // namespace

Front::Front(const Context& context) : context_(context), s3_(s3::NewS3Dialect(context)) {}

std::string Front::Metrics() const {
  const http::ServerStats* stats = stats_;
  static const http::ServerStats kNone;
  return metrics_.Render(stats == nullptr ? kNone : *stats);
}

std::string Front::NextRequestId() {
  // A fixed permutation of a counter: no two are the same, and they do not look like a counter.
  uint64_t id = request_count_.fetch_add(1) + 1;
  id = (id ^ id >> 31) * 0x9e3779b97f4a7c15;
  return fmt::format("{:016X}", id ^ id >> 29);
}

std::unique_ptr<http::Exchange> Front::Open(http::RequestHead head) {
  if (head.path() == "/metrics" || head.path() == "/-/metrics") {
    http::ServerResponse response;
    response.headers.Add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    response.body.push_back(http::BodyPiece::Text(Metrics()));
    return http::ReadyExchange(std::move(response));
  }
  const auto notes = std::make_shared<RequestNotes>();
  notes->request_id = NextRequestId();
  return std::make_unique<CountedExchange>(s3_->Route(std::move(head), notes), metrics_);
}

}  // namespace assay::objectserver
