#include "shards/stream/stream_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay::shards {
namespace {

using nlohmann::json;

constexpr int64_t kStateFormat = 1;

json OrderJson(const OrderSettings& order) {
  return {{"shuffle", order.shuffle ? json(NameOf(*order.shuffle)) : json("none")},
          {"seed", order.seed},
          {"block", order.block},
          {"canonical_nodes", order.canonical_nodes},
          {"batching", NameOf(order.batching)},
          {"sampling", order.balanced_sampling ? "balanced" : "fixed"},
          {"granularity", order.granularity},
          {"partition", order.relaxed_partition ? "relaxed" : "orig"},
          {"epoch_size", order.epoch_size}};
}

json WeightJson(const StreamWeight& weight) {
  json out = json::object();
  if (weight.proportion) {
    out["proportion"] = *weight.proportion;
  }
  if (weight.repeat) {
    out["repeat"] = *weight.repeat;
  }
  if (weight.choose) {
    out["choose"] = *weight.choose;
  }
  return out;
}

json StateJson(const StreamState& state) {
  json sources = json::array();
  for (const SourceState& source : state.sources) {
    sources.push_back(
        {{"fingerprint", source.fingerprint}, {"samples", source.samples}, {"weight", WeightJson(source.weight)}});
  }
  return {{"format", kStateFormat},
          {"epoch", state.position.epoch},
          {"samples", state.position.samples},
          {"initial_nodes", state.position.initial_nodes},
          {"batch", state.order.batch},
          {"global_batch", state.global_batch},
          {"order", OrderJson(state.order)},
          {"sources", sources},
          {"skipped", state.skipped}};
}

Status ReadOrder(const json& order, OrderSettings& settings) {
  std::string shuffle;
  std::string batching;
  std::string sampling;
  std::string partition;
  ASSAY_RETURN_IF_ERROR(ReadField(order, "shuffle", shuffle));
  ASSAY_RETURN_IF_ERROR(ReadField(order, "seed", settings.seed));
  ASSAY_RETURN_IF_ERROR(ReadField(order, "block", settings.block));
  ASSAY_RETURN_IF_ERROR(ReadField(order, "canonical_nodes", settings.canonical_nodes));
  ASSAY_RETURN_IF_ERROR(ReadField(order, "batching", batching));
  ASSAY_RETURN_IF_ERROR(ReadField(order, "sampling", sampling));
  ASSAY_RETURN_IF_ERROR(ReadField(order, "granularity", settings.granularity));
  ASSAY_RETURN_IF_ERROR(ReadField(order, "partition", partition));
  ASSAY_RETURN_IF_ERROR(ReadField(order, "epoch_size", settings.epoch_size));
  settings.shuffle.reset();
  if (shuffle != "none") {
    ASSAY_ASSIGN_OR_RETURN(settings.shuffle, ParseShuffleAlgorithm(shuffle));
  }
  ASSAY_ASSIGN_OR_RETURN(settings.batching, ParseBatching(batching));
  settings.balanced_sampling = sampling != "fixed";
  settings.relaxed_partition = partition != "orig";
  return Status::Ok();
}

Result<SourceState> ReadSource(const json& source) {
  if (!source.is_object() || (source.contains("weight") && !source["weight"].is_object())) {
    return Status::InvalidArgument("it is no state of a stream: a data set of it is none");
  }
  SourceState state;
  ASSAY_RETURN_IF_ERROR(ReadField(source, "fingerprint", state.fingerprint));
  ASSAY_RETURN_IF_ERROR(ReadField(source, "samples", state.samples));
  const json weight = source.value("weight", json::object());
  const auto read = [&weight]<typename T>(const char* name, std::optional<T>& target) {
    T value{};
    const Status status = weight.contains(name) ? ReadField(weight, name, value) : Status::Ok();
    target = weight.contains(name) ? std::optional(value) : std::nullopt;
    return status;
  };
  ASSAY_RETURN_IF_ERROR(read("proportion", state.weight.proportion));
  ASSAY_RETURN_IF_ERROR(read("repeat", state.weight.repeat));
  ASSAY_RETURN_IF_ERROR(read("choose", state.weight.choose));
  return state;
}

Result<StreamState> ReadState(const json& in) {
  if (!in.is_object() || !in.contains("order") || !in["order"].is_object() || !in.contains("sources") ||
      !in["sources"].is_array()) {
    return Status::InvalidArgument("it is no state of a stream");
  }
  int64_t format = 0;
  ASSAY_RETURN_IF_ERROR(ReadField(in, "format", format));
  if (format != kStateFormat) {
    return Status::FailedPrecondition(fmt::format("it is of format {}: a newer assay wrote it, take that one", format));
  }
  StreamState state;
  ASSAY_RETURN_IF_ERROR(ReadField(in, "epoch", state.position.epoch));
  ASSAY_RETURN_IF_ERROR(ReadField(in, "samples", state.position.samples));
  ASSAY_RETURN_IF_ERROR(ReadField(in, "initial_nodes", state.position.initial_nodes));
  ASSAY_RETURN_IF_ERROR(ReadField(in, "batch", state.order.batch));
  ASSAY_RETURN_IF_ERROR(ReadField(in, "global_batch", state.global_batch));
  ASSAY_RETURN_IF_ERROR(ReadField(in, "skipped", state.skipped));
  ASSAY_RETURN_IF_ERROR(ReadOrder(in["order"], state.order));
  for (const json& source : in["sources"]) {
    ASSAY_ASSIGN_OR_RETURN(SourceState read, ReadSource(source));
    state.sources.push_back(std::move(read));
  }
  return state;
}

Status Differs(std::string_view what, const std::string& then, const std::string& now) {
  return Status::FailedPrecondition(fmt::format(
      "the stream cannot go on: its {} was {} and is {} now: give it the same, or begin anew", what, then, now));
}

Status CheckSources(const StreamState& state, std::span<const StreamSource> sources) {
  if (state.sources.size() != sources.size()) {
    return Differs("number of data sets", fmt::to_string(state.sources.size()), fmt::to_string(sources.size()));
  }
  const std::vector<SourceState> now = StatesOf(sources);
  for (size_t i = 0; i < now.size(); ++i) {
    const std::string uri = sources[i].dataset.place.Uri();
    if (now[i].fingerprint != state.sources[i].fingerprint) {
      return Differs(fmt::format("data set {}", uri), state.sources[i].fingerprint.substr(0, 16),
                     now[i].fingerprint.substr(0, 16));
    }
    if (WeightJson(now[i].weight) != WeightJson(state.sources[i].weight)) {
      return Differs(fmt::format("weight of {}", uri), WeightJson(state.sources[i].weight).dump(),
                     WeightJson(now[i].weight).dump());
    }
  }
  return Status::Ok();
}

}  // namespace

