// Answers as a client of ours reads them off a connection: however they are cut, the same comes of them. The first byte
// of an input chooses the cut and whether a HEAD was asked, the rest is the answer.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "http/wire/answer_reader.h"

namespace {

using namespace assay;
using State = http::AnswerReader::State;

struct Read {
  State state = State::kHead;
  size_t taken = 0;
  int status = 0;
  std::string body;
  bool operator==(const Read&) const = default;
};

/// Bodies are received where they belong, where there is room for it.
class Room : public http::BodySink {
 public:
  Status Consume(std::span<const std::byte> chunk) override {
    body_.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
    return Status::Ok();
  }
  std::span<std::byte> Memory(size_t most) override {
    return std::as_writable_bytes(std::span(room_)).first(std::min(most, room_.size()));
  }
  Status Filled(size_t count) override { return Consume(std::as_bytes(std::span(room_)).first(count)); }
  const std::string& body() const { return body_; }

 private:
  std::array<char, 32> room_ = {};
  std::string body_;
};

Read ReadCut(std::string_view text, size_t piece, bool head_only, bool direct) {
  const http::ClientOptions options;
  http::Shared shared(options);
  http::Answer answer(shared);
  Room room;
  answer.Begin(&room);
  http::AnswerReader reader(answer);
  reader.Begin(head_only);
  Read read;
  while (read.taken < text.size() && reader.state() != State::kDone && reader.state() != State::kFailed) {
    const std::string_view rest = text.substr(read.taken, piece);
    const std::span<std::byte> memory = direct ? reader.Memory(rest.size()) : std::span<std::byte>();
    if (memory.empty()) {
      read.taken += reader.Feed(rest, 1);
    } else {
      std::ranges::copy(std::as_bytes(std::span(rest.substr(0, memory.size()))), memory.begin());
      read.taken += memory.size();
      reader.Filled(memory.size(), 1);
    }
  }
  read.state = reader.state();
  read.status = answer.status();
  read.body = room.body() + answer.response().body;
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool head_only = (data[0] & 1) != 0;
  const Read whole = ReadCut(text, text.size(), head_only, false);
  const Read cut = ReadCut(text, 1 + data[0] / 2, head_only, true);
  fuzz::Require(whole.state == cut.state && whole.status == cut.status, "a cut changes what an answer is");
  fuzz::Require(whole.state == State::kFailed || whole == cut, "a cut changes an answer's content");
  return 0;
}
