#include "storage/web/probe_call.h"

namespace assay::storage {

class ProbeCall::Sink : public http::BodySink {
 public:
  Sink(ProbeCall& call, Attempt& attempt) : call_(call), attempt_(attempt) {}

  Status Begin(const http::Response& head) override {
    read_ = call_.dialect_.ReadGet({call_.key_, attempt_.url}, head);
    attempt_.satisfied = true;
    return Status::Aborted("all that was asked is known");
  }
  Status Consume(std::span<const std::byte>) override { return Status::Ok(); }

  ReadDialect::Read<RangeHead>& read() { return read_; }

 private:
  ProbeCall& call_;
  Attempt& attempt_;
  ReadDialect::Read<RangeHead> read_;
};

void ProbeCall::Prepare(Attempt& attempt) {
  attempt.outgoing = dialect_.Get(key_, 0, 1, "");
  attempt.sink = std::make_unique<Sink>(*this, attempt);
}

std::optional<Failure> ProbeCall::Accept(Attempt& attempt, http::Response& response) {
  if (response.status == 416) {
    ReadDialect::Read<ObjectInfo> empty = dialect_.ReadHead({key_, attempt.url}, response);
    info_ = std::move(empty.value);
    return empty.failure || info_.size > 0 ? std::optional(dialect_.ReadFailure(response)) : std::nullopt;
  }
  ReadDialect::Read<RangeHead>& read = static_cast<Sink&>(*attempt.sink).read();
  info_ = std::move(read.value.info);
  return std::move(read.failure);
}

}  // namespace assay::storage
