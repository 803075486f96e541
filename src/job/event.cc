#include "job/event.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "job/parallel_event_fields.h"

namespace assay::job {
namespace {

using nlohmann::json;

// For each kind of event its name and the one list of its fields.
constexpr const char* NameOf(const Started*) {
  return "started";
}
constexpr const char* NameOf(const MemoryNeed*) {
  return "memory_need";
}
constexpr const char* NameOf(const Loaded*) {
  return "loaded";
}
constexpr const char* NameOf(const Step*) {
  return "step";
}
constexpr const char* NameOf(const HeldOutLoss*) {
  return "held_out_loss";
}
constexpr const char* NameOf(const Checkpointed*) {
  return "checkpointed";
}
constexpr const char* NameOf(const Resumed*) {
  return "resumed";
}
constexpr const char* NameOf(const Saved*) {
  return "saved";
}
constexpr const char* NameOf(const Ended*) {
  return "ended";
}
constexpr const char* NameOf(const ConnectorStep*) {
  return "connector_step";
}

constexpr const char* NameOf(const Generated*) {
  return "generated";
}

template <typename E, typename Visitor, EnableFor<E, Generated> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("when", event.when);
  visit("id", event.id);
}

template <typename E, typename Visitor, EnableFor<E, ConnectorStep> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("step", event.step);
  visit("start_seconds", event.start_seconds);
  visit("seconds", event.seconds);
  visit("cpu_seconds", event.cpu_seconds);
  visit("samples", event.samples);
  visit("objects", event.objects);
  visit("bytes", event.bytes);
  visit("digest", event.digest);
  visit("first_seconds", event.first_seconds);
  visit("wait_seconds", event.wait_seconds);
  visit("copied_bytes", event.copied_bytes);
  visit("read_requests", event.read_requests);
  visit("write_requests", event.write_requests);
  visit("retries", event.retries);
  visit("received_bytes", event.received_bytes);
  visit("sent_bytes", event.sent_bytes);
}

template <typename E, typename Visitor, EnableFor<E, Started> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("pid", event.pid);
  visit("libtorch", event.libtorch);
  visit("device", event.device);
  visit("threads", event.threads);
  visit("isa", event.isa);
}

template <typename E, typename Visitor, EnableFor<E, MemoryNeed> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("ranks", event.ranks);
  visit("tensor_bytes", event.tensor_bytes);
  visit("mapped_bytes", event.mapped_bytes);
  visit("free_bytes", event.free_bytes);
  visit("total_bytes", event.total_bytes);
}

template <typename E, typename Visitor, EnableFor<E, Loaded> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("seconds", event.seconds);
  visit("model_type", event.model_type);
  visit("weights", event.weights);
  visit("parameters", event.parameters);
  visit("trainable_parameters", event.trainable_parameters);
  visit("rows", event.rows);
  visit("planned_steps", event.planned_steps);
  visit("layers", event.layers);
  visit("checkpointed_layers", event.checkpointed_layers);
  visit("step_bytes", event.step_bytes);
  visit("available_bytes", event.available_bytes);
  visit("peak_tensor_bytes", event.peak_tensor_bytes);
}

template <typename E, typename Visitor, EnableFor<E, Step> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("step", event.step);
  visit("loss", event.loss);
  visit("grad_norm", event.grad_norm);
  visit("learning_rate", event.learning_rate);
  visit("loss_scale", event.loss_scale);
  visit("skipped", event.skipped);
  visit("seconds", event.seconds);
  visit("forward_seconds", event.forward_seconds);
  visit("backward_seconds", event.backward_seconds);
  visit("optimizer_seconds", event.optimizer_seconds);
  visit("samples", event.samples);
  visit("real_tokens", event.real_tokens);
  visit("padded_tokens", event.padded_tokens);
  visit("supervised_tokens", event.supervised_tokens);
  visit("forward_only", event.forward_only);
  visit("forward_peak_bytes", event.forward_peak_bytes);
  visit("backward_peak_bytes", event.backward_peak_bytes);
  visit("optimizer_peak_bytes", event.optimizer_peak_bytes);
}

template <typename E, typename Visitor, EnableFor<E, HeldOutLoss> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("step", event.step);
  visit("loss", event.loss);
  visit("perplexity", event.perplexity);
  visit("rows", event.rows);
  visit("tokens", event.tokens);
  visit("seconds", event.seconds);
}

template <typename E, typename Visitor, EnableFor<E, Checkpointed> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("step", event.step);
  visit("uri", event.uri);
  visit("bytes", event.bytes);
  visit("stall_seconds", event.stall_seconds);
  visit("local_seconds", event.local_seconds);
  visit("remote_seconds", event.remote_seconds);
}

template <typename E, typename Visitor, EnableFor<E, Resumed> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("step", event.step);
  visit("uri", event.uri);
  visit("seconds", event.seconds);
}

