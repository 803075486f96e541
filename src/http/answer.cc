#include "http/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay::http {
namespace {

/// Nothing is faster than a cap lets it be.
double SlowestRate(const ClientOptions& options) {
  const double half = static_cast<double>(options.bandwidth_bytes_per_s) / 2;
  return options.bandwidth_bytes_per_s > 0 ? std::min(half, kMinBytesPerSecond) : kMinBytesPerSecond;
}

}  // namespace

Answer::Answer(Shared& shared)
    : shared_(shared), trickle_(shared.options.stall_timeout_seconds, SlowestRate(shared.options), shared.received) {}

void Answer::Begin(BodySink* sink) {
  trickle_.Begin();
  sink_ = sink;
  memory_ = {};
  response_ = {};
  sink_status_ = {};
  sink_begun_ = false;
  given_up_ = TransportError::kNone;
  given_up_detail_.clear();
  read_enough_ = false;
  header_bytes_ = 0;
  head_since_ = 0;
}

bool Answer::GiveUp(TransportError error, std::string detail) {
  given_up_ = error;
  given_up_detail_ = std::move(detail);
  return false;
}

bool Answer::CountHeader(size_t bytes, double now) {
  header_bytes_ += static_cast<int64_t>(bytes);
  head_since_ = head_since_ > 0 ? head_since_ : now;
  if (header_bytes_ > kMaxHeaderBytes) {
    return GiveUp(TransportError::kTooLarge, fmt::format("more than {} KiB of headers", kMaxHeaderBytes >> 10));
  }
  const double stall = shared_.options.stall_timeout_seconds;
  return stall <= 0 || now - head_since_ < stall ||
         GiveUp(TransportError::kStall,
                fmt::format("the head of the answer, or what stands between its chunks, did not end within {} seconds",
                            stall));
}

void Answer::BeginHead(int status) {
  response_ = {};
  response_.status = status;
  head_since_ = 0;
}

bool Answer::BeginSink() {
  if (!std::exchange(sink_begun_, true)) {
    sink_status_ = sink_->Begin(response_);
  }
  return sink_status_.ok();
}

std::span<std::byte> Answer::Memory(size_t most) {
  memory_ = goes_to_sink() && BeginSink() ? sink_->Memory(most) : std::span<std::byte>();
  return memory_;
}

bool Answer::CountBody(std::span<const std::byte> chunk, double now) {
  response_.body_bytes += static_cast<int64_t>(chunk.size());
  shared_.received.bytes += chunk.size();
  head_since_ = 0;
  return trickle_.Take(chunk, now) ||
         GiveUp(TransportError::kStall, fmt::format("less than {} bytes a second of the answer came for {} seconds",
                                                    kMinBytesPerSecond, shared_.options.stall_timeout_seconds));
}

bool Answer::Filled(size_t count, double now) {
  if (!CountBody(memory_.first(count), now)) {
    return false;
  }
  sink_status_ = sink_->Filled(count);
  return sink_status_.ok();
}

bool Answer::TakeBody(std::span<const std::byte> chunk, double now) {
  if (!CountBody(chunk, now)) {
    return false;
  }
  if (!goes_to_sink()) {
    return Keep(chunk);
  }
  if (!BeginSink()) {
    return false;
  }
  sink_status_ = sink_->Consume(chunk);
  return sink_status_.ok();
}

bool Answer::Keep(std::span<const std::byte> chunk) {
  const bool succeeded = response_.status / 100 == 2;
  const auto room = static_cast<size_t>((succeeded ? kMaxKeptBytes : kMaxErrorBytes)) - response_.body.size();
  const size_t kept = std::min(room, chunk.size());
  response_.body.append(reinterpret_cast<const char*>(chunk.data()), kept);
  if (kept == chunk.size()) {
    return true;
  }
  if (succeeded) {
    return GiveUp(TransportError::kTooLarge, fmt::format("its body has more than {} MiB", kMaxKeptBytes >> 20));
  }
  read_enough_ = true;
  return false;
}

bool Answer::End() {
  if (goes_to_sink() && BeginSink()) {
    sink_status_ = sink_->End();
  }
  return sink_status_.ok();
}

bool Answer::Conclude(Outcome& outcome) {
  if (given_up_ != TransportError::kNone) {
    outcome.error = given_up_;
    outcome.detail = std::move(given_up_detail_);
    return true;
  }
  if (!sink_status_.ok()) {
    outcome.error = TransportError::kRejected;
    outcome.detail = sink_status_.message();
    return true;
  }
  return false;
}

}  // namespace assay::http
