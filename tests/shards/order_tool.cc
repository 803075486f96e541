// Orders of epochs for the tests: a JSON object a line in, the samples of all places (or why there are none) out.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "shards/order/epoch_order.h"

namespace assay::shards {
namespace {

using nlohmann::json;

std::vector<StreamShape> StreamsOf(const json& given) {
  std::vector<StreamShape> streams;
  for (const json& one : given) {
    StreamShape stream{.name = std::to_string(streams.size()), .shard_samples = one["shards"]};
    const auto read = [&one](const char* key, auto& target) {
      if (one.contains(key)) {
        target = one[key].get<typename std::decay_t<decltype(target)>::value_type>();
      }
    };
    read("proportion", stream.weight.proportion);
    read("repeat", stream.weight.repeat);
    read("choose", stream.weight.choose);
    streams.push_back(std::move(stream));
  }
  return streams;
}

Result<EpochOrder> MakeOrder(const json& given) {
  OrderSettings settings{.shuffle = std::nullopt,
                         .seed = given["seed"],
                         .block = given["block"],
                         .canonical_nodes = given["canonical_nodes"],
                         .batch = given["batch"],
                         .balanced_sampling = given["balanced"],
                         .granularity = given["granularity"],
                         .relaxed_partition = given["relaxed"],
                         .epoch_size = given["epoch_size"]};
  if (!given["shuffle"].is_null()) {
    ASSAY_ASSIGN_OR_RETURN(settings.shuffle, ParseShuffleAlgorithm(given["shuffle"].get<std::string>()));
  }
  ASSAY_ASSIGN_OR_RETURN(settings.batching, ParseBatching(given["batching"].get<std::string>()));
  const World world{given["nodes"], given["ranks_per_node"], given["workers"]};
  const EpochPosition position{given["epoch"], given["samples"], given["initial_nodes"]};
  ASSAY_ASSIGN_OR_RETURN(settings, ResolveOrder(settings, world));
  return EpochOrder::Make(StreamsOf(given["streams"]), settings, world, position);
}

json Answer(const json& given) {
  const Result<EpochOrder> order = MakeOrder(given);
  if (!order.ok()) {
    return {{"error", order.status().message()}};
  }
  std::vector<int64_t> samples;
  for (int64_t place = 0; place < order->size(); ++place) {
    samples.push_back(order->At(place));
  }
  return {{"samples", samples}};
}

}  // namespace
}  // namespace assay::shards

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << assay::DumpJson(assay::shards::Answer(nlohmann::json::parse(line))) << '\n';
  }
}
