#include "cli/data_stream_flags.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/data_place.h"
#include "cli/options.h"

namespace assay::cli {

std::vector<std::string> StreamFlags::ShuffleChoices() {
  std::vector<std::string> names = shards::ShuffleNames();
  names.emplace_back("none");
  return names;
}

Status StreamFlags::SetShuffle(const std::string& name, shards::OrderSettings& order) {
  order.shuffle.reset();
  if (name != "none") {
    ASSAY_ASSIGN_OR_RETURN(order.shuffle, shards::ParseShuffleAlgorithm(name));
  }
  return Status::Ok();
}

void StreamFlags::AddTo(CLI::App& app, bool with_reading) {
  app.add_option("uri", uris_, "Data sets: folders, s3://bucket/prefix, gs://, oci://bucket@namespace/")
      ->required()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  shards::OrderSettings& order = options_.order;
  app.add_option("--shuffle", shuffle_, "How samples are mixed")->check(CLI::IsMember(ShuffleChoices()));
  app.add_option("--seed", order.seed, "Of the shuffle")->check(WholeNumber(0));
  app.add_option("--block", order.block, "Samples over which py1e and py1br mix; 0: by a rule")->check(WholeNumber(0));
  app.add_option("--canonical-nodes", order.canonical_nodes, "Parts of the order that share no shard; 0: by a rule")
      ->check(WholeNumber(0));
  app.add_option("--batch", order.batch, "Samples of a rank in a batch")->check(WholeNumber(1));
  app.add_option("--batching", batching_, "What a batch holds of several data sets")
      ->check(CLI::IsMember(shards::BatchingNames()));
  app.add_option("--epoch-size", order.epoch_size, "Samples of an epoch; 0: all")->check(WholeNumber(0));
  app.add_option("--nodes", options_.world.nodes, "Machines")->check(WholeNumber(1));
  app.add_option("--ranks", options_.world.ranks_per_node, "Ranks of a machine")->check(WholeNumber(1));
  app.add_option("--rank", options_.rank, "Which of all ranks, from 0")->check(WholeNumber(0));
  if (with_reading) {
    app.add_option("--threads", threads_, "That fetch and unpack shards")->check(WholeNumber(1, 1024));
    app.add_option("--memory", memory_, "Of shards in memory")->check(ByteSize());
    app.add_option("--cache", options_.cache_folder, "A folder that keeps shards; ranks of a machine share one");
    app.add_option("--cache-limit", cache_limit_, "What it may take")->check(ByteSize());
    app.add_flag("--skip-damaged", options_.skip_damaged, "Leave out samples of shards that are lost or damaged");
  }
  store_.AddTo(app);
  store_.decorators().AddStatsTo(app);
}

Result<shards::StreamOptions> StreamFlags::Make() const {
  shards::StreamOptions options = options_;
  options.threads = static_cast<int>(threads_);
  ASSAY_RETURN_IF_ERROR(SetShuffle(shuffle_, options.order));
  ASSAY_ASSIGN_OR_RETURN(options.order.batching, shards::ParseBatching(batching_));
  ASSAY_ASSIGN_OR_RETURN(options.memory_bytes, ParseBytes(memory_));
  ASSAY_ASSIGN_OR_RETURN(options.cache_bytes, ParseBytes(cache_limit_));
  return options;
}

Result<std::vector<shards::StreamSource>> StreamFlags::OpenSources(storage::CancelFlag cancel) const {
  std::vector<shards::StreamSource> sources;
  for (const std::string& uri : uris_) {
    ASSAY_ASSIGN_OR_RETURN(const shards::DatasetPlace place, OpenDataPlace(store_, uri, cancel));
    ASSAY_ASSIGN_OR_RETURN(shards::Dataset dataset, shards::OpenDataset(place));
    sources.push_back({.dataset = std::move(dataset)});
  }
  return sources;
}

std::string StreamFlags::Names() const {
  return Join(uris_, ", ");
}

}  // namespace assay::cli
