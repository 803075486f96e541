// The fields of the events of parallel_event.h, for event.cc: `VisitFields(event, visit(name, field))`.
#pragma once

#include <type_traits>

#include "job/parallel_event.h"

namespace assay::job {

/// Lets one overload serve a kind of event, const or not.
template <typename E, typename Kind>
using EnableFor = std::enable_if_t<std::is_same_v<std::remove_const_t<E>, Kind>, int>;

constexpr const char* NameOf(const Topology*) {
  return "topology";
}
constexpr const char* NameOf(const RankStep*) {
  return "rank_step";
}
constexpr const char* NameOf(const DataUse*) {
  return "data_use";
}
constexpr const char* NameOf(const Evaluation*) {
  return "evaluation";
}
constexpr const char* NameOf(const MemoryLedger*) {
  return "memory";
}
constexpr const char* NameOf(const CollectiveTotals*) {
  return "collective";
}
constexpr const char* NameOf(const CheckpointTransfer*) {
  return "checkpoint_transfer";
}

constexpr const char* NameOf(const CheckpointModel*) {
  return "checkpoint_model";
}

template <typename E, typename Visitor, EnableFor<E, CheckpointModel> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("files", event.files);
  visit("prefixes", event.prefixes);
  visit("requests", event.requests);
  visit("busiest_prefix_requests", event.busiest_prefix_requests);
  visit("metadata_bytes", event.metadata_bytes);
  visit("commit_seconds", event.commit_seconds);
  visit("limited_by", event.limited_by);
}

template <typename E, typename Visitor, EnableFor<E, CheckpointTransfer> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("rank", event.rank);
  visit("operation", event.operation);
  visit("repeat", event.repeat);
  visit("began_seconds", event.began_seconds);
  visit("seconds", event.seconds);
  visit("stall_seconds", event.stall_seconds);
  visit("cpu_seconds", event.cpu_seconds);
  visit("state_bytes", event.state_bytes);
  visit("beyond_bytes", event.beyond_bytes);
  visit("is_verified", event.is_verified);
  visit("read_requests", event.read_requests);
  visit("write_requests", event.write_requests);
  visit("retries", event.retries);
}

template <typename E, typename Visitor, EnableFor<E, Topology> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("world_size", event.world_size);
  visit("data_ranks", event.data_ranks);
  visit("shard_ranks", event.shard_ranks);
  visit("tensor_ranks", event.tensor_ranks);
  visit("pipeline_stages", event.pipeline_stages);
  visit("plugin", event.plugin);
  visit("precision", event.precision);
  visit("backend", event.backend);
  visit("units", event.units);
  visit("largest_unit_parameters", event.largest_unit_parameters);
}

template <typename E, typename Visitor, EnableFor<E, RankStep> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("rank", event.rank);
  visit("step", event.step);
  visit("began_seconds", event.began_seconds);
  visit("seconds", event.seconds);
  visit("data_seconds", event.data_seconds);
  visit("transfer_seconds", event.transfer_seconds);
  visit("forward_seconds", event.forward_seconds);
  visit("backward_seconds", event.backward_seconds);
  visit("optimizer_seconds", event.optimizer_seconds);
  visit("communication_seconds", event.communication_seconds);
  visit("exposed_communication_seconds", event.exposed_communication_seconds);
  visit("hidden_communication_seconds", event.hidden_communication_seconds);
  visit("forward_exposed_seconds", event.forward_exposed_seconds);
  visit("backward_exposed_seconds", event.backward_exposed_seconds);
  visit("optimizer_exposed_seconds", event.optimizer_exposed_seconds);
  visit("offload_seconds", event.offload_seconds);
  visit("loss_scale", event.loss_scale);
  visit("skipped", event.skipped);
}

template <typename E, typename Visitor, EnableFor<E, DataUse> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("rank", event.rank);
  visit("samples", event.samples);
  visit("used_bytes", event.used_bytes);
  visit("asked_bytes", event.asked_bytes);
  visit("received_bytes", event.received_bytes);
  visit("requests", event.requests);
  visit("retries", event.retries);
  visit("fetched_shards", event.fetched_shards);
  visit("cached_shards", event.cached_shards);
  visit("unkept_shards", event.unkept_shards);
  visit("cpu_seconds", event.cpu_seconds);
}

template <typename E, typename Visitor, EnableFor<E, Evaluation> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("epoch", event.epoch);
  visit("step", event.step);
  visit("loss", event.loss);
  visit("accuracy", event.accuracy);
  visit("samples", event.samples);
  visit("seconds", event.seconds);
}

template <typename E, typename Visitor, EnableFor<E, MemoryLedger> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("rank", event.rank);
  visit("phase", event.phase);
  visit("source", event.source);
  visit("parameters_bytes", event.parameters_bytes);
  visit("gradients_bytes", event.gradients_bytes);
  visit("master_bytes", event.master_bytes);
  visit("moments_bytes", event.moments_bytes);
  visit("buckets_bytes", event.buckets_bytes);
  visit("activations_bytes", event.activations_bytes);
  visit("temporaries_bytes", event.temporaries_bytes);
  visit("peak_bytes", event.peak_bytes);
  visit("reserved_bytes", event.reserved_bytes);
  visit("host_bytes", event.host_bytes);
}

template <typename E, typename Visitor, EnableFor<E, CollectiveTotals> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("rank", event.rank);
  visit("operation", event.operation);
  visit("group", event.group);
  visit("group_size", event.group_size);
  visit("calls", event.calls);
  visit("payload_bytes", event.payload_bytes);
  visit("seconds", event.seconds);
  visit("exposed_seconds", event.exposed_seconds);
}

}  // namespace assay::job
