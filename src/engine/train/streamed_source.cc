#include "engine/train/streamed_source.h"

#include <fmt/format.h>

#include <utility>

#include "engine/model/status_error.h"
#include "storage/open.h"
#include "storage/read_options.h"

namespace assay::engine {
namespace {

shards::StreamOptions stream_options(const job::TrainingPlan& plan, const StreamShare& share) {
  shards::OrderSettings order{.seed = plan.seed, .batch = share.batch};
  if (!plan.shuffle) {
    order.shuffle.reset();
  }
  const shards::World world{.ranks_per_node = share.ranks};
  return {.order = value_or_throw(shards::ResolveOrder(order, world)),
          .world = world,
          .rank = share.rank,
          .threads = static_cast<int>(plan.data_threads),
          .cache_folder = plan.data_cache,
          .cache_bytes = plan.data_cache_bytes};
}

}  // namespace

StreamedSource::StreamedSource(const job::TrainingPlan& plan, const StreamShare& share)
    : options_(stream_options(plan, share)), share_(share) {
  const storage::StoreUri uri = value_or_throw(storage::ParseStoreUri(plan.data_uri));
  storage::StoreOptions options = value_or_throw(storage::LoadStoreOptions(uri.scheme, ""));
  if (uri.scheme != "file") {
    counters_ = std::make_shared<storage::StoreCounters>();
    options.observer = counters_;
  }
  storage::StoreAndKey at = value_or_throw(storage::OpenStore(plan.data_uri, options));
  if (counters_ != nullptr) {
    at.store = std::make_shared<storage::CountingStore>(std::move(at.store), counters_);
  }
  sources_.resize(1);
  sources_.front().dataset = value_or_throw(
      shards::OpenDataset({.store = std::move(at.store), .prefix = std::move(at.key), .cancel = is_over_.get()}));
  if (sources_.front().dataset.fingerprint() != plan.data_fingerprint) {
    throw StatusError(Status::FailedPrecondition(
        fmt::format("the data set at {} is another than when the run was planned: start it again", plan.data_uri)));
  }
}

int64_t StreamedSource::steps_per_epoch() const {
  const int64_t of_step = share_.batch * share_.ranks;
  return share_.drops_rest ? samples() / of_step : (samples() + of_step - 1) / of_step;
}

std::unique_ptr<shards::SampleStream> StreamedSource::open_at(int64_t step) const {
  shards::StreamOptions options = options_;
  options.begin = {.epoch = static_cast<uint64_t>((step - 1) / steps_per_epoch()),
                   .samples = (step - 1) % steps_per_epoch() * share_.batch * share_.ranks};
  return value_or_throw(shards::SampleStream::Open(sources_, options));
}

job::DataUse StreamedSource::use() const {
  job::DataUse use;
  if (counters_ == nullptr) {
    return use;
  }
  const storage::StoreCounts counts = counters_->Snapshot();
  use.asked_bytes = counts.bytes_asked;
  use.received_bytes = counts.bytes_received;
  use.retries = counts.retries;
  for (const auto& [method_and_status, requests] : counts.requests) {
    const int status = method_and_status.second;
    use.requests += status > 0 && status < 500 ? requests : 0;
  }
  return use;
}

std::string order_of_streamed(const job::TrainingPlan& plan) {
  const shards::OrderSettings order = stream_options(plan, {}).order;
  return order.shuffle ? fmt::format("{} in blocks of {}", shards::NameOf(*order.shuffle), order.block)
                       : "that of the shards";
}

}  // namespace assay::engine
