#include "objectserver/front.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "objectserver/gcs/dialect.h"
#include "objectserver/model/lies.h"
#include "objectserver/model/model.h"
#include "objectserver/model/modelled_exchange.h"
#include "objectserver/oci/dialect.h"
#include "objectserver/query.h"
#include "objectserver/s3/dialect.h"
#include "objectserver/s3/request.h"

namespace assay::objectserver {
namespace {

/// Passes everything on and counts it.
class CountedExchange : public http::Exchange {
 public:
  CountedExchange(Routed routed, Metrics& metrics, Notes notes)
      : inner_(std::move(routed.exchange)), metrics_(metrics), notes_(std::move(notes)), start_(MonotonicSeconds()) {
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
    if (!notes_->lie.empty()) {
      metrics_.CountFault(std::string(notes_->lie), sample_.operation);
    }
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
  const Notes notes_;
  RequestSample sample_;
  double start_;
};

/// What tells requests for the same key apart.
std::string DetailOf(const http::RequestHead& head) {
  const std::optional<Query> query = Query::Parse(head.query());
  std::string detail(head.headers.Find("Range").value_or(""));
  for (const char* name : {"partNumber", "uploadPartNum", "marker", "continuation-token", "prefix", "pageToken"}) {
    detail += '\n' + (query ? query->Get(name) : "");
  }
  return detail;
}

std::string PageTokenOf(const http::RequestHead& head) {
  const std::optional<Query> query = Query::Parse(head.query());
  for (const char* name : {"continuation-token", "marker", "pageToken", "start"}) {
    if (query && query->Has(name)) {
      return query->Get(name);
    }
  }
  return "";
}

bool IsConditional(const http::RequestHead& head) {
  return head.headers.Has("If-Match") || head.headers.Has("If-None-Match") ||
         head.query().find("ifGenerationMatch=") != std::string_view::npos;
}

}  // namespace

Front::Front(const Context& context) : context_(context) {
  const std::vector<std::string>& dialects = context.options->dialects;
  const auto enabled = [&](const char* name) { return std::ranges::find(dialects, name) != dialects.end(); };
  // Google's XML dialect is S3's.
  s3_ = enabled("s3") || enabled("gcs") ? s3::NewS3Dialect(context) : nullptr;
  gcs_ = enabled("gcs") ? gcs::NewGcsDialect(context) : nullptr;
  oci_ = enabled("oci") ? oci::NewOciDialect(context) : nullptr;
  if (context.model != nullptr && std::ranges::any_of(context.model->profile().faults, &FaultRule::lie)) {
    liar_ = std::make_unique<Liar>();
  }
}

Front::~Front() = default;

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

Dialect* Front::DialectOf(const http::RequestHead& head) const {
  if (NamesBucket(head)) {
    return s3_.get();
  }
  if (gcs_ && gcs::IsGcsPath(head.path())) {
    return gcs_.get();
  }
  if (oci_ && oci::IsOciPath(head.path())) {
    return oci_.get();
  }
  return s3_.get();
}

/// True when the host names a bucket: the path is a key then, whatever it looks like.
bool Front::NamesBucket(const http::RequestHead& head) const {
  return s3_ && !s3::BucketOfHost(head.headers.Find("Host").value_or(""), context_.options->domains).empty();
}

std::unique_ptr<http::Exchange> Front::Open(http::RequestHead head) {
  if ((head.path() == "/metrics" && !NamesBucket(head)) || head.path() == "/-/metrics") {
    http::ServerResponse response;
    response.headers.Add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    response.body.push_back(http::BodyPiece::Text(Metrics()));
    return http::ReadyExchange(std::move(response));
  }
  Dialect* dialect = DialectOf(head);
  if (dialect == nullptr) {
    return http::ReadyExchange(http::TextResponse(404, "no dialect that this server speaks has such a path"));
  }
  const auto notes = std::make_shared<RequestNotes>();
  notes->request_id = NextRequestId();
  const std::string detail = DetailOf(head);
  notes->page_token = PageTokenOf(head);
  const bool conditional = IsConditional(head);
  Routed routed = dialect->Route(std::move(head), notes);
  if (context_.model != nullptr) {
    const RequestTraits traits = {routed.operation, routed.write, conditional, routed.bucket, routed.key, detail};
    const RequestFate fate = context_.model->Decide(traits, MonotonicSeconds());
    CountFault(fate, routed.operation);
    std::string operation = routed.operation;
    notes->asked = fmt::format("{}/{}\n{}", routed.bucket, routed.key, detail);
    routed.exchange = ApplyFate(std::move(routed), fate, *dialect, liar_.get(), notes);
    routed.operation = std::move(operation);
  }
  return std::make_unique<CountedExchange>(std::move(routed), metrics_, notes);
}

void Front::CountFault(const RequestFate& fate, const std::string& operation) {
  if (fate.throttled) {
    metrics_.CountFault("throttle", operation);
  } else if (fate.fault != nullptr && fate.fault->kind != FaultKind::kLie) {  // lies count once they are told
    metrics_.CountFault(fate.fault->name, operation);
  }
}

}  // namespace assay::objectserver
