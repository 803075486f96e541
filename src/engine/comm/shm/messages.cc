#include "engine/comm/shm/messages.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/text.h"

namespace assay::engine {
namespace {

/// For destructors: a failure of the group is kept, and the next call throws it.
void wait_quietly(Work& work) {
  try {
    work.wait();
  } catch (const std::exception&) {
    return;
  }
}

}  // namespace

/// Holds the buffer until its receiver has it.
class ShmMessages::SendWork final : public Work {
 public:
  SendWork(const Meeting& meeting, Call call, SharedCounter& taken, at::Tensor staged)
      : meeting_(meeting), call_(std::move(call)), taken_(taken), staged_(std::move(staged)) {}
  ~SendWork() override { wait_quietly(*this); }

  void wait() override {
    if (call_.full.defined()) {
      meeting_.await(taken_, static_cast<uint32_t>(call_.number), call_.peer, call_);
      call_.full.reset();
      staged_.reset();
    }
  }

 private:
  const Meeting& meeting_;
  Call call_;
  SharedCounter& taken_;
  at::Tensor staged_;
};

class ShmMessages::RecvWork final : public Work {
 public:
  RecvWork(ShmMessages& messages, int from, int64_t number) : messages_(messages), from_(from), number_(number) {}
  ~RecvWork() override { wait_quietly(*this); }

  void wait() override { messages_.receive_up_to(from_, number_); }

 private:
  ShmMessages& messages_;
  int from_;
  int64_t number_;
};

ShmMessages::ShmMessages(int rank, int size, std::shared_ptr<ArenaSet> arenas, const Meeting& meeting,
                         std::shared_ptr<CallMeter> meter)
    : rank_(rank),
      arenas_(std::move(arenas)),
      meeting_(meeting),
      meter_(std::move(meter)),
      inboxes_(static_cast<size_t>(size)) {}

WorkPtr ShmMessages::send(Call call) {
  const CallMeter::Beginning beginning = meter_->begin_busy();
  meeting_.check_failure();
  Channel& channel = meeting_.channel(rank_, call.peer);
  const auto number = static_cast<uint32_t>(call.number);
  meeting_.await(channel.taken, number - Channel::kDepth, call.peer, call);
  Announcement& message = channel.messages[(number - 1) % Channel::kDepth];
  message = announcement_of(call);
  at::Tensor staged;
  if (call.full.numel() > 0) {
    auto offset = arenas_->own->offset_of(call.full.data_ptr());
    if (!offset) {
      staged = arenas_->own->allocate(call.full.numel(), call.full.scalar_type());
      std::memcpy(staged.data_ptr(), call.full.data_ptr(), call.full.nbytes());
      offset = arenas_->own->offset_of(staged.data_ptr());
    }
    message.offset = *offset;
  }
  Meeting::raise(channel.posted, number);
  meter_->add_busy(call, beginning);
  return std::make_unique<SendWork>(meeting_, std::move(call), channel.taken, std::move(staged));
}

WorkPtr ShmMessages::recv(Call call) {
  const std::lock_guard lock(mutex_);
  const int from = call.peer;
  const int64_t number = call.number;
  inboxes_[static_cast<size_t>(from)].pending.push_back(std::move(call));
  return std::make_unique<RecvWork>(*this, from, number);
}

void ShmMessages::receive_up_to(int from, int64_t number) {
  const std::lock_guard lock(mutex_);
  Inbox& inbox = inboxes_[static_cast<size_t>(from)];
  while (inbox.done < number) {
    receive(inbox.pending.front());
    inbox.pending.erase(inbox.pending.begin());
    ++inbox.done;
  }
}

void ShmMessages::receive(const Call& call) {
  const CallMeter::Beginning beginning = meter_->begin_busy();
  meeting_.check_failure();
  Channel& channel = meeting_.channel(call.peer, rank_);
  const auto number = static_cast<uint32_t>(call.number);
  meeting_.await(channel.posted, number, call.peer, call);
  const Announcement& message = channel.messages[(number - 1) % Channel::kDepth];
  const Announcement own = announcement_of(call);
  if (message.elements != own.elements || message.dtype != own.dtype) {
    meeting_.fail(fmt::format("message {} from rank {} to rank {}: the one calls {}, the other {}", call.number,
                              meeting_.job_rank(call.peer), meeting_.job_rank(rank_), describe(message),
                              describe(own)));
  }
  if (own.elements > 0) {
    const std::byte* data = arenas_->base_of(meeting_.machine_rank(call.peer)) + message.offset;
    std::memcpy(call.full.data_ptr(), data, call.full.nbytes());
  }
  Meeting::raise(channel.taken, number);
  meter_->add_busy(call, beginning);
}

}  // namespace assay::engine
