#include "storage/transfer/put_call.h"

#include <fmt/format.h>

#include "storage/store_checks.h"

namespace assay::storage {

PutCall::PutCall(std::string operation, std::string key, std::vector<Bytes> pieces, ChecksumKind kind,
                 MayReissue may_reissue, Make make, Take take, OnDone on_done)
    : operation_(std::move(operation)),
      key_(std::move(key)),
      pieces_(std::move(pieces)),
      kind_(kind),
      may_reissue_(std::move(may_reissue)),
      bytes_(TotalBytes(pieces_)),
      make_(std::move(make)),
      take_(std::move(take)),
      on_done_(std::move(on_done)) {}

void PutCall::Prepare(Attempt& attempt) {
  attempt.body = std::make_unique<ChecksumSource>(pieces_, kind_);
  if (guard_) {
    attempt.body->set_guard([this, &attempt] {
      const Status status = guard_();
      if (!status.ok()) {
        attempt.refusal = MakeFailure(FailureClass::kPermanent, status.code(), status.message());
      }
      return status.ok();
    });
  }
  attempt.outgoing = make_(*attempt.body);
}

std::optional<Failure> PutCall::Accept(Attempt& attempt, http::Response& response) {
  return take_(response, attempt.body->checksum());
}

void PutCall::Done(const CallResult& result) {
  if (on_done_) {
    on_done_(result);
  }
}

std::optional<std::pair<Direction, int64_t>> PutCall::volume() const {
  if (!may_reissue_) {
    return std::nullopt;
  }
  return std::pair(Direction::kPut, bytes_);
}

}  // namespace assay::storage