std::string FormatState(const StreamState& state) {
  return DumpJson(StateJson(state)) + "\n";
}

Result<StreamState> ParseState(std::string_view text, std::string_view source) {
  ASSAY_ASSIGN_OR_RETURN(const json in, ParseJson(text, source));
  Result<StreamState> state = ReadState(in);
  return state.ok() ? std::move(state) : state.status().WithContext(source);
}

std::vector<SourceState> StatesOf(std::span<const StreamSource> sources) {
  std::vector<SourceState> states;
  for (const StreamSource& source : sources) {
    states.push_back({source.dataset.fingerprint(), source.dataset.index.samples(), source.weight});
  }
  return states;
}

Result<OrderSettings> GoOnWith(const StreamState& state, const OrderSettings& given, const World& world,
                               std::span<const StreamSource> sources) {
  OrderSettings order = given;
  order.canonical_nodes = given.canonical_nodes == 0 ? state.order.canonical_nodes : given.canonical_nodes;
  order.block = given.block == 0 ? state.order.block : given.block;
  const json then = OrderJson(state.order);
  const json now = OrderJson(order);
  for (const auto& [name, value] : now.items()) {
    if (then.at(name) != value) {
      return Differs(name, then.at(name).dump(), value.dump());
    }
  }
  if (const int64_t global = world.ranks() * order.batch; global != state.global_batch) {
    return Differs("global batch", fmt::to_string(state.global_batch), fmt::to_string(global));
  }
  ASSAY_RETURN_IF_ERROR(CheckSources(state, sources));
  return order;
}

}  // namespace assay::shards
