// assay data order: which samples a rank has, in their order.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cli/data_stream_flags.h"
#include "cli/data_verb.h"
#include "cli/options.h"

namespace assay::cli {
namespace {

struct DataOrderOptions {
  StreamFlags stream;
  int64_t epoch = 0;
  int64_t samples = 0;
  int64_t initial_nodes = 0;
  int64_t count = kLargestCount;
};

Status OrderRun(const DataOrderOptions& options) {
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const shards::StreamOptions stream, options.stream.Make());
  ASSAY_ASSIGN_OR_RETURN(const auto sources, options.stream.OpenSources(interrupt.get()));
  ASSAY_ASSIGN_OR_RETURN(const shards::OrderSettings settings, shards::ResolveOrder(stream.order, stream.world));
  if (stream.rank >= stream.world.ranks()) {
    return Status::InvalidArgument(fmt::format("there is no rank {} of {}", stream.rank, stream.world.ranks()));
  }
  const shards::EpochPosition position = {.epoch = static_cast<uint64_t>(options.epoch),
                                          .samples = options.samples,
                                          .initial_nodes = options.initial_nodes};
  ASSAY_ASSIGN_OR_RETURN(const shards::EpochOrder order,
                         shards::EpochOrder::Make(shards::ShapesOf(sources), settings, stream.world, position));
  std::string text;
  for (int64_t k = 0; k < std::min(order.per_rank(), options.count); ++k) {
    text += fmt::format("{}\n", order.OfRank(stream.rank, k));
    if (text.size() > 1 << 16 || k + 1 == std::min(order.per_rank(), options.count)) {
      fmt::print("{}", text);
      text.clear();
    }
  }
  return Status::Ok();
}

}  // namespace

Action AddDataOrder(CLI::App& app) {
  auto options = std::make_shared<DataOrderOptions>();
  options->stream.AddTo(app, false);
  app.add_option("--epoch", options->epoch, "Counted from 0")->check(WholeNumber(0));
  app.add_option("--samples", options->samples, "Of the epoch that all ranks together have had")->check(WholeNumber(0));
  app.add_option("--initial-nodes", options->initial_nodes, "Machines that the run began with")->check(WholeNumber(0));
  app.add_option("--count", options->count, "How many; without: all; -1 is padding")->check(WholeNumber(1));
  return [options] { return options->stream.store().decorators().Counted([&] { return OrderRun(*options); }); };
}

}  // namespace assay::cli