template <typename E, typename Visitor, EnableFor<E, Saved> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("path", event.path);
  visit("seconds", event.seconds);
}

template <typename E, typename Visitor, EnableFor<E, Ended> = 0>
void VisitFields(E& event, const Visitor& visit) {
  visit("kind", event.kind);
  visit("reason", event.reason);
  visit("stopped_by", event.stopped_by);
  visit("train_runtime", event.train_runtime);
  visit("warmup_steps", event.warmup_steps);
  visit("warmup_seconds", event.warmup_seconds);
  visit("peak_tensor_bytes", event.peak_tensor_bytes);
  visit("peak_reserved_bytes", event.peak_reserved_bytes);
}

constexpr EndKind kEndKinds[] = {EndKind::kDone, EndKind::kOutOfMemory, EndKind::kInvalid, EndKind::kDiverged,
                                 EndKind::kError};

// JSON has no spelling for numbers that are not finite, and a loss that is NaN must not read back as a good one.
json ToValue(double number) {
  if (std::isfinite(number)) {
    return number;
  }
  return std::isnan(number) ? "NaN" : (number > 0 ? "Infinity" : "-Infinity");
}
json ToValue(int64_t number) {
  return number;
}
json ToValue(bool truth) {
  return truth;
}
json ToValue(const std::string& text) {
  return text;
}
json ToValue(EndKind kind) {
  return ToString(kind);
}

Status FromValue(const json& object, const char* name, double& number) {
  const auto& value = object[name];
  if (value == "NaN") {
    number = std::numeric_limits<double>::quiet_NaN();
  } else if (value == "Infinity" || value == "-Infinity") {
    number = value == "Infinity" ? HUGE_VAL : -HUGE_VAL;
  } else {
    return ReadField(object, name, number);
  }
  return Status::Ok();
}

Status FromValue(const json& object, const char* name, EndKind& kind) {
  std::string text;
  ASSAY_RETURN_IF_ERROR(ReadField(object, name, text));
  for (const EndKind known : kEndKinds) {
    if (ToString(known) == text) {
      kind = known;
      return Status::Ok();
    }
  }
  return Status::InvalidArgument("'" + Escaped(text) + "' is no way to end");
}

Status FromValue(const json& object, const char* name, int64_t& field) {
  return ReadField(object, name, field);
}
Status FromValue(const json& object, const char* name, bool& field) {
  return ReadField(object, name, field);
}
Status FromValue(const json& object, const char* name, std::string& field) {
  return ReadField(object, name, field);
}

template <typename Kind>
Result<Event> ReadEvent(const json& object) {
  Kind event;
  Status status;
  VisitFields(event, [&](const char* name, auto& field) {
    if (!status.ok()) {
      return;
    }
    const auto found = object.find(name);
    status = found == object.end() || found->is_null()
                 ? Status::InvalidArgument(std::string("'") + name + "' is missing")
                 : FromValue(object, name, field);
  });
  if (!status.ok()) {
    return status.WithContext(std::string("event '") + NameOf(&event) + "'");
  }
  return Event(std::move(event));
}

// Tries the kinds of Event one after the other.
template <size_t kIndex = 0>
Result<Event> ReadEventNamed(const std::string& name, const json& object) {
  if constexpr (kIndex < std::variant_size_v<Event>) {
    using Kind = std::variant_alternative_t<kIndex, Event>;
    if (name == NameOf(static_cast<const Kind*>(nullptr))) {
      return ReadEvent<Kind>(object);
    }
    return ReadEventNamed<kIndex + 1>(name, object);
  } else {
    return Status::InvalidArgument("unknown event '" + Escaped(name) + "'");
  }
}

}  // namespace

std::string_view ToString(EndKind kind) {
  switch (kind) {
    case EndKind::kDone:
      return "done";
    case EndKind::kOutOfMemory:
      return "out_of_memory";
    case EndKind::kInvalid:
      return "invalid";
    case EndKind::kDiverged:
      return "diverged";
    case EndKind::kError:
      return "error";
  }
  return "error";
}

std::string ToJsonLine(const Event& event) {
  return std::visit(
      [](const auto& kind) {
        json object = {{"event", NameOf(&kind)}};
        VisitFields(kind, [&](const char* name, const auto& field) { object[name] = ToValue(field); });
        return DumpJson(object);
      },
      event);
}

Result<Event> EventFromJsonLine(std::string_view line) {
  ASSAY_ASSIGN_OR_RETURN(const json object, ParseJson(line, "event"));
  std::string name;
  ASSAY_RETURN_IF_ERROR(ReadField(object, "event", name).WithContext("event"));
  if (name.empty()) {
    return Status::InvalidArgument("event: the key 'event' is missing");
  }
  return ReadEventNamed(name, object);
}

}  // namespace assay::job
