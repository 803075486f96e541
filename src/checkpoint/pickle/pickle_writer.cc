#include "checkpoint/pickle/pickle_writer.h"

#include <bit>
#include <limits>

#include "checkpoint/file/file_layout.h"
#include "checkpoint/value/encodings.h"

namespace assay::checkpoint {
namespace {

/// Texts of these sizes are remembered: shorter ones cost no more than their number, longer ones do not come again.
constexpr size_t kLeastRemembered = 4;
constexpr size_t kMostRemembered = 256;

}  // namespace

void PickleWriter::Int(int64_t number) {
  if (number >= 0 && number <= 0xff) {
    bytes_ += 'K';
    PutLittleEndian(bytes_, static_cast<uint64_t>(number), 1);
  } else if (number >= 0 && number <= 0xffff) {
    bytes_ += 'M';
    PutLittleEndian(bytes_, static_cast<uint64_t>(number), 2);
  } else if (number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max()) {
    bytes_ += 'J';
    PutLittleEndian(bytes_, static_cast<uint64_t>(number), 4);
  } else {
    std::string complement;
    PutLittleEndian(complement, static_cast<uint64_t>(number), 8);
    BigInt(complement);
  }
}

void PickleWriter::BigInt(std::string_view bytes) {
  const bool is_short = bytes.size() <= 0xff;
  bytes_ += is_short ? '\x8a' : '\x8b';
  PutLittleEndian(bytes_, bytes.size(), is_short ? 1 : 4);
  bytes_ += bytes;
}

void PickleWriter::Float(double number) {
  bytes_ += 'G';
  PutLittleEndian(bytes_, __builtin_bswap64(std::bit_cast<uint64_t>(number)), 8);
}

void PickleWriter::Text(std::string_view text) {
  const bool may_come_again = text.size() >= kLeastRemembered && text.size() <= kMostRemembered;
  if (may_come_again) {
    if (const auto found = texts_.find(std::string(text)); found != texts_.end()) {
      return Recall(found->second);
    }
  }
  bytes_ += 'X';
  PutLittleEndian(bytes_, text.size(), 4);
  bytes_ += text;
  if (may_come_again) {
    texts_[std::string(text)] = Remember();
  }
}

void PickleWriter::Bytes(std::string_view bytes) {
  Global("_codecs", "encode");
  Text(Latin1ToUtf8(bytes));
  Text("latin1");
  EndTuple(2);
  Reduce();
}

void PickleWriter::Global(std::string_view module, std::string_view name) {
  std::string key = std::string(module) + "\n" + std::string(name);
  if (const auto found = globals_.find(key); found != globals_.end()) {
    return Recall(found->second);
  }
  bytes_ += 'c';
  // Protocol 2 has the names of Python 2.
  bytes_ += module == "builtins" ? "__builtin__" : module;
  bytes_ += '\n';
  bytes_ += name;
  bytes_ += '\n';
  globals_[std::move(key)] = Remember();
}

void PickleWriter::BeginTuple(size_t count) {
  if (count > 3) {
    Mark();
  }
}

void PickleWriter::EndTuple(size_t count) {
  constexpr char kOpcodes[] = {')', '\x85', '\x86', '\x87'};
  bytes_ += count > 3 ? 't' : kOpcodes[count];
}

void PickleWriter::Tuple(const Sizes& numbers) {
  BeginTuple(numbers.size());
  for (const int64_t number : numbers) {
    Int(number);
  }
  EndTuple(numbers.size());
}

uint32_t PickleWriter::Remember() {
  const bool is_short = remembered_ <= 0xff;
  bytes_ += is_short ? 'q' : 'r';
  PutLittleEndian(bytes_, remembered_, is_short ? 1 : 4);
  return remembered_++;
}

void PickleWriter::Recall(uint32_t number) {
  const bool is_short = number <= 0xff;
  bytes_ += is_short ? 'h' : 'j';
  PutLittleEndian(bytes_, number, is_short ? 1 : 4);
}

}  // namespace assay::checkpoint
