#include "objectserver/model/modelled_exchange.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "objectserver/model/lies.h"

namespace assay::objectserver {
namespace {

/// Takes some bytes of the body, then answers with an error.
class RefuseAfterBytes : public http::Exchange {
 public:
  RefuseAfterBytes(int64_t bytes, http::ServerResponse response) : left_(bytes), response_(std::move(response)) {}
  std::span<std::byte> BodyMemory(size_t most) override {
    return std::span(buffer_).first(static_cast<size_t>(std::min<int64_t>({left_, static_cast<int64_t>(most), 4096})));
  }
  void BodyReceived(size_t count) override { left_ -= static_cast<int64_t>(count); }
  http::ServerResponse Finish(const http::Headers&) override { return std::move(response_); }

 private:
  std::array<std::byte, 4096> buffer_;
  int64_t left_;
  http::ServerResponse response_;
};

/// One byte with one bit changed.
http::BodyPiece FlippedByte(const http::BodyPiece& piece, double position) {
  std::byte byte{};
  if (piece.file) {
    [[maybe_unused]] const ssize_t got = ::pread(piece.file->get(), &byte, 1, piece.offset);
  } else {
    byte = piece.bytes.front();
  }
  const auto bit = static_cast<unsigned>(position * 8e6) % 8;
  byte ^= static_cast<std::byte>(1U << bit);
  return http::BodyPiece::Text(std::string(1, static_cast<char>(byte)));
}

/// Changes one bit without touching the content itself: the byte is sent from elsewhere.
void FlipBit(std::vector<http::BodyPiece>& body, int64_t at, double position) {
  std::vector<http::BodyPiece> flipped;
  for (http::BodyPiece& piece : body) {
    const int64_t size = piece.size();
    if (at < 0 || at >= size) {
      flipped.push_back(std::move(piece));
    } else {
      http::BodyPiece before = piece;
      before.Truncate(at);
      piece.RemovePrefix(at);
      http::BodyPiece byte = FlippedByte(piece, position);
      piece.RemovePrefix(1);
      flipped.insert(flipped.end(), {std::move(before), std::move(byte), std::move(piece)});
    }
    at -= size;
  }
  body = std::move(flipped);
}

int64_t StrikesAt(const RequestFate& fate, int64_t size) {
  const auto drawn = static_cast<int64_t>(fate.position * static_cast<double>(size));
  return std::min(fate.fault->after_bytes.value_or(drawn), std::max<int64_t>(0, size - 1));
}

http::CutKind CutOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kStall:
      return http::CutKind::kStall;
    case FaultKind::kTruncate:
      return http::CutKind::kClose;
    default:
      return http::CutKind::kReset;
  }
}

/// Cuts the answer within its body, or before its head where it has none worth cutting.
void Cut(const RequestFate& fate, http::ServerResponse& response) {
  const int64_t size = response.body_bytes();
  response.cut = CutOf(fate.fault->kind);
  response.cut_after_bytes = size > 0 && response.status < 300 ? StrikesAt(fate, size) : -1;
}

bool BreaksConnection(FaultKind kind) {
  return kind == FaultKind::kReset || kind == FaultKind::kStall || kind == FaultKind::kTruncate;
}

class ModelledExchange : public http::Exchange {
 public:
  ModelledExchange(Routed routed, const RequestFate& fate)
      : inner_(std::move(routed.exchange)), write_(routed.write), fate_(fate) {}

  bool wants_body() const override { return inner_->wants_body(); }

  std::span<std::byte> BodyMemory(size_t most) override {
    memory_ = inner_->BodyMemory(most);
    return memory_;
  }

  void BodyReceived(size_t count) override {
    if (write_ && !flipped_ && Meets(FaultKind::kBitFlip)) {
      memory_[static_cast<size_t>(fate_.position * static_cast<double>(count))] ^= std::byte{1};
      flipped_ = true;
    }
    inner_->BodyReceived(count);
  }

  http::ServerResponse Finish(const http::Headers& trailers) override {
    http::ServerResponse response;
    if (write_ && fate_.fault != nullptr && BreaksConnection(fate_.fault->kind)) {
      response.cut = CutOf(fate_.fault->kind);  // the write is lost on its way
    } else {
      response = inner_->Finish(trailers);
      Strike(response);
    }
    response.delay_seconds += fate_.delay_seconds + (Meets(FaultKind::kDelay) ? fate_.fault->window_seconds : 0);
    return response;
  }

 private:
  bool Meets(FaultKind kind) const { return fate_.fault != nullptr && fate_.fault->kind == kind; }

  void Strike(http::ServerResponse& response) {
    if (fate_.fault == nullptr) {
      return;
    }
    if (BreaksConnection(fate_.fault->kind)) {
      Cut(fate_, response);
    } else if (fate_.fault->kind == FaultKind::kLostAnswer) {
      response.cut = http::CutKind::kReset;
    } else if (fate_.fault->kind == FaultKind::kBitFlip && !write_ && response.body_bytes() > 0) {
      FlipBit(response.body, StrikesAt(fate_, response.body_bytes()), fate_.position);
    }
  }

  std::unique_ptr<http::Exchange> inner_;
  const bool write_;
  const RequestFate fate_;
  std::span<std::byte> memory_;
  bool flipped_ = false;
};

/// Answers what is not so.
class LyingExchange : public http::Exchange {
 public:
  LyingExchange(Routed routed, const RequestFate& fate, Dialect& dialect, Liar& liar, Notes notes)
      : routed_(std::move(routed)), fate_(fate), dialect_(dialect), liar_(liar), notes_(std::move(notes)) {}

  bool wants_body() const override { return skips() || routed_.exchange->wants_body(); }
  std::span<std::byte> BodyMemory(size_t most) override {
    return skips() ? std::span(dropped_).first(std::min(most, dropped_.size())) : routed_.exchange->BodyMemory(most);
  }
  void BodyReceived(size_t count) override {
    if (!skips()) {
      routed_.exchange->BodyReceived(count);
    }
  }

  http::ServerResponse Finish(const http::Headers& trailers) override {
    const LieTarget target = {routed_.operation, notes_->asked, routed_.write, notes_->page_token};
    http::ServerResponse answer;
    if (skips()) {
      answer = liar_.Earlier(target).value_or(answer);
      notes_->lie = NameOf(lie());
    } else {
      answer = routed_.exchange->Finish(trailers);
      http::ServerResponse truth = answer;
      if (lies() && Tell(target, answer)) {
        notes_->lie = NameOf(lie());
      }
      liar_.Remember(target, std::move(truth));
    }
    answer.delay_seconds += fate_.delay_seconds;
    return answer;
  }

 private:
  bool lies() const { return fate_.fault != nullptr; }
  const Lie& lie() const { return *fate_.fault->lie; }
  bool skips() const { return lies() && SkipsTheDeed(lie()); }

  bool Tell(const LieTarget& target, http::ServerResponse& answer) {
    if (DeniesTheDeed(lie())) {
      if (answer.status >= 400) {
        return false;  // it was not done; 308 says that a part of an upload was
      }
      answer = dialect_.Refuse(Refusal::kInternalError, 0, notes_);
      return true;
    }
    return liar_.Tell(lie(), target, Draws(std::bit_cast<uint64_t>(fate_.position)), answer);
  }

  Routed routed_;
  const RequestFate fate_;
  Dialect& dialect_;
  Liar& liar_;
  const Notes notes_;
  std::array<std::byte, 4096> dropped_;
};

/// The error that a fault answers with, in place of the request; nothing for faults of other kinds.
std::optional<http::ServerResponse> RefusalOf(const FaultRule& fault, Dialect& dialect, const Notes& notes) {
  switch (fault.kind) {
    case FaultKind::kReturn:
      return dialect.Refuse(fault.status == 503 || fault.status == 429 ? Refusal::kSlowDown : Refusal::kInternalError,
                            fault.status, notes);
    case FaultKind::kErrorInside:
      return dialect.RefuseInside(notes);
    case FaultKind::kExpiredToken:
      return dialect.Refuse(Refusal::kExpiredToken, 0, notes);
    case FaultKind::kConflict:
      return dialect.Refuse(Refusal::kPreconditionFailed, fault.status, notes);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<http::Exchange> ApplyFate(Routed routed, const RequestFate& fate, Dialect& dialect, Liar* liar,
                                          const Notes& notes) {
  std::optional<http::ServerResponse> refusal;
  if (fate.throttled) {
    refusal = dialect.Refuse(Refusal::kSlowDown, 0, notes);
  } else if (fate.fault != nullptr) {
    refusal = RefusalOf(*fate.fault, dialect, notes);
  }
  if (refusal) {
    refusal->delay_seconds = fate.delay_seconds;
    const int64_t after = fate.fault != nullptr ? fate.fault->after_bytes.value_or(0) : 0;
    return after > 0 ? std::make_unique<RefuseAfterBytes>(after, std::move(*refusal))
                     : http::ReadyExchange(std::move(*refusal));
  }
  if (fate.fault != nullptr && fate.fault->kind == FaultKind::kStaleList) {
    notes->stale_list_seconds = fate.fault->window_seconds;
  }
  if (liar != nullptr && (fate.fault == nullptr || fate.fault->kind == FaultKind::kLie)) {
    return std::make_unique<LyingExchange>(std::move(routed), fate, dialect, *liar, notes);
  }
  return std::make_unique<ModelledExchange>(std::move(routed), fate);
}

}  // namespace assay::objectserver
